package integration

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
	"github.com/ttlproxy/ttlproxy/integration/program"
	"github.com/ttlproxy/ttlproxy/integration/transcript"
	"github.com/ttlproxy/ttlproxy/proxy/wire/wiretest"
	"github.com/ttlproxy/ttlproxy/sandbox"
)

const tutorialPage = "../docs/tutorial.md"

// TestTutorial does every step of the tutorial, commands in one shell and statements in one client,
// on a server of its own.
func TestTutorial(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(tutorialPage)
	if err != nil {
		t.Fatal(err)
	}

	mysqltest.Both(t, func(t *testing.T, shared *mysqltest.Server) {
		if shared.Sandbox == nil {
			t.Skip("the tutorial wants a server whose root has no password, and this machine has none installed")
		}

		server, err := sandbox.Start(t.Context(), sandbox.Config{Flavour: shared.Flavour})
		if err != nil {
			t.Fatal(err)
		}

		t.Cleanup(func() { _ = server.Close() })
		proxy, page := freeAddress(t), freeAddress(t)
		actual := strings.NewReplacer(
			"127.0.0.1:3306", server.Addr(), "--port=3306", fmt.Sprintf("--port=%d", server.Port()), "127.0.0.1:4000",
			proxy, "127.0.0.1:4080", page)

		shell := startShell(t, clientFolder(t, server))
		c := mysql.NewConfig()
		c.User, c.Passwd, c.Net, c.Addr, c.DBName = "app", "app", "tcp", proxy, "shop"
		c.Logger = &mysql.NopLogger{}

		for _, b := range transcript.Blocks(string(text)) {
			switch b.Language {
			case "sh":
				shell.run(t, actual.Replace(b.Text))
			case "sql":
				awaitCatalog(t, c)
				followBlock(t, c, b, strings.NewReplacer())
			}
		}
	})
}

// clientFolder is a folder in which the command-line client of the server's family is called mysql,
// as the tutorial calls it.
func clientFolder(t *testing.T, server *sandbox.Server) string {
	t.Helper()
	for _, candidate := range []string{filepath.Join(filepath.Dir(server.Path), "mysql"), "mariadb", "mysql"} {
		client, err := exec.LookPath(candidate)
		if err != nil {
			continue
		}

		dir := t.TempDir()
		// a program
		if err := os.WriteFile(filepath.Join(dir, "mysql"), []byte("#!/bin/sh\nexec '"+client+"' --no-defaults \"$@\"\n"), 0o755); err != nil { //nolint:gosec // see above
			t.Fatal(err)
		}

		return dir
	}

	t.Skip("there is no command-line client")
	return ""
}

// freeAddress is one that nobody listens on, nor will.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", wiretest.OwnAddress())
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// awaitCatalog waits until the proxy knows about TTL. A person is slower than that.
func awaitCatalog(t *testing.T, c *mysql.Config) {
	t.Helper()
	for deadline := time.Now().Add(program.Patience); ; {
		err := execute(t.Context(), c, "SHOW TTL NODES")
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
		<-time.After(50 * time.Millisecond)
	}
}

// shell is one that a person keeps open through the tutorial.
type shell struct {
	in  io.Writer
	out *bufio.Scanner
}

func startShell(t *testing.T, clients string) *shell {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "bash", "--noprofile", "--norc", "-e", "-o", "pipefail")
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "PATH="+
		strings.Join([]string{clients, filepath.Dir(program.Build(t)), os.Getenv("PATH")},
			string(os.PathListSeparator)))

	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}

	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}

	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		_, _ = io.WriteString(in, "\nkill %1; wait\n")
		_ = in.Close()
		_ = cmd.Wait()
	})

	return &shell{in, bufio.NewScanner(out)}
}

// run runs commands. One that fails ends the shell, and with it the test.
func (s *shell) run(t *testing.T, commands string) {
	t.Helper()
	const done = "--- done"
	if _, err := io.WriteString(s.in, commands+"\necho '"+done+"'\n"); err != nil {
		t.Fatal(err)
	}

	var said strings.Builder
	for s.out.Scan() {
		if s.out.Text() == done {
			return
		}
		said.WriteString(s.out.Text() + "\n")
	}

	t.Fatalf("%s\nfails, and says\n%s", commands, said.String())
}
