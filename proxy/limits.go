package proxy

import (
	"fmt"
	"math"

	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/proxy/wire"
)

const (
	perSession        = 2  // file descriptors: the client's connection and the backend's
	apartFromSessions = 64 // file descriptors: listeners, the engine, the catalog, the status page, logs
)

// fitConnections bounds the number of connections by the file descriptors that there are. A
// configured bound that does not fit is an error at start, not a surprise at the busiest hour.
func fitConnections(wanted int) (int, error) {
	limit, known := descriptors()
	if !known {
		limit = math.MaxInt
	}

	room := max(1, (limit-apartFromSessions)/perSession)
	switch {
	case wanted < 0:
		return 0, fmt.Errorf("max-connections is %d: want 0 or more", wanted)
	case wanted == 0:
		return room, nil
	case wanted > room:
		return 0,
			fmt.Errorf("max-connections is %d, which needs %d file descriptors, and the limit is %d: lower it to %d, "+
				"or raise the limit (ulimit -n, or LimitNOFILE= of the service)",
				wanted, wanted*perSession+apartFromSessions, limit, room)
	default:
		return wanted, nil
	}
}

// admit lets a session in unless there are too many.
func (s *Server) admit(e *session) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.sessions) >= e.settings.MaxConnections {
		return false
	}
	s.sessions[e] = struct{}{}
	return true
}

// dismiss forgets a session that has ended.
func (s *Server) dismiss(e *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.sessions, e)
	s.received += e.received.Load()
	s.sent += e.sent.Load()
	s.leaveUser(e)
}

// admitUser counts a session for the account it has logged in to, unless there are too many of it.
// Only those that the server has let in are counted: otherwise a stranger could lock an account.
func (s *Server) admitUser(e *session, account string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.users[account] >= e.settings.MaxUserConnections {
		return false
	}
	s.leaveUser(e)
	s.users[account]++
	e.counted, e.countedAs = true, account
	return true
}

// admitAccount does so for the account that the server says it is. The name that the client sends
// does not tell: servers strip quotes from it, truncate it, read it in the client's character set,
// or let anybody in to an account without a name.
func (s *session) admitAccount(user string) error {
	if s.settings.MaxUserConnections == 0 {
		return nil
	}

	values, err := (&Exchange{s: s}).AskValues(askAccount)
	switch {
	case wire.RefusedWith(err, ddl.CodeMustChange):
		values = []string{user} // which gets nothing done yet
	case err != nil:
		return err
	}

	if !s.server.admitUser(s, values[0]) {
		return tooManyOf(values[0])
	}

	return nil
}

var askAccount = SelectValues("CURRENT_USER()")

// leaveUser is called with the lock held.
func (s *Server) leaveUser(e *session) {
	if !e.counted {
		return
	}
	e.counted = false
	if s.users[e.countedAs]--; s.users[e.countedAs] == 0 {
		delete(s.users, e.countedAs)
	}
}

func tooMany() *wire.Error {
	return &wire.Error{Code: ddl.CodeTooManyConnections, State: "08004", Message: "Too many connections"}
}

func tooManyOf(user string) *wire.Error {
	return &wire.Error{
		Code: ddl.CodeTooManyOfUser, State: "42000",
		Message: fmt.Sprintf("User %s already has more than 'max_user_connections' active connections", user),
	}
}

func secureRequired() *wire.Error {
	return &wire.Error{
		Code: ddl.CodeTLSRequired, State: "HY000",
		Message: "Connections using insecure transport are prohibited: connect with TLS (ttlproxy: require-tls)",
	}
}
