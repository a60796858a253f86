package proxy

import (
	"context"
	"errors"
	"net"
	"os"
	"syscall"
)

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
