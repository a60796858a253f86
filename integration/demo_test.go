package integration

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
	"github.com/ttlproxy/ttlproxy/integration/program"
)

// TestDemo does what a newcomer does: starts the demo, connects as it says, runs the statements
// that it suggests, sees rows go, and ends it with Ctrl-C, after which nothing is left.
func TestDemo(t *testing.T) {
	t.Parallel()
	mysqltest.Both(t, func(t *testing.T, s *mysqltest.Server) {
		if s.Sandbox == nil {
			t.Skip("the demo starts a server of its own, and this machine has none installed")
		}

		cmd := exec.Command(program.Build(t), "demo", "--server="+string(s.Flavour), "--listen=127.0.0.1:0",
			"--status=127.0.0.1:0")
		cmd.Env = append(os.Environ(), "TMPDIR="+t.TempDir())
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}

		var stderr strings.Builder
		cmd.Stderr = &stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = cmd.Process.Kill() }()

		told, found := readUntil(out, "Ctrl-C")
		if !found {
			_ = cmd.Wait()
			t.Fatalf("the demo ended after:\n%s\n%s", told, stderr.String())
		}

		config := connection(t, told)
		statements := regexp.MustCompile(`(?m)^  \d\.  ((?s:.*?));\s+-- `).FindAllStringSubmatch(told, -1)
		if len(statements) != 5 {
			t.Errorf("the demo suggests %d statements, want 5:\n%s", len(statements), told)
		}

		for _, m := range statements {
			if err := execute(context.Background(), config, m[1]); err != nil {
				t.Error(err)
			}
		}

		awaitGone(t, config)
		wantLocked(t, config)

		if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
			t.Fatal(err)
		}

		go func() { _, _ = bufio.NewReader(out).WriteTo(&strings.Builder{}) }()
		if err := cmd.Wait(); err != nil {
			t.Errorf("after Ctrl-C: %v, %s", err, stderr.String())
		}

		left, err := os.ReadDir(strings.TrimPrefix(cmd.Env[len(cmd.Env)-1], "TMPDIR="))
		if err != nil || len(left) > 0 {
			t.Errorf("the demo leaves %v, %v", left, err)
		}
	})
}

// readUntil reads what the demo prints, up to the line with a word.
func readUntil(r io.Reader, word string) (told string, found bool) {
	var b strings.Builder
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		b.WriteString(lines.Text() + "\n")
		if strings.Contains(lines.Text(), word) {
			return b.String(), true
		}
	}
	return b.String(), false
}

// connection reads how to connect from the line that is meant to be copied.
func connection(t *testing.T, told string) *mysql.Config {
	t.Helper()
	m := regexp.MustCompile(`(?:mysql|mariadb) --host=(\S+) --port=(\d+) --user=(\S+) --password=(\S+) (\S+)`).FindStringSubmatch(told)
	if m == nil {
		t.Fatalf("no line to connect with in:\n%s", told)
	}
	c := mysql.NewConfig()
	c.Net, c.Addr, c.User, c.Passwd, c.DBName = "tcp", m[1]+":"+m[2], m[3], m[4], m[5]
	c.Logger = &mysql.NopLogger{}
	return c
}

// wantLocked demands that others who use the machine cannot log in to the demo's server.
func wantLocked(t *testing.T, invited *mysql.Config) {
	t.Helper()
	for user, password := range map[string]string{"root": "", "demo": "demo", "ttlproxy": "", "": ""} {
		stranger := invited.Clone()
		stranger.User, stranger.Passwd, stranger.DBName = user, password, ""
		if err := execute(context.Background(), stranger, "SELECT 1"); err == nil {
			t.Errorf("%q logs in with the password %q", user, password)
		}
	}
}

// awaitGone waits until the approved rows of audit have been deleted.
func awaitGone(t *testing.T, config *mysql.Config) {
	t.Helper()
	for deadline := time.Now().Add(3 * time.Minute); ; {
		results, err := query(context.Background(), config,
			[]string{"SELECT COUNT(*) FROM audit WHERE at < NOW() - INTERVAL 31 DAY"})
		if err == nil && results[0].rows[0][0] == "0" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("expired rows are still there: %v, %v", results, err)
		}
		<-time.After(200 * time.Millisecond)
	}
}
