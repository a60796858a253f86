package proxy

import (
	"context"
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
	reloading sync.Mutex // held from reading a configuration, of either leg, until it is in force
	settings  atomic.Pointer[settings]
	backends  *Backends
	handler   Handler
	log       *slog.Logger
	metrics   *Metrics
	buffers   *buffers
	started   time.Time
	listeners []net.Listener
	files     []*legFiles // of watch
	draining  atomic.Bool // no new clients should come
	slowLines slowLines
	logins    turnstile
	closing   atomic.Bool  // sessions end as soon as they are idle
	held      atomic.Int64 // bytes of statements that sessions have prepared

	mu       sync.Mutex
	sessions map[*session]struct{}
	received int64          // bytes of the clients of sessions that have ended
	sent     int64          // bytes to them
	users    map[string]int // sessions by the account they are logged in to
}

// New opens the addresses to listen on; Run serves them.
func New(ctx context.Context, c Config, b *Backends, log *slog.Logger, m *Metrics) (*Server, error) {
	loaded, err := c.load(nil)
	if err != nil {
		return nil, err
	}

	s := &Server{
		backends: b, handler: loaded.Handler, log: log, metrics: m, buffers: newBuffers(), started: time.Now(),
		slowLines: newSlowLines(),
		sessions:  make(map[*session]struct{}), users: make(map[string]int),
	}

	s.settings.Store(loaded)
	s.files = s.legs()
	for _, a := range loaded.listen {
		opened, err := c.open(ctx, a)
		if err != nil {
			s.closeListeners()
			return nil, fmt.Errorf("listen on %s: %w", a, err)
		}
		s.listeners = append(s.listeners, opened...)
	}

	return s, nil
}

// Addr is the first address that the server listens on.
func (s *Server) Addr() net.Addr { return s.listeners[0].Addr() }

// Run serves until ctx ends. Then no new clients are accepted, sessions end as soon as they are
// between two transactions, and those that are not after DrainTimeout are cut off. It returns when
// all have ended, at the latest half a second after that.
func (s *Server) Run(ctx context.Context) error {
	sessionsCtx, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()

	var accepting, sessions, watching sync.WaitGroup
	for _, l := range s.listeners {
		accepting.Go(func() { s.accept(sessionsCtx, l, &sessions) })
		s.log.InfoContext(ctx, "listening", slog.String("address", l.Addr().String()))
	}

	watching.Go(func() { s.watch(sessionsCtx) })
	watching.Go(func() { s.findVanished(sessionsCtx) })
	watching.Go(func() { s.endLeft(sessionsCtx) })
	<-ctx.Done()
	s.drain(sessionsCtx, cut, &accepting, &sessions)
	cut()
	watching.Wait()

	return nil
}

func (s *Server) closeListeners() {
	for _, l := range s.listeners {
		l.Close()
	}
}

// ordinary reports whether a session ended in an ordinary way.
func ordinary(err error) bool {
	return errors.Is(err, errClientGone) || errors.Is(err, errRefused) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, io.EOF)
}
