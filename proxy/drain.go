package proxy

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"
)

// errDraining is why a server that is about to end is not ready.
var errDraining = errors.New("draining: this proxy is about to stop")

// Ready reports an error when no new clients should be sent here: while draining, or when no
// backend is known to be well.
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
// A session is idle when the server has answered everything, no transaction is open and no cursor
// is being read: nothing is lost then but the connection. Others are closed as soon as they are
// idle.
func (s *Server) drain(ctx context.Context, accepting, sessions *sync.WaitGroup) {
	config := s.settings.Load()
	s.draining.Store(true)
	s.metrics.draining.Set(1)
	if config.DrainDelay > 0 {
		s.log.InfoContext(ctx, "draining: not ready any more, still letting clients in",
			slog.Duration("delay", config.DrainDelay))
		rest(ctx, config.DrainDelay)
	}

	s.closing.Store(true)
	s.closeListeners()
	accepting.Wait()
	s.each((*session).closeIfIdle)
	ended := make(chan struct{})
	go func() {
		sessions.Wait()
		close(ended)
	}()
	deadline := time.NewTimer(config.DrainTimeout)
	defer deadline.Stop()

	select {
	case <-ended:
	case <-deadline.C:
		s.log.WarnContext(ctx, "draining took too long: cutting off what is left", slog.Int("sessions", s.count()),
			slog.Duration("timeout", config.DrainTimeout))
		s.each((*session).close)
		<-ended
	}
}

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
