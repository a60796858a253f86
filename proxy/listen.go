package proxy

import (
	"context"
	"errors"
	"net"
	"os"
	"syscall"
	"time"
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

// listen opens an address. A socket file left behind by a process that is gone is removed; one that
// somebody listens on is not. Every user of the machine may connect, as to a server's socket: the
// login decides.
func listen(ctx context.Context, a address) (net.Listener, error) {
	lc := net.ListenConfig{KeepAliveConfig: keepAlive}
	l, err := lc.Listen(ctx, a.network, a.address)
	if a.network != "unix" {
		return l, err
	}

	if errors.Is(err, syscall.EADDRINUSE) && abandoned(ctx, a.address) {
		if err := os.Remove(a.address); err != nil {
			return nil, err
		}
		l, err = lc.Listen(ctx, a.network, a.address)
	}

	if err != nil {
		return nil, err
	}

	return l, os.Chmod(a.address, 0o777) //nolint:gosec // see above
}

// abandoned reports whether path is a socket that nobody listens on.
func abandoned(ctx context.Context, path string) bool {
	info, err := os.Stat(path)
	if err != nil || info.Mode()&os.ModeSocket == 0 {
		return false
	}
	var d net.Dialer
	c, err := d.DialContext(ctx, "unix", path)
	if err == nil {
		c.Close()
	}
	return errors.Is(err, syscall.ECONNREFUSED)
}
