package proxy

import (
	"cmp"
	"context"
	"errors"
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
		func(x, y *backend) int { return cmp.Compare(x.rank(), y.rank()) })
	return list
}

// order is the list in the order in which sessions should try it, without those that are out of
// service. While the one that takes the new sessions is down and may not move yet, they go round
// it.
func (b *Backends) order() []*backend {
	list := b.ranked()
	if b.current.health.State != Down {
		at := slices.Index(list, b.current)
		list = slices.Insert(slices.Delete(list, at, at+1), 0, b.current)
	}
	return slices.DeleteFunc(list, func(k *backend) bool { return k.drained })
}

// errAllDrained is why nobody gets a session.
var errAllDrained = errors.New("all backends are out of service (drain=on)")

// choose says which backend takes new sessions: the one that does, until it is worse than another,
// or another that is preferred to it has been as good for long enough. Between two moves there is a
// minute at least, whatever happens to the servers, unless the one that takes the sessions says
// itself that it is not for writing: that is no guess, and nobody is served by staying there.
func (b *Backends) choose(now time.Time) *backend {
	best, c := b.ranked()[0], b.current
	switch {
	case c == nil || !slices.Contains(b.list, c):
		return best
	case best.rank() == c.rank() &&
		(b.config.FailBack == 0 || now.Sub(best.since) < b.config.FailBack):
		return c
	case !c.declines() && now.Sub(b.moved) < b.config.damping:
		return c
	default:
		return best
	}
}

// followWriter moves new sessions to another backend if it is time. It is called with the lock
// held. That the first one of the list turns out not to be writable at start is no move.
func (b *Backends) followWriter() {
	now := time.Now()
	chosen, old := b.choose(now), b.current
	if chosen == old {
		b.callBack()
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
	old.cutOwned()
	b.abandon(old)
}

// callBack has the sessions end that went round the current backend while it was down. It is called
// with the lock held.
func (b *Backends) callBack() {
	if b.current.rank() != b.ranked()[0].rank() {
		return
	}
	for _, k := range b.list {
		if k.strayed && k != b.current {
			b.abandon(k)
		}
		k.strayed = false
	}
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

// leave ends a session as soon as it is idle. A client that has only just logged in has something to
// say, and gets a moment for it: otherwise its login would have been in vain.
func (s *session) leave() {
	s.leaving.Store(true)
	s.mu.Lock()
	wait := min(firstWord, s.settings.DrainTimeout/4) - time.Duration(s.now()-s.loggedIn)
	silent := s.silentSince == s.loggedIn && s.loggedIn != 0
	s.mu.Unlock()
	if silent && wait > 0 {
		time.AfterFunc(wait, s.closeIfIdle)
		return
	}
	s.closeIfIdle()
}

// firstWord is how long after its login a client is waited for, where there is time for that.
const firstWord = time.Second

// closeIfLeft cuts off a session that should have left its backend by an earlier move.
func (s *session) closeIfLeft(by int64) {
	if s.left() && s.place.Load().left.Load() <= by {
		s.endBecause(endedSwitched)
		s.close()
	}
}
