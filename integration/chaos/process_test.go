package chaos

import (
	"context"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/ttlproxy/ttlproxy/integration/program"
)

// node is a proxy that lives several lives, all at one address.
type node struct {
	addr string
	args []string
	env  []string
	*program.Process
}

func newNode(t *testing.T, backend, user, password string) *node {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return &node{
		addr: l.Addr().String(),
		args: []string{"--listen=" + l.Addr().String(), "--backend=" + backend, "--engine-user=" + user},
		env:  []string{"TTLPROXY_ENGINE_PASSWORD=" + password},
	}
}

func (n *node) start(t *testing.T) {
	t.Helper()
	n.Process = program.Start(t, program.Config{Args: n.args, Env: n.env})
}

// freeze stops the process for a while, in the middle of whatever it does, and lets it go on as if
// nothing had been.
func (n *node) freeze(ctx context.Context, t *testing.T, d time.Duration) {
	t.Helper()
	if err := n.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	pause(ctx, d)
	if err := n.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
}
