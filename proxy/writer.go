package proxy

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"
)

// ranked is the list with writable backends first, then healthy ones, then the rest. What is not
// known yet counts as good.
func (b *Backends) ranked() []*backend {
	list := slices.Clone(b.list)
	slices.SortStableFunc(list,
		func(x, y *backend) int { return cmp.Compare(x.health.State.rank(), y.health.State.rank()) })
	return list
}

// order is the list in the order in which sessions should try it.
func (b *Backends) order() []*backend {
	list := b.ranked()
	at := slices.Index(list, b.current)
	return slices.Insert(slices.Delete(list, at, at+1), 0, b.current)
}

// choose says which backend takes new sessions: the one that does, until it is worse than another,
// or another that is preferred to it has been as good for long enough. Between two moves there is a
// minute at least, whatever the servers do.
func (b *Backends) choose(now time.Time) *backend {
	best, c := b.ranked()[0], b.current
	switch {
	case c == nil || !slices.Contains(b.list, c):
		return best
	case best.health.State.rank() == c.health.State.rank() &&
		(b.config.FailBack == 0 || now.Sub(best.since) < b.config.FailBack):
		return c
	case now.Sub(b.moved) < b.config.damping:
		return c
	default:
		return best
	}
}

// followWriter moves new sessions to another backend if it is time. It is called with the lock held. That
// the first one of the list turns out not to be writable at start is no move.
func (b *Backends) followWriter() {
	now := time.Now()
	chosen, old := b.choose(now), b.current
	if chosen == old {
		return
	}
	b.current = chosen
	if old == nil {
		return
	}

	if old.proven {
		b.moved = now
	}
	b.log.Warn("new sessions go to another backend", slog.String("from", old.String()),
		slog.String("to", chosen.String()), slog.String("reason", old.health.Reason))
	for c := range old.owned {
		c.Close() // its pool makes another one, to the new writer
	}
	b.abandon(old)
}

// abandon has the sessions of a backend end. It is called with the lock held.
func (b *Backends) abandon(k *backend) {
	if b.config.Switch == SwitchKeep {
		return
	}
	k.left.Store(b.moves.Add(1))
	select {
	case b.leave <- struct{}{}:
	default: // somebody is about to look at all sessions
	}
}

// endLeft ends the sessions of backends that new ones have left: idle ones at once, others as soon
// as they are idle, and what is left of them after DrainTimeout. It returns when ctx ends.
func (s *Server) endLeft(ctx context.Context) {
	var ending sync.WaitGroup
	defer ending.Wait()

	for {
		select {
		case <-ctx.Done():
			return
		case <-s.backends.leave:
		}

		by := s.backends.moves.Load()
		s.each(func(e *session) {
			if e.left() {
				e.leave()
			}
		})
		ending.Go(func() {
			if rest(ctx, s.settings.Load().DrainTimeout) {
				s.each(func(e *session) { e.closeIfLeft(by) })
			}
		})
	}
}

// place is where a session is, and how many moves there had been when it was sent there.
type place struct {
	*backend
	moves int64
}

// left reports whether new sessions have gone elsewhere since the session was sent to its backend.
func (s *session) left() bool {
	p := s.place.Load()
	return p != nil && p.left.Load() > p.moves
}

// leave ends a session as soon as it is idle.
func (s *session) leave() {
	s.leaving.Store(true)
	s.closeIfIdle()
}

// closeIfLeft cuts off a session that should have left its backend by an earlier move.
func (s *session) closeIfLeft(by int64) {
	if s.left() && s.place.Load().left.Load() <= by {
		s.close()
	}
}
