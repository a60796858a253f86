package proxy

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/ttlproxy/ttlproxy/proxy/wire"
)

// route is where down delivers during an exchange. Its methods are called with the session's lock
// held.
type route interface {
	// receive takes what the server sent, shows it to the tracker, and returns the client's part.
	receive(s *session, b []byte) []byte
	// ended is told about the command that has ended.
	ended(r wire.Report)
}

// toClient lets the answer through, as part of a longer one if there is a splice.
type toClient struct {
	report wire.Report
	splice *wire.Splice
	out    []byte
}

func (t *toClient) receive(s *session, b []byte) []byte {
	if t.splice == nil {
		s.track(b)
		return b
	}
	t.out = t.splice.Append(t.out[:0], b, s.report)
	if s.tracker.Opaque() {
		s.lostTrack()
	}
	return t.out
}

func (t *toClient) ended(r wire.Report) { t.report = r }

// answerLimit is the longest answer that is kept for examination.
const answerLimit = 16 << 20

// toBuffer keeps the answer. Only MariaDB's progress reports pass, if the command is the client's
// own.
type toBuffer struct {
	client   *Exchange // nil for a query of ours
	report   wire.Report
	b        []byte
	overflow bool
}

func (t *toBuffer) receive(s *session, b []byte) []byte {
	s.track(b)
	if t.overflow = t.overflow || len(t.b)+len(b) > answerLimit; !t.overflow {
		t.b = append(t.b, b...)
	}
	if !s.login.capabilities.Has(wire.Progress) {
		return nil
	}
	return t.progress()
}

// progress takes reports from the front of the answer, the only place where they occur, and returns
// those for the client.
func (t *toBuffer) progress() (out []byte) {
	for {
		payload, rest, err := wire.NextPacket(t.b)
		if err != nil || !wire.IsProgress(payload) {
			return out
		}
		t.b = rest
		if t.client != nil {
			out, t.client.seq = wire.AppendPacket(out, t.client.seq, payload)
		}
	}
}

func (t *toBuffer) ended(r wire.Report) { t.report = r }

var (
	errOpaque      = errors.New("the session is not understood any more")
	errFileFirst   = errors.New("the server waits for a file")
	errBackendGone = errors.New("the server has closed the connection")
)

func (s *session) setRoute(r route) {
	s.mu.Lock()
	s.route = r
	s.mu.Unlock()
}

func (s *session) status() wire.Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tracker.Status()
}

// settle waits until the server has answered everything and all of it has been sent to the client.
// That takes as long as it takes: the client gets its answers in order in any case. Only a tracker
// that has lost its way without noticing must not make it wait for ever.
func (s *session) settle(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	timer := time.AfterFunc(doubtAfter, func() { s.doubt(ctx) })
	defer timer.Stop()
	wanted, err := s.await()
	if err != nil || !wanted {
		return err
	}
	// the client pipelined a command behind one that wants a file: only the client knows what it
	// means by that
	return errFileFirst
}

// doubtAfter is how long a statement waits for those before it until the server is asked whether it
// is working on them, and how long until it is asked again.
const doubtAfter = 10 * time.Second

// doubt asks the server, until ctx ends, whether it answered everything long ago.
func (s *session) doubt(ctx context.Context) {
	for !s.server.handler.Asleep(ctx, s.login.connectionID) || !s.loseTrack(ctx) {
		if !rest(ctx, doubtAfter) {
			return
		}
	}
}

// loseTrack makes the session opaque, so that what is waiting continues without us. It returns
// false while a client that reads slowly explains everything.
func (s *session) loseTrack(ctx context.Context) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.writing {
		return false
	}
	if ctx.Err() == nil {
		s.tracker.GiveUp(wire.LostSilently)
		s.lostTrack()
		s.changed.Broadcast()
	}
	return true
}

// lostTrack says, once in the life of a session, that it is not understood any more: statements
// about TTL pass as they are, and nobody knows when it is idle. It is called with the lock held.
func (s *session) lostTrack() {
	if s.opaque {
		return
	}
	s.opaque = true
	why := s.tracker.Loss()
	s.server.metrics.lost(why)
	say := s.log.Warn
	if why == wire.LostInStream {
		say = s.log.Info
	}
	say("this session passes unseen from now on",
		slog.String("reason", why.String()), slog.String("at", s.tracker.Place()))
}

// await waits until the server has answered everything and the answer is delivered,
// or until it wants a file from the client.
func (s *session) await() (fileWanted bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	s.waiting = true
	defer func() { s.waiting = false }()

	for {
		switch {
		case s.writing:
		case s.tracker.Idle():
			return false, nil
		case s.gone:
			return false, errBackendGone
		case s.tracker.Opaque():
			return false, errOpaque
		case s.tracker.FileWanted():
			return true, nil
		}
		s.changed.Wait()
	}
}
