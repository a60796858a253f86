package proxy

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/proxy/wire"
)

// loginLimit is the longest packet that is relayed before a client is logged in.
const loginLimit = 256 << 10

// errRefused means that the session ended properly before it began: the client was told why.
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
// A request for TLS takes a sequence number. If only one leg has it, the other's numbers are off by
// one until the OK.
func (s *session) handshake(ctx context.Context) error {
	if err := s.learnPeer(); err != nil {
		return err
	}

	leave, err := s.queue(ctx)
	if err != nil {
		return err
	}
	defer leave()

	l, err := s.reachServer(ctx)
	if err != nil {
		return err
	}

	h := handshake{s: s, link: l}
	h.bridge = bridge{client: s.clientLeg(), server: legOf(l.conn), ownKey: s.settings.rsaKey.get}
	if err := h.run(ctx); err != nil {
		h.end(ctx, err)
		return err
	}

	s.bridge = h.bridge
	return errors.Join(s.client.SetDeadline(time.Time{}), s.backend.SetDeadline(time.Time{}))
}

// queue waits until there are not too many logins, for as long as a client waits for a server.
func (s *session) queue(ctx context.Context) (leave func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, s.settings.LoginTimeout)
	defer cancel()
	s.server.metrics.waiting.Inc()
	defer s.server.metrics.waiting.Dec()
	leave, err = s.server.logins.enter(ctx, s.settings.MaxLogins)
	if errors.Is(err, context.DeadlineExceeded) {
		s.refuse(0, tooMany())
		return nil, errors.Join(errRefused, errors.New("too many logins at a time (max-logins)"))
	}
	return leave, err
}

// reachServer connects to a server, unless the client has left already.
func (s *session) reachServer(ctx context.Context) (link, error) {
	if hasLeft(s.client) {
		return link{}, errClientGone
	}

	moves := s.server.backends.moves.Load()
	l, err := s.server.backends.toGreet(ctx, s.peer, s.client.LocalAddr())
	if err != nil {
		s.refuse(0, &wire.Error{Code: ddl.CodeCannotConnect, State: "HY000", Message: "ttlproxy: " + err.Error()})
		return link{}, err
	}

	s.setBackend(l.conn)
	s.place.Store(&place{l.backend, moves})
	s.patience = min(s.settings.LoginTimeout, l.patience)
	return l, nil
}

// run takes the login through its steps.
func (h *handshake) run(ctx context.Context) error {
	if err := h.greet(); err != nil {
		return err
	}
	response, seq, err := h.respond(ctx)
	if err != nil {
		return err
	}

	if err := h.s.send(h.s.backend, seq, response); err != nil {
		return err
	}
	h.progress.answered()
	return h.authenticate()
}

// handshake is the state of a login.
type handshake struct {
	s        *session
	link     link
	greeting wire.Greeting
	server   wire.Capability // what the server has, before masking

	mu       sync.Mutex // held for each step of the conversation
	bridge   bridge
	shift    byte        // what is added to the client's sequence numbers
	progress progress    // at the server
	last     []byte      // the server's last packet
	over     atomic.Bool // the server has said it
	broken   atomic.Bool // the client's side
}

// learnPeer finds out who the client is, if a load balancer in between has to say so.
func (s *session) learnPeer() error {
	s.peer = s.client.RemoteAddr()
	s.patience = s.settings.LoginTimeout
	if s.balanced = s.settings.networks.contain(s.peer); !s.balanced {
		return nil
	}
	s.extend(s.client)
	switch source, err := readHeader(s.client); {
	case err != nil:
		return fmt.Errorf("from %s: %w", s.peer, err)
	case source != nil:
		s.peer = source
	}
	return nil
}

// clientLeg is what the client's connection runs over before TLS. What comes over a load balancer's
// socket has come to it from anywhere.
func (s *session) clientLeg() leg {
	if s.balanced {
		return leg{}
	}
	return legOf(s.client)
}

