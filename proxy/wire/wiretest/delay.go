package wiretest

import (
	"net"
	"time"
)

// Delay wraps a connection whose every write waits.
func Delay(c net.Conn, d time.Duration) net.Conn { return &delayConn{Conn: c, d: d} }

type delayConn struct {
	net.Conn
	d time.Duration
}

func (c *delayConn) Write(b []byte) (int, error) {
	<-time.After(c.d)
	return c.Conn.Write(b)
}
