package proxy

import (
	"net"
	"os"
	"syscall"
	"time"
)

const (
	tcpUserTimeout = 0x12 // TCP_USER_TIMEOUT, which package syscall does not name
	userTimeout    = 30 * time.Second
)

// isOurUser reports whether the other end of a socket belongs to the system user that this process
// runs as.
func isOurUser(c net.Conn) bool {
	u, ok := c.(*net.UnixConn)
	if !ok {
		return false
	}

	raw, err := u.SyscallConn()
	if err != nil {
		return false
	}

	same := false
	err = raw.Control(func(fd uintptr) {
		peer, err := syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
		same = err == nil && int(peer.Uid) == os.Geteuid()
	})
	return same && err == nil
}

// tune bounds the time for which data sent to a peer may stay unacknowledged: one that vanished
// with an answer on its way would otherwise hold its session, and the server's thread, for a
// quarter of an hour.
func tune(c net.Conn) {
	t, ok := c.(*net.TCPConn)
	if !ok {
		return
	}
	raw, err := t.SyscallConn()
	if err != nil {
		return
	}
	limit := int(userTimeout.Milliseconds())
	raw.Control(func(fd uintptr) { //nolint:errcheck // without it the peer is noticed later
		syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpUserTimeout, limit) //nolint:errcheck // the same
	})
}
