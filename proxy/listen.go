package proxy

import (
	"context"
	"errors"
	"net"
	"os"
	"time"

	"github.com/ttlproxy/ttlproxy/unixsocket"
)

// open opens an address, or takes what is open already.
func (c *Config) open(ctx context.Context, a address) ([]net.Listener, error) {
	if a.network != inherited {
		l, err := listen(ctx, a)
		return []net.Listener{l}, err
	}

	sockets := c.Sockets[a.address]
	if len(sockets) == 0 {
		return nil, errNotPassed
	}

	opened := make([]net.Listener, len(sockets))
	for i, l := range sockets {
		opened[i] = passed{l}
	}
	return opened, nil
}

var errNotPassed = errors.New("systemd has passed no socket of this name (FileDescriptorName= of a .socket unit)")

// passed is a listener that somebody else has opened, and not with our settings.
type passed struct{ net.Listener }

// Accept waits for a client.
func (l passed) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if t, ok := c.(*net.TCPConn); ok {
		t.SetKeepAliveConfig(keepAlive) //nolint:errcheck // it is as good without, as long as all goes well
	}
	return c, err
}

// SetDeadline bounds the wait of Accept.
func (l passed) SetDeadline(t time.Time) error {
	if d, ok := l.Listener.(interface{ SetDeadline(time.Time) error }); ok {
		return d.SetDeadline(t)
	}
	return errors.ErrUnsupported
}

// listen opens an address. Every user of the machine may connect to a socket file, as to a server's:
// the login decides.
func listen(ctx context.Context, a address) (net.Listener, error) {
	l, err := unixsocket.Listen(ctx, net.ListenConfig{KeepAliveConfig: keepAlive}, a.network, a.address)
	if err != nil || a.network != "unix" {
		return l, err
	}
	return l, os.Chmod(a.address, 0o777) //nolint:gosec // see above
}
