package proxy

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"github.com/ttlproxy/ttlproxy/proxy/wire"
)

// loginLimit is the longest packet that is relayed before a client is logged in.
const loginLimit = 256 << 10

// errRefused means that the session ended in good order before it began: the client was told why.
var errRefused = errors.New("refused")

// handshake brings the client through the server's login:
//
//	client                    proxy                      server
//	   │                        │ ◄────────── greeting ─────│   or an error, which is passed on
//	   │ ◄─ greeting, masked ───│                           │
//	   │ ── (request for TLS) ─►│                           │
//	   │ ◄═════ TLS ═══════════►│                           │
//	   │ ── response ──────────►│ ── (request for TLS) ────►│
//	   │                        │ ◄═════════ TLS ══════════►│
//	   │                        │ ── response, masked ─────►│
//	   │ ◄────────── questions and answers, until ─────────►│
//	   │ ◄────────────────── OK or error ───────────────────│
//
// A request for TLS takes a sequence number. Where only one leg has it, the other's numbers are one off until the OK.
func (s *session) handshake(ctx context.Context) error {
	if err := s.dial(ctx); err != nil {
		s.refuse(0, &wire.Error{Code: codeCannotConnect, State: "HY000", Message: "ttlproxy: " + err.Error()})
		return err
	}
	h := handshake{s: s}
	if err := h.greet(); err != nil {
		return err
	}
	if err := h.respond(ctx); err != nil {
		return err
	}
	if err := h.authenticate(); err != nil {
		return err
	}
	return errors.Join(s.client.SetDeadline(time.Time{}), s.backend.SetDeadline(time.Time{}))
}

// codeCannotConnect is CR_CONN_HOST_ERROR, which is what a client says itself when nobody answers.
const codeCannotConnect = 2003

// handshake is the state of a login.
type handshake struct {
	s        *session
	greeting wire.Greeting
	server   wire.Capability // what the server has, before masking
	shift    byte            // what is added to the client's sequence numbers
}

// refuse tells the client why it cannot log in. Before the greeting nothing is agreed on, so there is no SQLSTATE.
func (s *session) refuse(seq byte, e *wire.Error) {
	payload := e.Append(nil)
	if seq == 0 {
		payload = e.AppendBare(nil)
	}
	b, _ := wire.AppendPacket(nil, seq, payload)
	s.extend(s.client)
	s.write(s.client, b) //nolint:errcheck // the session ends anyway
}

// extend allows the next step of the login its time.
func (s *session) extend(c net.Conn) {
	c.SetDeadline(time.Now().Add(s.server.config.LoginTimeout)) //nolint:errcheck // the step itself will fail
}

// read reads a packet of the login.
func (s *session) read(c net.Conn) ([]byte, byte, error) {
	s.extend(c)
	return wire.ReadPacket(c, nil, loginLimit)
}

// send writes a packet of the login.
func (s *session) send(c net.Conn, seq byte, payload []byte) error {
	b, _ := wire.AppendPacket(make([]byte, 0, wire.HeaderSize+len(payload)), seq, payload)
	s.extend(c)
	return s.write(c, b)
}

// greet passes the server's greeting on, with what we cannot carry taken out.
func (h *handshake) greet() error {
	s := h.s
	payload, seq, err := s.read(s.backend)
	if err != nil {
		err = fmt.Errorf("read the server's greeting: %w", err)
		s.refuse(0, &wire.Error{Code: codeCannotConnect, Message: "ttlproxy: " + err.Error()})
		return err
	}
	if len(payload) > 0 && payload[0] == wire.AuthError {
		return errors.Join(errRefused, s.send(s.client, seq, payload))
	}
	if err := h.greeting.Decode(payload); err != nil {
		s.refuse(0, &wire.Error{Code: codeCannotConnect, Message: "ttlproxy: the server's greeting: " + err.Error()})
		return fmt.Errorf("the server's greeting: %w", err)
	}
	h.server = h.greeting.Capabilities
	h.greeting.Patch(payload, offered(h.server, s.server.tls != nil && h.server.Has(wire.SSL)))
	return s.send(s.client, seq, payload)
}