// legOf is what a connection runs over before TLS.
func legOf(c net.Conn) leg {
	_, ok := c.(*net.UnixConn)
	return leg{unix: ok}
}

// refuse tells the client why it cannot log in. Before the greeting nothing has been negotiated, so
// there is no SQLSTATE.
func (s *session) refuse(seq byte, e *wire.Error) {
	s.server.metrics.refuse(e)
	payload := e.Append(nil)
	if seq == 0 {
		payload = e.AppendBare(nil)
	}
	b, _ := wire.AppendPacket(nil, seq, payload)
	s.extend(s.client)
	s.write(s.client, b) //nolint:errcheck // the session ends anyway
}

// extend gives the next step of the login its time: a client less than the server would give it,
// for the server counts a client that is late as an error of our host.
func (s *session) extend(c net.Conn) {
	limit := s.patience
	if c == s.backend {
		limit = s.settings.LoginTimeout
	}
	c.SetDeadline(time.Now().Add(limit)) //nolint:errcheck // the step itself will fail
}

// read reads a packet of the client's login.
func (s *session) read() ([]byte, byte, error) {
	s.extend(s.client)
	return wire.ReadPacket(s.client, nil, loginLimit)
}

// send writes a packet of the login.
func (s *session) send(c net.Conn, seq byte, payload []byte) error {
	s.extend(c)
	return sendPacket(c, seq, payload)
}

// greet passes the server's greeting on, without what we cannot carry.
func (h *handshake) greet() error {
	s, payload := h.s, h.link.greeting
	if payload[0] == wire.AuthError {
		h.last = payload
		return errors.Join(errRefused, s.send(s.client, h.link.seq, payload))
	}
	if err := h.greeting.Decode(payload); err != nil {
		h.progress.unclear = true
		s.refuse(0, &wire.Error{
			Code:    ddl.CodeCannotConnect,
			Message: "ttlproxy: the server's greeting: " + err.Error(),
		})
		return fmt.Errorf("the server's greeting: %w", err)
	}

	h.progress.greeting = &h.greeting
	h.progress.asks(h.link.seq)
	h.server = h.greeting.Capabilities
	h.bridge.begin(h.greeting.AuthPlugin, h.greeting.Salt)
	able := h.server.Has(wire.SSL)
	if h.link.mode == TLSAlways && !able && !h.bridge.server.unix {
		err := fmt.Errorf("backend-tls is always, and %s has no TLS", h.link.address)
		s.refuse(0, &wire.Error{Code: ddl.CodeTLS, Message: "ttlproxy: " + err.Error()})
		return err
	}

	// The client's leg can have TLS even if the backend's has none, unless both must be alike.
	tls := s.settings.tls != nil && (able || h.link.mode == TLSNever || h.bridge.server.unix)
	h.greeting.Patch(payload, offered(h.server, tls))
	return s.send(s.client, h.link.seq, payload)
}

