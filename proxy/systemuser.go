package proxy

import (
	"fmt"
	"net"
	"os"
	"os/user"
	"strconv"

	"github.com/ttlproxy/ttlproxy/proxy/wire"
)

// systemUser is the name of the system's user that this process runs as, empty if it has none.
func systemUser() string {
	u, err := user.LookupId(strconv.Itoa(os.Geteuid()))
	if err != nil {
		return ""
	}
	return u.Username
}

// mayBorrow refuses an account that the server could give away: behind a socket it may take the client for the system's user on the
// other end (MariaDB's unix_socket, MySQL's auth_socket) and ask for no password, and on that end is the proxy. A client
// that is this user itself, on a socket of the proxy's, gets no more than it would directly.
func (s *session) mayBorrow(account string) error {
	_, socket := s.wires[1].(*net.UnixConn)
	if !socket || account == "" || account != s.server.systemUser || isOurUser(s.wires[0]) {
		return nil
	}
	return &wire.Error{Code: codeAccessDenied, State: "28000", Message: fmt.Sprintf(
		"ttlproxy: '%s' is also the system's user that the proxy runs as, which the server could take the client for on its socket: "+
			"connect the proxy by HOST:PORT, or run it as another user", account)}
}