// respond passes the client's response on. TLS begins behind its first part, if the client asks for it.
func (h *handshake) respond(ctx context.Context) error {
	s := h.s
	payload, seq, err := s.read(s.client)
	if err != nil {
		return fmt.Errorf("read the client's response: %w", err)
	}
	encrypted := wire.IsSSLRequest(payload) && h.greeting.Capabilities.Has(wire.SSL)
	if encrypted {
		if err := s.encryptClient(ctx); err != nil {
			return err
		}
		h.shift--
		if payload, seq, err = s.read(s.client); err != nil {
			return fmt.Errorf("read the client's response: %w", err)
		}
	}
	var r wire.HandshakeResponse
	if err := r.Decode(payload); err != nil {
		if errors.Is(err, wire.ErrOldProtocol) {
			s.refuse(seq+1, &wire.Error{Code: 1251, State: "08004", Message: "Client does not support authentication protocol requested by server; consider upgrading MySQL client"})
			return errors.Join(errRefused, err)
		}
		s.refuse(seq+1, &wire.Error{Code: 1043, State: "08S01", Message: "Bad handshake"})
		return err
	}
	wire.Mask(payload, masked|wire.SSL)
	if encrypted {
		wire.SetSSL(payload)
		if err := h.encryptBackend(ctx, payload[:wire.SSLRequestSize], seq+h.shift); err != nil {
			s.refuse(seq+1, &wire.Error{Code: 2026, State: "HY000", Message: "ttlproxy: " + err.Error()})
			return err
		}
		h.shift++
	}
	s.login = login{
		connectionID: h.greeting.ConnectionID,
		capabilities: wire.Effective(r.Capabilities&^masked, h.server),
		user:         r.User,
		schema:       r.Schema,
		mariaDB:      !h.server.Has(wire.LongPassword),
	}
	return s.send(s.backend, seq+h.shift, payload)
}

// encryptClient begins TLS on the client's leg. Not one byte behind the request has been read yet.
func (s *session) encryptClient(ctx context.Context) error {
	c := tls.Server(s.client, s.server.tls)
	s.extend(s.client)
	if err := c.HandshakeContext(ctx); err != nil {
		return fmt.Errorf("TLS with the client: %w", err)
	}
	s.client = c
	return nil
}

// encryptBackend begins TLS on the server's leg.
func (h *handshake) encryptBackend(ctx context.Context, request []byte, seq byte) error {
	s := h.s
	if err := s.send(s.backend, seq, request); err != nil {
		return err
	}
	c := tls.Client(s.backend, s.server.backendTLS)
	if err := c.HandshakeContext(ctx); err != nil {
		return fmt.Errorf("TLS with the server: %w", err)
	}
	s.backend = c
	return nil
}

// authenticate passes questions and answers on until the server says OK or no. Whose turn it is depends on the plugin, so both
// sides are read at once. The server's last word is passed on when nobody reads from the client any more: what the client sends
// then is its first command.
func (h *handshake) authenticate() error {
	s := h.s
	answers := make(chan error, 1)
	go func() {
		err := h.passAnswers()
		if err != nil {
			s.backend.SetReadDeadline(past) //nolint:errcheck // wakes passQuestions
		}
		answers <- err
	}()
	payload, seq, err := h.passQuestions()
	s.client.SetReadDeadline(past) //nolint:errcheck // wakes passAnswers
	if answerErr := <-answers; answerErr != nil {
		return fmt.Errorf("login: %w", answerErr)
	}
	if err != nil {
		return fmt.Errorf("login: %w", err)
	}
	if err := s.send(s.client, seq, payload); err != nil {
		return fmt.Errorf("login: %w", err)
	}
	if payload[0] == wire.AuthError {
		return errRefused
	}
	return nil
}

// past is a deadline which ends a read at once.
var past = time.Unix(1, 0)

// passAnswers passes the client's packets on until it is interrupted between two of them.
func (h *handshake) passAnswers() error {
	s := h.s
	for {
		payload, seq, err := wire.ReadPacket(s.client, nil, loginLimit)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := s.send(s.backend, seq+h.shift, payload); err != nil {
			return err
		}
	}
}

// passQuestions passes the server's packets on up to its last word, which it returns.
func (h *handshake) passQuestions() ([]byte, byte, error) {
	s := h.s
	for {
		payload, seq, err := s.read(s.backend)
		if err != nil {
			return nil, 0, err
		}
		if len(payload) == 0 {
			return nil, 0, io.ErrUnexpectedEOF
		}
		seq -= h.shift
		if payload[0] == wire.AuthOK || payload[0] == wire.AuthError {
			return payload, seq, nil
		}
		if err := s.send(s.client, seq, payload); err != nil {
			return nil, 0, err
		}
	}
}
