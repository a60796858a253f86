package integration

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
	"github.com/ttlproxy/ttlproxy/integration/program"
	"github.com/ttlproxy/ttlproxy/sandbox"
)

// TestDemo does what a newcomer does: starts the demo, connects as it says, runs the statements
// that it suggests, sees rows go, and ends it with Ctrl-C or closes the terminal, after which nothing is left.
func TestDemo(t *testing.T) {
	t.Parallel()
	mysqltest.Both(t, func(t *testing.T, s *mysqltest.Server) {
		dir := t.TempDir()
		d := startDemo(t, s, dir)
		statements := regexp.MustCompile(`(?m)^  \d\.  ((?s:.*?));\s+-- `).FindAllStringSubmatch(d.told, -1)
		if len(statements) != 5 {
			t.Errorf("the demo suggests %d statements, want 5:\n%s", len(statements), d.told)
		}

		for _, m := range statements {
			if err := execute(context.Background(), d.config, m[1]); err != nil {
				t.Error(err)
			}
		}

		awaitGone(t, d.config)
		wantLocked(t, d.config)
		d.end(t, map[sandbox.Flavour]os.Signal{sandbox.MariaDB: syscall.SIGINT, sandbox.MySQL: syscall.SIGHUP}[s.Flavour])
		left, err := os.ReadDir(dir)
		if err != nil || len(left) > 0 {
			t.Errorf("the demo leaves %v, %v", left, err)
		}
	})
}

// TestDemoGoesOn: a demo whose data is kept fills a table up when it was ended before the table was full.
func TestDemoGoesOn(t *testing.T) {
	t.Parallel()
	mysqltest.Both(t, func(t *testing.T, s *mysqltest.Server) {
		dir := t.TempDir()
		keep := "--keep=" + filepath.Join(dir, "kept")
		d := startDemo(t, s, dir, keep)
		if err := execute(t.Context(), d.config, "ALTER TABLE audit REMOVE TTL", "DELETE FROM audit WHERE id > 9"); err != nil {
			t.Fatal(err)
		}

		d.end(t, syscall.SIGHUP)
		d = startDemo(t, s, dir, keep)
		got, err := query(t.Context(), d.config, []string{"SELECT COUNT(*) >= 18000 FROM audit", "SHOW TTL TABLES FOR audit"})
		if err != nil || got[0].rows[0][0] != "1" || len(got[1].rows) != 1 {
			t.Errorf("the table was not filled up, or has no TTL: %v, %v", got, err)
		}
		d.end(t, syscall.SIGHUP)
	})
}

// runningDemo is a demo that has said how to connect.
type runningDemo struct {
	cmd    *exec.Cmd
	out    io.Reader
	stderr *strings.Builder
	told   string
	config *mysql.Config
}

func startDemo(t *testing.T, s *mysqltest.Server, dir string, args ...string) *runningDemo {
	t.Helper()
	if s.Sandbox == nil {
		t.Skip("the demo starts a server of its own, and this machine has none installed")
	}

	d := &runningDemo{stderr: &strings.Builder{}}
	d.cmd = exec.Command(program.Build(t), append([]string{
		"demo", "--server=" + string(s.Flavour), "--listen=127.0.0.1:0", "--status=127.0.0.1:0",
	}, args...)...)
	d.cmd.Env, d.cmd.Stderr = append(os.Environ(), "TMPDIR="+dir), d.stderr
	out, err := d.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.cmd.Process.Kill() })

	told, found := readUntil(out, "Ctrl-C")
	if !found {
		_ = d.cmd.Wait()
		t.Fatalf("the demo ended after:\n%s\n%s", told, d.stderr)
	}
	d.out, d.told, d.config = out, told, connection(t, told)
	return d
}

// end sends a signal and waits until the demo has ended.
func (d *runningDemo) end(t *testing.T, with os.Signal) {
	t.Helper()
	if err := d.cmd.Process.Signal(with); err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.Copy(io.Discard, d.out) }()
	if err := d.cmd.Wait(); err != nil {
		t.Errorf("after %v: %v, %s", with, err, d.stderr)
	}
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
