package proxy

import (
	"context"
	"log/slog"
	"maps"
	"slices"
)

// findVanished closes the sessions of peers that have vanished while something was on its way to
// them. Keep-alive does not ask those, and the kernel alone gives them up after a quarter of an
// hour. TCP_USER_TIMEOUT would shorten that, and cut living ones too: it counts what a peer that
// reads slowly answers for nothing. Here whoever acknowledges anything is alive.
func (s *Server) findVanished(ctx context.Context) {
	for rest(ctx, s.settings.Load().silence/10) {
		s.mu.Lock()
		sessions := slices.Collect(maps.Keys(s.sessions))
		s.mu.Unlock()

		for _, e := range sessions {
			e.closeIfVanished()
		}
	}
}

// closeIfVanished closes a session one of whose peers has vanished, or whose client has ended the
// connection while nobody was reading from it.
func (s *session) closeIfVanished() {
	s.ends.Lock()
	wires := s.wires
	s.ends.Unlock()

	now := s.now()
	for i, c := range wires {
		if c == nil {
			continue
		}

		p, known := pulseOf(c)
		if !known {
			continue
		}

		s.vain[i] = s.vain[i].after(p, now)
		if s.vain[i].vanished(p, now, s.settings.silence) {
			s.server.log.Info("a peer has vanished", slog.String("peer", c.RemoteAddr().String()))
			s.endBecause(endedVanished)
			s.close()
		}
		if i == 0 && p.reset {
			s.endBecause(endedByClient)
			s.close()
		}
	}
}
