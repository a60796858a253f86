package proxy

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/panics"
	"github.com/ttlproxy/ttlproxy/proxy/wire"
)

// session is one client with its connection to the server.
type session struct {
	server   *Server
	settings *settings // those in force when the session began
	log      *slog.Logger
	client   net.Conn
	peer     net.Addr // the client's address, even behind a load balancer
	balanced bool     // it is behind one
	backend  net.Conn
	login    login
	patience time.Duration // how long each step of the login may take the client
	early    []byte        // what the client sent before the login was over
	bridge   bridge        // for COM_CHANGE_USER

	fromClient  *inlet // used by up only
	fromBackend *inlet // used by down only
	scanner     wire.Scanner
	missed      bool // it was said that a statement of ours passed as it is; used by up only
	memory      memory

	mu         sync.Mutex
	changed    sync.Cond // signalled when down has delivered something that an exchange may wait for
	tracker    wire.Tracker
	route      route // where down delivers
	writing    bool  // down is writing to the client
	waiting    bool  // somebody waits for changed
	gone       bool  // nothing more will be delivered
	exchanging bool  // an exchange is going on
	opaque     bool  // it was said that the tracker is lost
	apologised bool  // the client was told that its session ends

	began    time.Time
	received atomic.Int64           // bytes from the client that were passed on
	sent     atomic.Int64           // bytes to the client
	why      atomic.Pointer[string] // we end it

	slow        *slowLog // nil if it is off
	silentSince int64    // when the last command ended, or began
	loggedIn    int64    // when the login was over

	between atomic.Bool // the client is not in the middle of a packet
	inRun   atomic.Bool // nor of a file, nor of a login
	// the next packet with number 0 begins a file; set under the lock
	fileAtZero atomic.Bool
	quits      atomic.Bool           // the server was told so, and closes its connection
	leaving    atomic.Bool           // it ends as soon as it is idle
	place      atomic.Pointer[place] // where it is, once a server was reached

	counted   bool   // in the server's users, under the server's lock
	countedAs string // the same

	ends   sync.Mutex
	wires  [2]net.Conn // below TLS: the client's, and the server's once it is reached
	closed bool

	vain [2]vain // the peers of wires; used by findVanished only
}

// login is what is known about the client since it logged in.
type login struct {
	connectionID uint32
	capabilities wire.Capability
	user         string
	schema       string
	status       wire.Status
	mariaDB      bool

	last    []byte // the server's last packet, as long as the client has to wait for it
	lastSeq byte
}

func newSession(s *Server, client net.Conn) *session {
	e := &session{
		server: s, settings: s.settings.Load(), log: s.log, client: client, peer: client.RemoteAddr(),
		began: time.Now(),
		wires: [2]net.Conn{client, nil},
	}
	e.changed.L = &e.mu
	e.memory.heldByAll = &s.held
	if e.settings.SlowLog > 0 {
		e.slow = &slowLog{threshold: e.settings.SlowLog}
	}
	return e
}

// run is the life of a session. It returns when both connections are closed and both goroutines
// have ended.
func (s *session) run(ctx context.Context) error {
	defer s.close()

	if err := s.logIn(ctx); err != nil {
		return err
	}

	s.log = s.log.With(slog.Uint64("conn", uint64(s.login.connectionID)))
	s.memory.multi = s.login.capabilities.Has(wire.MultiStatements)
	s.fromClient = newInlet(s.client, &s.server.buffers.up, &s.server.buffers.long)
	s.fromClient.begin(s.early)
	s.early = nil
	s.fromBackend = newInlet(s.backend, &s.server.buffers.down, &s.server.buffers.long)
	s.mu.Lock()
	s.tracker.Capabilities = s.login.capabilities
	s.tracker.SetStatus(s.login.status)
	s.silentSince = s.now()
	s.loggedIn = s.silentSince
	s.between.Store(true)
	s.mu.Unlock()

	if s.server.closing.Load() {
		s.leave() // nobody else does before a command comes
	}
	if s.left() {
		s.leave()
	}

	downEnded := make(chan error, 1)
	go func() { downEnded <- s.guard("down", s.down) }()
	upErr := s.guard("up", func() error {
		if err := s.welcome(); err != nil {
			return err
		}
		return s.up(ctx)
	})

	if s.quits.Load() { // the server closes first: see awaitEnd
		defer time.AfterFunc(s.settings.lastWord, s.close).Stop()
	} else { // MySQL has no half-closed connections: nobody is there for the answer that is still to come
		s.close()
	}

	s.memory.forget()
	downErr := <-downEnded
	return errors.Join(upErr, downErr)
}

// logIn runs the handshake on a stack of its own: a login needs a larger one than a session does
// for the rest of its life, and thousands of silent sessions would keep it.
func (s *session) logIn(ctx context.Context) error {
	ended := make(chan error, 1)
	go func() { ended <- s.guard("login", func() error { return s.handshake(ctx) }) }()
	err := <-ended
	s.server.metrics.login(err)
	return err
}

// guard runs one direction and turns a panic into its end. The client gets an answer if it is
// waiting for one and none has begun.
func (s *session) guard(direction string, run func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			s.log.Error("panic in a session",
				slog.String("direction", direction), slog.Any("err", p), slog.String("stack", string(panics.Stack(p))))
			s.server.metrics.panics.Inc()
			s.apologise(1)
			s.close()
			err = errPanic
		}
	}()
	return run()
}

// apologise answers a client that waits while its session ends, with the packet number that comes
// next. It does not wait for anybody: after a panic a lock may be held.
func (s *session) apologise(seq byte) {
	if !s.mu.TryLock() {
		return
	}
	quiet := s.tracker.Idle() && !s.writing && !s.gone && !s.apologised
	s.apologised = true
	s.mu.Unlock()
	if !quiet {
		return
	}
	e := wire.Error{Code: ddl.CodeUnknownError, State: "HY000", Message: "ttlproxy: internal error, this session ends"}
	b, _ := wire.AppendPacket(nil, seq, e.Append(nil))
	s.write(s.client, b) //nolint:errcheck // the session ends anyway
}

var (
	errClientGone = errors.New("the client has closed its connection")
	errPanic      = errors.New("panic")
)

// close closes both connections, which ends both directions.
func (s *session) close() {
	s.ends.Lock()
	defer s.ends.Unlock()
	s.closed = true
	for _, c := range s.wires {
		if c != nil {
			c.Close()
		}
	}
}

// setBackend adopts the connection to the server, unless the session was closed meanwhile.
func (s *session) setBackend(c net.Conn) {
	s.ends.Lock()
	defer s.ends.Unlock()
	s.backend, s.wires[1] = c, c
	if s.closed {
		c.Close()
	}
}

// write writes all of b to the client or the backend.
func (s *session) write(c net.Conn, b []byte) error {
	if c == s.client {
		s.sent.Add(int64(len(b)))
	} else {
		s.received.Add(int64(len(b)))
	}
	_, err := c.Write(b)
	return err
}

// now is the clock by which commands are timed: only differences mean anything.
func (s *session) now() int64 { return int64(time.Since(s.server.started)) }
