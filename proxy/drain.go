package proxy

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"
)

// errDraining is why a proxy that is about to end is not ready.
var errDraining = errors.New("draining: this proxy is about to stop")

// Ready reports an error if no new clients should be sent here: while draining, or if no backend is
// known to be healthy.
func (s *Server) Ready() error {
	if s.draining.Load() {
		return errDraining
	}
	return s.backends.ready()
}

// drain ends all sessions in good order:
//
//	ready says no ─► DrainDelay ─► nobody is let in ─► idle sessions are closed ─► DrainTimeout ─► the rest is cut off
//
// cut ends what sessions do apart from their connections: dials, and queries to the catalog.
//
// A session is idle when the server has answered everything, no transaction is open and no cursor
// is being read: nothing is lost then but the connection. Others are closed as soon as they are
// idle.
func (s *Server) drain(ctx context.Context, cut func(), accepting, sessions *sync.WaitGroup) {
	config := s.settings.Load()
	s.draining.Store(true)
	s.metrics.draining.Set(1)
	if config.DrainDelay > 0 {
		s.log.InfoContext(ctx, "draining: not ready any more, still letting clients in",
			slog.Duration("delay", config.DrainDelay))
		rest(ctx, config.DrainDelay)
	}

	deadline := time.NewTimer(config.DrainTimeout)
	defer deadline.Stop()

	s.closing.Store(true)
	s.closeListeners()
	accepting.Wait()
	s.each((*session).leave)
	ended := make(chan struct{})
	go func() {
		sessions.Wait()
		close(ended)
	}()

	select {
	case <-ended:
		return
	case <-deadline.C:
	}

	s.log.WarnContext(ctx, "draining took too long: cutting off what is left", slog.Int("sessions", s.count()),
		slog.Duration("timeout", config.DrainTimeout))
	cut()
	s.each(func(e *session) {
		e.endBecause(endedUntimely)
		e.close()
	})

	last := time.NewTimer(lastWait)
	defer last.Stop()
	select {
	case <-ended:
	case <-last.C:
		s.log.ErrorContext(ctx, "sessions that were cut off have not ended: leaving them behind",
			slog.Int("sessions", s.count()))
	}
}

// lastWait is how long sessions that were cut off may take to end. Whoever stops us kills us if we
// take longer than we said.
const lastWait = 500 * time.Millisecond

// count is how many sessions there are.
func (s *Server) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.sessions)
}

func (s *Server) each(do func(*session)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for e := range s.sessions {
		do(e)
	}
}
