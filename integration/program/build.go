package program

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
)

// Main runs the tests of a binary and removes what Build has built.
func Main(m *testing.M) int {
	defer func() {
		if path, err := build(); started.Load() && err == nil {
			_ = os.RemoveAll(filepath.Dir(path))
		}
	}()
	return m.Run()
}

// Build returns the path of a ttlproxy built from this tree, with the race detector if the test has
// it.
func Build(tb testing.TB) string {
	tb.Helper()
	started.Store(true)
	path, err := build()
	if err != nil {
		tb.Fatal(err)
	}
	return path
}

var build = sync.OnceValues(func() (string, error) {
	if !started.Load() {
		return "", nil // nobody wanted it
	}
	dir, err := os.MkdirTemp("", "ttlproxy-program-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "ttlproxy")
	args := []string{"build", "-o", path}
	if raceEnabled {
		args = append(args, "-race")
	}
	out, err := exec.Command("go", append(args, "github.com/ttlproxy/ttlproxy/cmd/ttlproxy")...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("go build for %s: %w\n%s", runtime.GOOS, err, out)
	}
	return path, nil
})
