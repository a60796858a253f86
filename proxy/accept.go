package proxy

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"sync"
	"time"

	"github.com/ttlproxy/ttlproxy/proxy/wire"
)

// accept lets clients in until its listener is closed. When descriptors run out it neither spins
// nor gives up: it tells new clients that there are too many, with a descriptor that was kept for
// this, and waits.
func (s *Server) accept(ctx context.Context, l net.Listener, sessions *sync.WaitGroup) {
	const firstPause, longestPause = 5 * time.Millisecond, time.Second
	pause := firstPause
	spare := openSpare()
	defer func() { spare.Close() }()

	for {
		c, err := l.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil:
			s.log.WarnContext(ctx, "cannot accept a client", slog.Any("err", err))
			if outOfDescriptors(err) && spare != nil {
				spare.Close()
				s.turnAway(l)
				spare = openSpare()
			}

			if !rest(ctx, pause) {
				return
			}

			pause = min(2*pause, longestPause)
			continue
		}

		pause = firstPause
		sessions.Go(func() { s.serve(ctx, c) })
	}
}

// openSpare puts a descriptor in reserve. Without it new clients wait.
func openSpare() *os.File {
	f, err := os.Open(os.DevNull)
	if err != nil {
		return nil
	}
	return f
}

// turnAway tells the next client that there are too many.
func (s *Server) turnAway(l net.Listener) {
	if d, ok := l.(interface{ SetDeadline(time.Time) error }); ok {
		d.SetDeadline(time.Now().Add(10 * time.Millisecond)) //nolint:errcheck // somebody is there
		defer d.SetDeadline(time.Time{})                     //nolint:errcheck // the next accept fails and says so
	}
	c, err := l.Accept()
	if err != nil {
		return
	}
	const shortly = 50 * time.Millisecond // others wait for this descriptor
	s.refuseAt(c, tooMany(), shortly)
}

// refuseAt answers a client in place of a greeting, and closes. The PROXY header of a load balancer
// is read before: what is closed with something unread in it is reset, and the answer may be lost.
func (s *Server) refuseAt(c net.Conn, e *wire.Error, patience time.Duration) {
	s.metrics.refuse(e)
	c.SetDeadline(time.Now().Add(patience)) //nolint:errcheck // the next steps fail then
	if s.settings.Load().networks.contain(c.RemoteAddr()) {
		readHeader(c)                           //nolint:errcheck // the client is turned away in any case
		c.SetDeadline(time.Now().Add(patience)) //nolint:errcheck // the same
	}

	b, _ := wire.AppendPacket(nil, 0, e.AppendBare(nil))
	c.Write(b) //nolint:errcheck // the same
	c.Close()
}

// rest waits, and reports whether ctx is still alive.
func rest(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// serve runs one session.
func (s *Server) serve(ctx context.Context, c net.Conn) {
	e := newSession(s, c)
	if !s.admit(e) {
		s.refuseAt(c, tooMany(), time.Second)
		return
	}
	if ctx.Err() != nil {
		e.close() // all others are cut off already
	}
	s.metrics.sessions.Inc()
	err := e.run(ctx)
	s.metrics.sessions.Dec()
	s.dismiss(e)
	switch {
	case e.settings.ConnectionLog:
		e.logConnection(err)
	case err != nil && !ordinary(err):
		e.log.InfoContext(ctx, "session ended", slog.String("client", e.peer.String()), slog.Any("err", err))
	}
}
