package wiretest

import "net"

// Split wraps a connection that writes and reads at most n bytes at a time.
func Split(c net.Conn, n int) net.Conn { return &splitConn{Conn: c, n: n} }

type splitConn struct {
	net.Conn
	n int
}

func (c *splitConn) Read(b []byte) (int, error) { return c.Conn.Read(b[:min(len(b), c.n)]) }

func (c *splitConn) Write(b []byte) (int, error) {
	written := 0
	for written < len(b) {
		n, err := c.Conn.Write(b[written:min(len(b), written+c.n)])
		written += n
		if err != nil {
			return written, err
		}
	}
	return written, nil
}
