package clients

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
	"github.com/ttlproxy/ttlproxy/sandbox"
)

// mariadbCLI is the mariadb command line client.
func mariadbCLI(t *testing.T) ([]string, error) {
	t.Helper()
	if _, err := exec.LookPath("mariadb"); err != nil {
		return nil, fmt.Errorf("install mariadb-client: %w", err)
	}
	return commandLine("mariadb", "--local-infile"), nil
}

// mysqlCLI is the mysql command line client that comes with the MySQL server under test.
func mysqlCLI(t *testing.T) ([]string, error) {
	t.Helper()
	client, err := mysqlProgram(t)
	return commandLine(client, "--get-server-public-key", "--ssl-mode=DISABLED"), err
}

func mysqlProgram(t *testing.T) (string, error) {
	t.Helper()
	install, err := sandbox.Find(t.Context(), sandbox.MySQL)
	if err != nil {
		return "", err
	}
	client := filepath.Join(filepath.Dir(install.Path), "mysql")
	if _, err := exec.LookPath(client); err != nil {
		client = "mysql"
	}
	return client, nil
}

// commandLine wraps a command-line client so that it takes its arguments as all clients here do. It
// prints metadata, goes on after an error, and prints errors where it prints rows.
func commandLine(client string, options ...string) []string {
	script := fmt.Sprintf(`exec %s --no-defaults --comments --table --column-type-info --force --unbuffered --show-warnings %s `+
		`--protocol=TCP -h"$1" -P"$2" -u"$3" -p"$4" "$5" 2>&1`, client, strings.Join(options, " "))
	return []string{"sh", "-c", script, "sh"}
}

// semicolons is how a command-line client reads statements. It has no placeholders.
func semicolons(statements []request) string {
	var b strings.Builder
	for _, s := range statements {
		if len(s) == 1 {
			fmt.Fprintf(&b, "%s\n;\n", s[0])
		}
	}
	return b.String()
}

// onlyMySQL keeps the mysql client from MariaDB: since 9.x it does not speak mysql_native_password,
// which is all that MariaDB's ordinary accounts have.
func onlyMySQL(s *mysqltest.Server) string {
	if s.MariaDB() {
		return "speaks no authentication that an ordinary MariaDB account has"
	}
	return ""
}
