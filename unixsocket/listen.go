package unixsocket

import (
	"context"
	"errors"
	"net"
	"os"
	"syscall"
)

// Listen opens an address. A socket file left behind by a process that is gone is removed; one that
// somebody listens on is not.
func Listen(ctx context.Context, c net.ListenConfig, network, address string) (net.Listener, error) {
	l, err := c.Listen(ctx, network, address)
	if network != "unix" || !errors.Is(err, syscall.EADDRINUSE) || !abandoned(ctx, address) {
		return l, err
	}
	if err := os.Remove(address); err != nil {
		return nil, err
	}
	return c.Listen(ctx, network, address)
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
