package proxy

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Server accepts clients and relays their sessions.
type Server struct {
	config     Config
	handler    handler
	log        *slog.Logger
	metrics    *Metrics
	tls        *tls.Config // for clients; nil if there is no certificate
	backendTLS *tls.Config
	buffers    *buffers
	started    time.Time
	listeners  []net.Listener
	draining   atomic.Bool

	mu       sync.Mutex
	sessions map[*session]struct{}
}

// New opens the addresses to listen on; Run serves them.
func New(ctx context.Context, c Config, log *slog.Logger, m *Metrics) (*Server, error) {
	return newServer(ctx, c, statements{}, log, m)
}

func newServer(ctx context.Context, c Config, h handler, log *slog.Logger, m *Metrics) (*Server, error) {
	if err := c.setDefaults(); err != nil {
		return nil, err
	}
	s := &Server{
		config: c, handler: h, log: log, metrics: m, buffers: newBuffers(), started: time.Now(),
		sessions:   make(map[*session]struct{}),
		backendTLS: &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // as a client with ssl-mode=PREFERRED does
	}
	if c.CertFile != "" {
		cert, err := tls.LoadX509KeyPair(c.CertFile, c.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("certificate for clients: %w", err)
		}
		s.tls = &tls.Config{Certificates: []tls.Certificate{cert}}
	}
	for _, a := range c.Listen {
		network, address := splitAddress(a)
		lc := net.ListenConfig{KeepAliveConfig: keepAlive}
		l, err := lc.Listen(ctx, network, address)
		if err != nil {
			s.closeListeners()
			return nil, fmt.Errorf("listen on %s: %w", a, err)
		}
		s.listeners = append(s.listeners, l)
	}
	return s, nil
}

// Addr is the first address that the server listens on.
func (s *Server) Addr() net.Addr { return s.listeners[0].Addr() }

// Run serves until ctx ends. Then nobody new is let in, sessions end as soon as they are between two transactions, and
// those that are not after DrainTimeout are cut off. It returns when all have ended.
func (s *Server) Run(ctx context.Context) error {
	sessionsCtx, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	var accepting, sessions sync.WaitGroup
	for _, l := range s.listeners {
		accepting.Go(func() { s.accept(sessionsCtx, l, &sessions) })
		s.log.Info("listening", slog.String("address", l.Addr().String()))
	}
	<-ctx.Done()
	s.closeListeners()
	accepting.Wait()
	s.drain(&sessions)
	cut()
	sessions.Wait()
	return nil
}

func (s *Server) closeListeners() {
	for _, l := range s.listeners {
		l.Close()
	}
}

// accept lets clients in until its listener is closed. When descriptors run out it waits, and neither spins nor gives up.
func (s *Server) accept(ctx context.Context, l net.Listener, sessions *sync.WaitGroup) {
	const firstPause, longestPause = 5 * time.Millisecond, time.Second
	pause := firstPause
	for {
		c, err := l.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil:
			s.log.Warn("cannot accept a client", slog.Any("err", err))
			select {
			case <-time.After(pause):
			case <-ctx.Done():
				return
			}
			pause = min(2*pause, longestPause)
			continue
		}
		pause = firstPause
		tune(c)
		sessions.Go(func() { s.serve(ctx, c) })
	}
}

// serve runs one session.
func (s *Server) serve(ctx context.Context, c net.Conn) {
	e := newSession(s, c)
	s.mu.Lock()
	s.sessions[e] = struct{}{}
	s.mu.Unlock()
	s.metrics.sessions.Inc()
	err := e.run(ctx)
	s.metrics.sessions.Dec()
	s.mu.Lock()
	delete(s.sessions, e)
	s.mu.Unlock()
	if err != nil && !ordinary(err) {
		e.log.Info("session ended", slog.String("client", c.RemoteAddr().String()), slog.Any("err", err))
	}
}

// ordinary reports whether a session ended as sessions do.
func ordinary(err error) bool {
	return errors.Is(err, errClientGone) || errors.Is(err, errRefused) || errors.Is(err, net.ErrClosed) || errors.Is(err, io.EOF)
}

// drain waits until the sessions have ended, and ends those that take too long.
func (s *Server) drain(sessions *sync.WaitGroup) {
	s.draining.Store(true)
	s.each((*session).closeIfIdle)
	ended := make(chan struct{})
	go func() {
		sessions.Wait()
		close(ended)
	}()
	deadline := time.NewTimer(s.config.DrainTimeout)
	defer deadline.Stop()
	select {
	case <-ended:
	case <-deadline.C:
		s.each((*session).close)
		<-ended
	}
}

func (s *Server) each(do func(*session)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for e := range s.sessions {
		do(e)
	}
}
