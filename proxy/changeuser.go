package proxy

import (
	"context"
	"errors"
	"time"

	"github.com/ttlproxy/ttlproxy/proxy/wire"
)

// changesUser reports whether COM_CHANGE_USER has to be attended to: if the legs differ, it may
// bring another password to carry over; if accounts are bounded, it moves the session to another
// one; and on a socket that may be one which the server lends. Otherwise it passes like everything
// else, and only the name is recorded: a session whose change is refused ends.
func (s *session) changesUser(payload []byte) bool {
	user, _, _, _ := wire.DecodeChangeUser(payload, s.login.capabilities)
	if s.bridge.uneven() || s.looksAtAccount() {
		return true
	}
	s.setUser(user)
	return false
}

// refuseLong ends a session with the reason why a command is too long. The client reads that only
// when it has sent all of it.
func (s *session) refuseLong(ctx context.Context, c wire.Start, why *wire.Error) error {
	for left := wire.HeaderSize + c.Size; left > 0; {
		if _, err := s.gather(0, 1); err != nil {
			return err
		}
		n := min(left, len(s.fromClient.pending()))
		s.fromClient.use(n)
		left -= n
	}

	if err := s.settle(ctx); err != nil {
		return err
	}
	s.exchange(true)
	defer s.exchange(false)
	return s.giveUp(1, why)
}

// setUser names the account for the slow log, which another goroutine writes.
func (s *session) setUser(user string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.login.user = user
}

// changeUser relays COM_CHANGE_USER packet by packet, as a login is relayed.
func (s *session) changeUser(payload []byte) error {
	user, auth, plugin, ok := wire.DecodeChangeUser(payload, s.login.capabilities)
	if ok {
		s.bridge.response(plugin, auth)
	}

	c := &conversation{s: s}
	s.setRoute(c)
	defer s.setRoute(nil)

	s.begin(wire.ChangeUser, payload)
	b, _ := wire.AppendPacket(nil, 0, payload)
	if err := s.write(s.backend, b); err != nil {
		return err
	}

	for {
		payload, seq, err := c.next()
		if err != nil {
			return err
		}
		if len(payload) > 0 && (payload[0] == wire.AuthOK || payload[0] == wire.AuthError) {
			return c.end(user, payload, seq)
		}
		if err := c.question(payload, seq); err != nil {
			return err
		}
	}
}

// conversation is a COM_CHANGE_USER in progress. It collects what the server says.
type conversation struct {
	s     *session
	b     []byte // under the session's lock
	shift byte
}

func (c *conversation) receive(s *session, b []byte) []byte {
	s.track(b)
	c.b = append(c.b, b...)
	return nil
}

func (c *conversation) ended(r wire.Report) { c.s.server.metrics.command(r, c.s.silentSince-r.Started) }

// next waits for a packet of the server.
func (c *conversation) next() (payload []byte, seq byte, err error) {
	s := c.s
	s.mu.Lock()
	defer s.mu.Unlock()

	s.waiting = true
	defer func() { s.waiting = false }()

	for {
		if len(c.b) >= wire.HeaderSize {
			n, seq := wire.Header(c.b)
			if n > loginLimit {
				return nil, 0, wire.ErrTooLong
			}

			if end := wire.HeaderSize + n; len(c.b) >= end && !s.writing {
				payload = append([]byte(nil), c.b[wire.HeaderSize:end]...)
				c.b = c.b[end:]
				return payload, seq, nil
			}
		}

		if s.gone {
			return nil, 0, errBackendGone
		}

		s.changed.Wait()
	}
}

// question takes one step with a packet of the server, and with the client's answer to it.
func (c *conversation) question(payload []byte, seq byte) error {
	s := c.s
	m, err := s.bridge.fromServer(payload)
	switch {
	case err != nil:
		return s.giveUp(seq-c.shift, err)
	case m.toServer != nil:
		c.shift += 2
		return s.send(s.backend, seq+1, m.toServer)
	}

	if err := s.send(s.client, seq-c.shift, m.toClient); err != nil || s.bridge.noAnswer(payload) {
		return err
	}

	return c.fromClient()
}

// fromClient takes the client's answer, and continues until it is the server's turn.
func (c *conversation) fromClient() error {
	s := c.s
	for {
		payload, seq, err := s.nextFromClient()
		if err != nil {
			return err
		}

		m, err := s.bridge.fromClient(payload)
		switch {
		case err != nil:
			return s.giveUp(seq+1, err)
		case m.toClient == nil:
			return s.send(s.backend, seq+c.shift, m.toServer)
		}

		c.shift -= 2
		if err := s.send(s.client, seq+1, m.toClient); err != nil {
			return err
		}
	}
}

// end passes the server's last packet on.
func (c *conversation) end(user string, payload []byte, seq byte) error {
	s := c.s
	defer s.client.SetDeadline(time.Time{})  //nolint:errcheck // the next read fails
	defer s.backend.SetDeadline(time.Time{}) //nolint:errcheck // the same

	if payload[0] == wire.AuthOK {
		s.setRoute(nil)
		if err := s.refuseLent(); err != nil {
			return errors.Join(errRefused, s.giveUp(seq-c.shift, err))
		}
		if err := s.admitAccount(user); err != nil {
			return errors.Join(errRefused, s.giveUp(seq-c.shift, err))
		}

		s.setUser(user)
	}

	return s.send(s.client, seq-c.shift, payload)
}

// nextFromClient waits for a packet of the client in which no command can start.
func (s *session) nextFromClient() (payload []byte, seq byte, err error) {
	s.extend(s.client)
	if _, err := s.gather(0, wire.HeaderSize); err != nil {
		return nil, 0, err
	}

	n, seq := wire.Header(s.fromClient.pending())
	if n > loginLimit {
		return nil, 0, wire.ErrTooLong
	}
	if _, err := s.gather(0, wire.HeaderSize+n); err != nil {
		return nil, 0, err
	}

	s.scan(wire.HeaderSize + n)
	payload = append([]byte(nil), s.fromClient.pending()[wire.HeaderSize:wire.HeaderSize+n]...)
	s.fromClient.use(wire.HeaderSize + n)
	return payload, seq, nil
}
