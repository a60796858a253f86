package proxy

import (
	"errors"
	"net"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
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

// hasLeft reports whether the other end has closed a connection of which nothing has been read yet.
func hasLeft(c net.Conn) bool {
	s, ok := c.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return false
	}

	left := false
	err = raw.Control(func(fd uintptr) {
		n, _, err := unix.Recvfrom(int(fd), make([]byte, 1), unix.MSG_PEEK|unix.MSG_DONTWAIT)
		left = n <= 0 && !errors.Is(err, unix.EAGAIN)
	})
	return left && err == nil
}

// pulseOf asks the kernel about the peer of a connection.
func pulseOf(c net.Conn) (p pulse, known bool) {
	t, ok := c.(*net.TCPConn)
	if !ok {
		return pulse{}, false // who is on the same machine ends with a word
	}
	raw, err := t.SyscallConn()
	if err != nil {
		return pulse{}, false
	}

	var info *unix.TCPInfo
	var asked error
	err = raw.Control(func(fd uintptr) {
		info, asked = unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO)
	})
	if err != nil || asked != nil {
		return pulse{}, false
	}

	const tcpClose = 7
	return pulse{
		asked: int(info.Retransmits) + int(info.Probes),
		still: time.Duration(info.Last_ack_recv) * time.Millisecond,
		reset: info.State == tcpClose,
	}, true
}
