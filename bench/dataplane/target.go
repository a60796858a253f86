package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/ttlproxy/ttlproxy/sandbox"
)

// target is something that queries are sent to.
type target struct {
	name    string
	address string
	secured bool // its clients use TLS
	pid     int
	cmd     *exec.Cmd
}

// startTTLProxy starts the proxy that was built in front of a server, with TLS on that leg or not.
// Clients are offered TLS in any case.
func startTTLProxy(ctx context.Context, binary, server, name string, secured bool) (*target, error) {
	address, err := sandbox.FreeAddress(ctx)
	if err != nil {
		return nil, err
	}

	mode := "never"
	if secured {
		mode = "always"
	}

	cmd := exec.CommandContext(ctx, binary, "serve",
		"--listen", address.String(), "--backend", server, "--engine-user", service,
		"--engine=off", "--log-level=error", "--tls-self-signed=on", "--backend-tls="+mode)
	cmd.Env = append(os.Environ(), "TTLPROXY_ENGINE_PASSWORD="+service)
	return start(ctx, name, address.String(), cmd)
}

// startHAProxy starts HAProxy in TCP mode.
func startHAProxy(ctx context.Context, dir, server string) (*target, error) {
	binary, err := exec.LookPath("haproxy")
	if err != nil {
		if binary, err = exec.LookPath("/usr/sbin/haproxy"); err != nil {
			return nil, err
		}
	}

	address, err := sandbox.FreeAddress(ctx)
	if err != nil {
		return nil, err
	}

	config := filepath.Join(dir, "haproxy.cfg")
	text := fmt.Sprintf(`global
  nbthread 2
  maxconn 4000
defaults
  mode tcp
  timeout connect 10s
  timeout client 1h
  timeout server 1h
listen mysql
  bind %s
  server s %s
`, address, server)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return nil, err
	}

	return start(ctx, "haproxy", address.String(), exec.CommandContext(ctx, binary, "-db", "-f", config))
}

func start(ctx context.Context, name, address string, cmd *exec.Cmd) (*target, error) {
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return nil, err
	}

	t := &target{name: name, address: address, pid: cmd.Process.Pid, cmd: cmd}
	var err error
	for range 100 {
		var c *client
		if c, err = dial(ctx, address, false); err == nil {
			c.conn.Close()
			return t, nil
		}
		<-time.After(50 * time.Millisecond)
	}

	t.stop()
	return nil, fmt.Errorf("%s does not answer: %w", name, err)
}

func (t *target) stop() {
	if t.cmd != nil {
		_ = t.cmd.Process.Signal(os.Interrupt) // killed below, if need be
		killed := time.AfterFunc(5*time.Second, func() { _ = t.cmd.Process.Kill() })
		_ = t.cmd.Wait() // it was told to end
		killed.Stop()
	}
}

// ticks is how often a second the kernel counts CPU time.
const ticks = 100

// cpu is the CPU time which the target's process has used.
func (t *target) cpu() time.Duration {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", t.pid))
	if err != nil {
		return 0
	}
	_, after, _ := strings.Cut(string(b), ") ")
	fields := strings.Fields(after)
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * time.Second / ticks
}

// memory is the resident memory of the target's process in bytes.
func (t *target) memory() int {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", t.pid))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(b))
	if len(fields) < 2 {
		return 0
	}
	pages, _ := strconv.Atoi(fields[1])
	return pages * os.Getpagesize()
}
