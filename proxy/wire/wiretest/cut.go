package wiretest

import (
	"net"
	"sync/atomic"
)

// Cut wraps a connection that breaks after so many bytes in either direction.
func Cut(c net.Conn, after int64) net.Conn {
	k := &cutConn{Conn: c}
	k.left.Store(after)
	return k
}

type cutConn struct {
	net.Conn
	left atomic.Int64
}

func (c *cutConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	return n, c.count(n, err)
}

func (c *cutConn) Write(b []byte) (int, error) {
	if left := max(c.left.Load(), 0); int64(len(b)) > left {
		n, err := c.Conn.Write(b[:left])
		if err == nil {
			err = net.ErrClosed
		}
		return n, c.count(n+1, err)
	}
	n, err := c.Conn.Write(b)
	return n, c.count(n, err)
}

func (c *cutConn) count(n int, err error) error {
	if c.left.Add(-int64(n)) < 0 {
		c.Close()
		return net.ErrClosed
	}
	return err
}