// respond reads the client's response and returns what the server is to get. TLS begins after its
// first part, if the client asks for it.
func (h *handshake) respond(ctx context.Context) (response []byte, number byte, err error) {
	s := h.s
	payload, seq, err := s.read()
	if err != nil {
		return nil, 0, fmt.Errorf("read the client's response: %w", h.explain(err))
	}

	if wire.IsSSLRequest(payload) && h.greeting.Capabilities.Has(wire.SSL) {
		if err := h.encryptClient(ctx); err != nil {
			return nil, 0, err
		}
		if payload, seq, err = s.read(); err != nil {
			return nil, 0, fmt.Errorf("read the client's response: %w", err)
		}
	}

	var r wire.HandshakeResponse
	if err := r.Decode(payload); err != nil {
		if errors.Is(err, wire.ErrOldProtocol) {
			s.refuse(seq+1, &wire.Error{
				Code: ddl.CodeOldClient, State: "08004",
				Message: "Client does not support authentication protocol requested by server; consider upgrading " +
					"MySQL client",
			})
			return nil, 0, errors.Join(errRefused, err)
		}
		s.refuse(seq+1, badHandshake())
		return nil, 0, err
	}

	if s.settings.TLS.required() && !h.bridge.client.private() {
		s.refuse(seq+1, secureRequired())
		return nil, 0, errors.Join(errRefused, errors.New("the client does not use TLS"))
	}

	if s.settings.ClientAttributes && h.server.Has(wire.ConnectAttrs) {
		payload = wire.WithAttributes(payload, attributesOf(s.peer)...)
		if err := r.Decode(payload); err != nil {
			return nil, 0, err
		}
	}

	wire.Mask(payload, masked|wire.SSL)
	if h.wantsTLS() {
		wire.SetSSL(payload)
		if err := h.encryptBackend(ctx, payload[:wire.SSLRequestSize], seq+h.shift); err != nil {
			s.refuse(seq+1, &wire.Error{Code: ddl.CodeTLS, State: "08S01", Message: "ttlproxy: " + err.Error()})
			return nil, 0, err
		}
	}

	s.login = login{
		connectionID: h.greeting.ConnectionID,
		capabilities: wire.Effective(r.Capabilities&^masked, h.server),
		user:         r.User,
		schema:       r.Schema,
		mariaDB:      !h.server.Has(wire.LongPassword),
	}

	h.bridge.response(r.RawPlugin, r.Auth)
	return payload, seq + h.shift, nil
}

// attributesOf say from where a client comes, by the names that MySQL Router gives them.
func attributesOf(peer net.Addr) []wire.Attribute {
	host, port, err := net.SplitHostPort(peer.String())
	if err != nil {
		host, port = "localhost", "" // on a socket
	}
	return []wire.Attribute{{Name: "_client_ip", Value: host}, {Name: "_client_port", Value: port}}
}

// badHandshake is ER_HANDSHAKE_ERROR.
func badHandshake() *wire.Error {
	return &wire.Error{Code: 1043, State: "08S01", Message: "Bad handshake"}
}

// wantsTLS reports whether the backend's leg should have TLS.
func (h *handshake) wantsTLS() bool {
	switch h.link.mode {
	case TLSAlways:
		return h.server.Has(wire.SSL) // greet has refused what has none; a socket needs none
	case TLSNever:
		return false
	default:
		return h.bridge.client.tls && h.server.Has(wire.SSL)
	}
}

// explain says what is wrong with a client that begins with a PROXY header but comes from where
// none is believed.
func (h *handshake) explain(err error) error {
	if errors.Is(err, wire.ErrTooLong) {
		return fmt.Errorf("%w (a PROXY header? %s is not listed in proxy-networks)", err, h.s.peer)
	}
	return err
}

// encryptClient begins TLS on the client's leg. Not a byte after the request has been read yet.
func (h *handshake) encryptClient(ctx context.Context) error {
	s := h.s
	c := tls.Server(beneath(s.client), s.settings.tls)
	s.extend(s.client)
	err := c.HandshakeContext(ctx)
	s.server.metrics.handshake("client", c, err)
	if err != nil {
		return fmt.Errorf("TLS with the client: %w", err)
	}
	s.client = c
	h.bridge.client.tls = true
	h.shift--
	return nil
}

// encryptBackend begins TLS on the server's leg.
func (h *handshake) encryptBackend(ctx context.Context, request []byte, seq byte) error {
	s := h.s
	h.progress.unclear = true
	if err := s.send(s.backend, seq, request); err != nil {
		return err
	}
	c := tls.Client(beneath(s.backend), h.link.tls)
	err := c.HandshakeContext(ctx)
	s.server.metrics.handshake("server", c, err)
	if err != nil {
		return fmt.Errorf("TLS with %s: %w", h.link.address, err)
	}
	s.backend = c
	h.progress.unclear = false
	h.progress.asks(seq)
	h.bridge.server.tls = true
	h.shift++
	return nil
}
