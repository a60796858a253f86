package wiretest

import "net"

// Alter wraps a connection that changes the byte at an offset of what is written.
func Alter(c net.Conn, offset int, change func(byte) byte) net.Conn {
	return &alterConn{Conn: c, at: offset, change: change}
}

type alterConn struct {
	net.Conn
	at     int
	change func(byte) byte
}

func (c *alterConn) Write(b []byte) (int, error) {
	at := c.at
	c.at -= len(b)
	if at < 0 || at >= len(b) {
		return c.Conn.Write(b)
	}
	altered := append([]byte(nil), b...)
	altered[at] = c.change(altered[at])
	return c.Conn.Write(altered)
}
