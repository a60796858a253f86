package proxy

import (
	"time"

	"github.com/ttlproxy/ttlproxy/proxy/wire"
)

// idle reports whether nothing is going on: the server has answered everything, and the client has
// received it and has sent nothing since. It is called with the lock held.
func (s *session) idle() bool {
	return s.between.Load() && !s.inRun.Load() && s.tracker.Idle() && !s.writing && !s.exchanging
}

// closeIfIdle closes a session in which nobody would lose anything but the connection.
func (s *session) closeIfIdle() {
	s.mu.Lock()
	defer s.mu.Unlock()
	status := s.tracker.Status()
	reading := status.Has(wire.CursorExists) && !status.Has(wire.LastRowSent)
	if !s.quits.Load() && s.idle() && !status.InTransaction() && !reading {
		s.endBecause(s.leavesBecause())
		s.quit()
	}
}

// quit ends an idle session properly: a server that does not receive COM_QUIT counts an aborted
// client and logs it.
func (s *session) quit() {
	const patience = 100 * time.Millisecond                 // nothing is on its way, so there is room for five bytes
	s.backend.SetWriteDeadline(time.Now().Add(patience))    //nolint:errcheck // it is closed in any case
	s.write(s.backend, []byte{1, 0, 0, 0, byte(wire.Quit)}) //nolint:errcheck // the same
	s.quits.Store(true)
	s.wires[0].Close() // the server closes its connection itself
}

// closeIfSilent closes a session that has been idle for too long. A session in which a replica
// reads is never idle.
func (s *session) closeIfSilent(c *settings) {
	s.mu.Lock()
	defer s.mu.Unlock()
	limit := c.IdleTimeout
	if s.tracker.Status().InTransaction() {
		limit = c.IdleTransactionTimeout
	}
	if limit > 0 && !s.quits.Load() && s.idle() && time.Duration(s.now()-s.silentSince) >= limit {
		s.server.metrics.idle.Inc()
		s.endBecause(endedIdle)
		s.quit()
	}
}
