package program

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Config says how to run ttlproxy serve.
type Config struct {
	Args []string // behind serve; --listen on a free port comes before
	Env  []string // on top of the test's own

	// Path is the program, if it is not the one that Build has built.
	Path string
	// Sockets are passed as systemd does, all by the name of clients.
	Sockets []*os.File

	// NoCatalog is for servers on which the catalog cannot be opened: Start then waits for the
	// address only.
	NoCatalog bool
}

// Process is a running ttlproxy serve.
type Process struct {
	Addr string // where clients connect

	cmd  *exec.Cmd
	log  string
	done chan struct{}
}

// Patience is how long a process may take to start or to stop.
const Patience = time.Minute

// PatientChecks keeps a proxy from taking the server of a busy machine for dead after a second of silence.
const PatientChecks = "TTLPROXY_BACKEND_CHECK_TIMEOUT=1m"

// Start runs ttlproxy serve, with patience unless Env or Args say otherwise, and returns once it listens and its
// catalog is open.
func Start(tb testing.TB, c Config) *Process {
	tb.Helper()
	c.Env = append([]string{PatientChecks}, c.Env...)
	p, err := Launch(cmp.Or(c.Path, Build(tb)), tb.TempDir(), c)
	if p != nil {
		tb.Cleanup(func() {
			p.Kill()
			if tb.Failed() {
				lines := strings.Split(strings.TrimSpace(p.Log()), "\n")
				tb.Logf("end of the log of the proxy on %s:\n%s", p.Addr,
					strings.Join(lines[max(0, len(lines)-40):], "\n"))
			}
		})
	}

	if err != nil {
		tb.Fatal(err)
	}

	return p
}

// Launch is Start for callers without a test. The log goes to a file in dir. It starts no server of
// package sandbox: those need a guard that deletes their data, and this one has none.
func Launch(path, dir string, c Config) (*Process, error) {
	log, err := os.CreateTemp(dir, "proxy-*.log")
	if err != nil {
		return nil, err
	}

	p := &Process{log: log.Name(), done: make(chan struct{})}
	args := append([]string{"serve", "--listen=127.0.0.1:0", "--log-format=json"}, c.Args...)
	p.cmd = exec.Command(path, args...)
	if c.Sockets != nil { // only the process itself knows its number before it begins
		p.cmd = exec.Command("/bin/sh", append([]string{"-c", `LISTEN_PID=$$ exec "$0" "$@"`, path}, args...)...)
		c.Env = append(c.Env, fmt.Sprintf("LISTEN_FDS=%d", len(c.Sockets)),
			"LISTEN_FDNAMES="+strings.Repeat(":clients", len(c.Sockets))[1:])
		p.cmd.ExtraFiles = c.Sockets
	}

	p.cmd.Env = append(os.Environ(), c.Env...)
	p.cmd.Stdout, p.cmd.Stderr = log, log
	p.cmd.SysProcAttr = attributes()
	started := make(chan error)
	go func() { // the kernel ties the death signal to the thread that started the process
		runtime.LockOSThread()
		defer close(p.done)
		defer log.Close()

		err := p.cmd.Start()
		started <- err
		if err == nil {
			_ = p.cmd.Wait() // how it ended is in the log
		}
	}()

	if err := <-started; err != nil {
		return nil, err
	}

	return p, p.awaitReady(!c.NoCatalog)
}

// awaitReady reads from the log where the process listens, and that the catalog is open.
func (p *Process) awaitReady(catalog bool) error {
	for deadline := time.Now().Add(Patience); ; {
		address, opened := p.progress()
		if p.Addr = address; address != "" && (opened || !catalog) {
			return nil
		}

		select {
		case <-p.done:
			return fmt.Errorf("ttlproxy ended:\n%s", p.Log())
		case <-time.After(20 * time.Millisecond):
		}

		if time.Now().After(deadline) {
			return fmt.Errorf("ttlproxy is not ready after %v:\n%s", Patience, p.Log())
		}
	}
}

// progress says how far the log has come.
func (p *Process) progress() (address string, opened bool) {
	for line := range strings.Lines(p.Log()) {
		var entry struct{ Msg, Address string }
		if json.Unmarshal([]byte(line), &entry) != nil {
			continue
		}

		switch entry.Msg {
		case "listening":
			address = cmp.Or(address, entry.Address)
		case "the catalog is open",
			"no rows are deleted and TTL statements fail until the catalog can be opened; everything else passes":
			opened = true
		}
	}
	return address, opened
}

// Log returns everything that the process has logged.
func (p *Process) Log() string {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return fmt.Sprintf("(%s: %v)", filepath.Base(p.log), err)
	}
	return string(text)
}

// Stop asks the process to end and waits until it has drained.
func (p *Process) Stop() error {
	if err := p.Signal(syscall.SIGTERM); err != nil {
		return err
	}

	select {
	case <-p.done:
	case <-time.After(Patience):
		p.Kill()
		return fmt.Errorf("ttlproxy has not ended %v after SIGTERM:\n%s", Patience, p.Log())
	}

	if code := p.cmd.ProcessState.ExitCode(); code != 0 {
		return fmt.Errorf("ttlproxy ended with exit code %d:\n%s", code, p.Log())
	}

	return nil
}

// Kill ends the process without warning.
func (p *Process) Kill() {
	if err := p.cmd.Process.Kill(); err == nil || errors.Is(err, os.ErrProcessDone) {
		<-p.done
	}
}

// Signal sends a signal, such as SIGSTOP to freeze the process and SIGCONT to let it go on.
func (p *Process) Signal(s os.Signal) error { return p.cmd.Process.Signal(s) }

// PID is the process's number, to look at its memory and descriptors.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Done is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }
