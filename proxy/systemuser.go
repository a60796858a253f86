package proxy

import (
	"errors"
	"net"
	"regexp"

	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/proxy/wire"
)

// A server may identify whoever is on the other end of its socket with a system user, and ask for
// no password. That end is the proxy's. The name that a client gives does not show which account
// that would be: servers strip quotes from it, an account may stand for a system user of another
// name, and the server's machine may call our user something else. So before a client of such a
// session hears that it is logged in, the server is asked how its account logs in.

// showAccount is answered to every account, about itself.
const showAccount = "SHOW CREATE USER CURRENT_USER()"

// believesSocket matches the plugins that do so, of MariaDB and of MySQL, alone or among others.
var believesSocket = regexp.MustCompile(`(?i)\b(?:unix|auth)_socket\b`)

// mayBeLent reports whether the server could take the proxy's user for the client. A client that is
// this user itself, on a socket of the proxy's, gets no more than it would directly; a load balancer
// that is brings others.
func (s *session) mayBeLent() bool {
	_, socket := s.wires[1].(*net.UnixConn)
	return socket && (s.balanced || !isOurUser(s.wires[0]))
}

// looksAtAccount reports whether the server has to be asked about an account before its client
// hears that it is logged in.
func (s *session) looksAtAccount() bool { return s.mayBeLent() || s.settings.MaxUserConnections > 0 }

// refuseLent refuses the session if the server may have asked for nothing but who is on its socket.
func (s *session) refuseLent() error {
	if !s.mayBeLent() {
		return nil
	}

	x := &Exchange{s: s}
	r, err := x.Ask(showAccount)
	switch {
	case wire.RefusedWith(err, ddl.CodeMustChange):
		return nil
	case err != nil:
		return err
	case len(r.Rows) != 1 || len(r.Rows[0]) == 0:
		return errors.New("the server does not show how the account logs in")
	case !believesSocket.Match(r.Rows[0][0]):
		return nil
	}

	return &wire.Error{
		Code: ddl.CodeAccessDenied, State: "28000",
		Message: "ttlproxy: this account logs in as a user of the server's system (unix_socket, auth_socket), and on " +
			"the server's socket that is the proxy's user: let the proxy connect to HOST:PORT, or use another account",
	}
}

// welcome tells the client that it is logged in, if that waited for an answer in the session
// itself.
func (s *session) welcome() error {
	if s.login.last == nil {
		return nil
	}

	s.exchange(true)
	defer s.exchange(false)

	last := s.login.last
	s.login.last = nil
	err := s.refuseLent()
	if err == nil {
		err = s.admitAccount(s.login.user)
	}
	if err != nil {
		return errors.Join(errRefused, s.giveUp(s.login.lastSeq, err))
	}

	b, _ := wire.AppendPacket(nil, s.login.lastSeq, last)
	return s.write(s.client, b)
}
