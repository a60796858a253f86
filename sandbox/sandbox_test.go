package sandbox

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
)

// TestMain lets the test binary play the parent that dies: it starts a server, says where, and
// waits.
func TestMain(m *testing.M) {
	if flavour := os.Getenv("SANDBOX_TEST_PARENT"); flavour != "" {
		parent(Flavour(flavour))
		return
	}
	os.Exit(m.Run())
}

func parent(flavour Flavour) {
	s, err := Start(context.Background(), Config{Flavour: flavour})
	if err != nil {
		fmt.Println("error:", err)
		return
	}
	fmt.Println(s.Dir(), s.process.cmd.Process.Pid)
	select {}
}

func start(t *testing.T, c Config) *Server {
	t.Helper()
	s, err := Start(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// eachFlavour runs a test for each server this machine has. The missing of one is reported by the
// stories.
func eachFlavour(t *testing.T, test func(t *testing.T, f Flavour)) {
	t.Helper()
	if testing.Short() {
		t.Skip("starts servers: left out under -short")
	}
	for _, f := range []Flavour{MariaDB, MySQL} {
		t.Run(string(f), func(t *testing.T) {
			if _, err := Find(t.Context(), f); errors.Is(err, ErrNotInstalled) && os.Getenv("CI") != "true" {
				t.Skip(err)
			}
			test(t, f)
		})
	}
}

func one(t *testing.T, s *Server, query string) string {
	t.Helper()
	db, err := sql.Open("mysql", s.Config("").FormatDSN())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var value string
	if err := db.QueryRowContext(t.Context(), query).Scan(&value); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return value
}

func execute(t *testing.T, s *Server, statement string) {
	t.Helper()
	db, err := sql.Open("mysql", s.Config("").FormatDSN())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

func TestServerAnswersAndLeavesNothing(t *testing.T) {
	eachFlavour(t, func(t *testing.T, f Flavour) {
		s := start(t, Config{Flavour: f, Args: []string{"--max-connections=123"}})
		if got := one(t, s, "SELECT VERSION()"); !strings.HasPrefix(got, strings.Split(s.Version, "-")[0]) {
			t.Errorf("the server says %s, Find said %s", got, s.Version)
		}
		if got := one(t, s, "SELECT @@max_connections"); got != "123" {
			t.Errorf("max_connections = %s, want our argument's 123", got)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(s.Dir()); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is still there: %v", s.Dir(), err)
		}
	})
}

// TestLockedServer: whoever else uses the machine cannot log in as root, and root can write no file outside of the
// server's directory. The password stays with data that is kept.
func TestLockedServer(t *testing.T) {
	eachFlavour(t, func(t *testing.T, f Flavour) {
		dir := filepath.Join(t.TempDir(), "keep")
		for range 2 {
			s := start(t, Config{Flavour: f, Dir: dir, Locked: true})
			stranger, onSocket := s.Config(""), s.Config("")
			stranger.Passwd, onSocket.Passwd = "", ""
			onSocket.Net, onSocket.Addr = "unix", s.Socket()
			for _, c := range []*mysql.Config{stranger, onSocket} {
				if err := try(t, c, "SELECT 1"); !refused(err, 1045) {
					t.Errorf("root without a password by %s: got %v, want it refused", c.Net, err)
				}
			}

			file := filepath.Join(t.TempDir(), "written")
			if err := try(t, s.Config(""), "SELECT 1 INTO OUTFILE '"+file+"'"); !refused(err, 1290) {
				t.Errorf("a file elsewhere: got %v, want it refused", err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func try(t *testing.T, c *mysql.Config, statement string) error {
	t.Helper()
	connector, err := mysql.NewConnector(c)
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(connector)
	defer db.Close()
	_, err = db.ExecContext(t.Context(), statement)
	return err
}

func refused(err error, number uint16) bool {
	my, ok := errors.AsType[*mysql.MySQLError](err)
	return ok && my.Number == number
}

func TestRestartKeepsDataAndPort(t *testing.T) {
	eachFlavour(t, func(t *testing.T, f Flavour) {
		s := start(t, Config{Flavour: f})
		addr := s.Addr()
		execute(t, s, "CREATE DATABASE kept")
		if err := s.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}

		s.Kill()
		if err := s.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := one(t, s,
			"SELECT schema_name FROM information_schema.schemata WHERE schema_name = 'kept'"); got != "kept" {
			t.Errorf("schema = %q, want kept", got)
		}
		if s.Addr() != addr {
			t.Errorf("address moved from %s to %s", addr, s.Addr())
		}
	})
}

func TestKeptDirectorySurvivesClose(t *testing.T) {
	eachFlavour(t, func(t *testing.T, f Flavour) {
		dir := filepath.Join(t.TempDir(), "keep")
		first := start(t, Config{Flavour: f, Dir: dir})
		execute(t, first, "CREATE DATABASE kept")
		if err := first.Close(); err != nil {
			t.Fatal(err)
		}
		second := start(t, Config{Flavour: f, Dir: dir})
		if got := one(t, second,
			"SELECT schema_name FROM information_schema.schemata WHERE schema_name = 'kept'"); got != "kept" {
			t.Errorf("schema = %q, want kept", got)
		}
	})
}

func TestErrorCarriesTheServersLog(t *testing.T) {
	eachFlavour(t, func(t *testing.T, f Flavour) {
		_, err := Start(t.Context(), Config{Flavour: f, Args: []string{"--no-such-option=1"}})
		if err == nil || !strings.Contains(err.Error(), "no-such-option") {
			t.Errorf("got %v, want the server's own complaint", err)
		}
	})
}

func TestConcurrentFirstStartsShareOneTemplate(t *testing.T) {
	eachFlavour(t, func(t *testing.T, f Flavour) {
		cache := t.TempDir()
		if link, err := cacheDir(); err == nil { // a fetched server lives in the cache too
			if err := os.MkdirAll(filepath.Join(cache, "ttlproxy"), 0o700); err != nil {
				t.Fatal(err)
			}
			_ = os.Symlink(filepath.Join(link, "mysql"), filepath.Join(cache, "ttlproxy", "mysql"))
		}

		t.Setenv("XDG_CACHE_HOME", cache)
		p, err := Find(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}

		errs := make(chan error)
		for range 2 {
			go func() {
				_, err := template(t.Context(), p, nil)
				errs <- err
			}()
		}

		for range 2 {
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}

		left, err := filepath.Glob(filepath.Join(cache, "ttlproxy", "template", "making-*"))
		if err != nil || len(left) != 0 {
			t.Errorf("left over: %v, %v", left, err)
		}
	})
}

func TestServerDiesWithItsParent(t *testing.T) {
	eachFlavour(t, func(t *testing.T, f Flavour) {
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), "SANDBOX_TEST_PARENT="+string(f))
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}

		line, err := bufio.NewReader(out).ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}

		var dir string
		var pid int
		if _, err := fmt.Sscan(line, &dir, &pid); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}

		_ = cmd.Wait()
		gone := func() bool {
			_, err := os.Stat(dir)
			return errors.Is(err, os.ErrNotExist) && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
		}
		for deadline := time.Now().Add(time.Minute); !gone(); {
			if time.Now().After(deadline) {
				t.Fatalf("a minute after its parent was killed, process %d or %s is still there", pid, dir)
			}
			<-time.After(50 * time.Millisecond)
		}
	})
}
