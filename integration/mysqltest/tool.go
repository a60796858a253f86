package mysqltest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ttlproxy/ttlproxy/sandbox"
)

// Tool finds a program that comes with a server, "dump" or "binlog", or with "" its client. Without it the test is
// skipped, or fails if everything is supposed to be tested.
func Tool(tb testing.TB, flavour sandbox.Flavour, what string) string {
	tb.Helper()
	path, err := FindTool(tb.Context(), flavour, what)
	if err != nil {
		missing(tb, flavour, err)
	}
	return path
}

// FindTool is Tool without a test: it looks beside the server, else where the shell would.
func FindTool(ctx context.Context, flavour sandbox.Flavour, what string) (string, error) {
	name := "mysql" + what
	if flavour == sandbox.MariaDB {
		name = strings.TrimSuffix("mariadb-"+what, "-")
	}

	if server, err := sandbox.Find(ctx, flavour); err == nil {
		if path, err := exec.LookPath(filepath.Join(filepath.Dir(server.Path), name)); err == nil {
			return path, nil
		}
	}

	path, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("%w: %w", sandbox.ErrNotInstalled, err)
	}
	return path, nil
}

// Everything reports whether everything is supposed to be tested, so that what is missing is a failure.
func Everything() bool { return os.Getenv("CI") == "true" }
