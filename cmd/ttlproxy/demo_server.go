package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/sandbox"
)

// demoServer is a server of the demo's own: a process or a container.
type demoServer interface {
	Kind() sandbox.Program
	Addr() string
	Dir() string // a directory that is removed with the server, unless it is to be kept
	Config(schema string) *mysql.Config
	Close() error
}

// provideServer starts a server that is installed; else installs MariaDB, if that is allowed; else
// uses Docker.
func provideServer(ctx context.Context, w world, c sandbox.Config) (demoServer, error) {
	_, err := sandbox.Find(ctx, c.Flavour)
	if errors.Is(err, sandbox.ErrNotInstalled) && install(ctx, w, c.Flavour) {
		_, err = sandbox.Find(ctx, c.Flavour)
	}

	switch {
	case err == nil:
		fmt.Fprintln(w.stdout, "Starting a private server…")
		server, err := sandbox.Start(ctx, c)
		if err != nil {
			return nil, err
		}
		return server, nil
	case errors.Is(err, sandbox.ErrNotInstalled) && sandbox.HasDocker(ctx):
		fmt.Fprintln(w.stdout, "Starting a private server in a Docker container…")
		container, err := sandbox.StartContainer(ctx, c, w.stdout)
		if err != nil {
			return nil, err
		}
		return container, nil
	}

	return nil, err
}

// manager is a package manager, with the command that installs MariaDB's server without starting
// one.
type manager struct {
	program string
	steps   [][]string
	root    bool // whether it has to be run by root
}

var managers = []manager{
	{"apt-get", [][]string{
		{"-q", "update"},
		{"-q", "-y", "install", "--no-install-recommends", "mariadb-server-core", "mariadb-client-core"},
	}, true},
	{"dnf", [][]string{{"-y", "install", "mariadb-server"}}, true},
	{"apk", [][]string{{"add", "mariadb", "mariadb-client"}}, true},
	{"zypper", [][]string{{"--non-interactive", "install", "mariadb"}}, true},
	{"pacman", [][]string{{"-S", "--noconfirm", "--needed", "mariadb"}}, true},
	{"brew", [][]string{{"install", "mariadb"}}, false},
}

// install installs MariaDB's programs, and reports whether it has. It asks first, unless it runs as
// root without a terminal: then a script started the demo, and meant it. MySQL is never installed.
func install(ctx context.Context, w world, want sandbox.Flavour) bool {
	m, sudo := findManager()
	asks := isTerminal(w.stdin)
	switch {
	case m == nil || want == sandbox.MySQL:
		return false
	case !asks && (sudo || !m.root):
		return false
	case asks:
		fmt.Fprintf(w.stdout,
			"The demo needs a MariaDB or MySQL server, and none is installed.\nInstall MariaDB's programs with %s? "+
				"No service is started. [y/N] ", m.program)
		answer, _ := bufio.NewReader(w.stdin).ReadString('\n') // no answer is a no
		if !strings.HasPrefix(strings.ToLower(strings.TrimSpace(answer)), "y") {
			return false
		}
	}

	fmt.Fprintf(w.stdout, "Installing MariaDB with %s…\n", m.program)
	for _, step := range m.steps {
		if err := m.command(ctx, w, sudo, step).Run(); err != nil {
			fmt.Fprintf(w.stderr, "%s %s: %v\n", m.program, strings.Join(step, " "), err)
		}
	}

	return true
}

// findManager returns the package manager that can be used here, and whether it takes sudo.
func findManager() (found *manager, sudo bool) {
	_, noSudo := exec.LookPath("sudo")
	for _, m := range managers {
		if _, err := exec.LookPath(m.program); err != nil {
			continue
		}
		sudo = m.root && os.Geteuid() != 0
		if sudo && noSudo != nil || !m.root && os.Geteuid() == 0 {
			continue
		}
		return &m, sudo
	}
	return nil, false
}

func (m *manager) command(ctx context.Context, w world, sudo bool, args []string) *exec.Cmd {
	args = append([]string{m.program}, args...)
	if sudo {
		args = append([]string{"sudo"}, args...)
	}
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
	cmd.Stderr = w.stderr // its output does not matter, its errors do
	if sudo {
		cmd.Stdin = w.stdin // for the password
	}
	return cmd
}

// checkAddresses checks that the addresses are free before anything is started. With port 0 the system chooses
// one that is, when it is listened on.
func (o *options) checkAddresses(ctx context.Context) error {
	var taken, free []string
	check := func(option, address string) error {
		err := checkFree(ctx, address)
		if errors.Is(err, syscall.EADDRINUSE) {
			taken, free = append(taken, address), append(free, "--"+option+"=127.0.0.1:0")
			return nil
		}
		if err != nil {
			return fmt.Errorf("--%s: %w", option, err)
		}

		return nil
	}

	for _, address := range o.Proxy.Listen {
		if err := check("listen", address); err != nil {
			return err
		}
	}

	if err := check("status", o.Status); err != nil {
		return err
	}
	if len(taken) > 0 {
		return fmt.Errorf("another program listens on %s (another demo?): choose other addresses, or let the demo "+
			"pick free ones with %s",
			strings.Join(taken, " and "), strings.Join(free, " "))
	}

	return nil
}

func checkFree(ctx context.Context, address string) error {
	if strings.HasPrefix(address, "unix:") {
		return nil
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return err
	}
	return l.Close()
}
