package proxy

import (
	"errors"
	"time"

	"github.com/ttlproxy/ttlproxy/proxy/wire"
)

// route is where down delivers during an exchange. Its methods are called with the session's lock held.
type route interface {
	// receive takes what the server sent, shows it to the tracker, and returns what the client gets.
	receive(s *session, b []byte) []byte
	// ended is told about the command that has ended.
	ended(r wire.Report)
}

// toClient lets the answer through, as a part of a longer one if there is a splice.
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
	return t.out
}

func (t *toClient) ended(r wire.Report) { t.report = r }

// answerLimit is the longest answer that is kept to be looked at.
const answerLimit = 16 << 20

// toBuffer keeps the answer.
type toBuffer struct {
	report   wire.Report
	b        []byte
	overflow bool
}

func (t *toBuffer) receive(s *session, b []byte) []byte {
	s.track(b)
	if t.overflow = t.overflow || len(t.b)+len(b) > answerLimit; !t.overflow {
		t.b = append(t.b, b...)
	}
	return nil
}

func (t *toBuffer) ended(r wire.Report) { t.report = r }

var (
	errOpaque      = errors.New("the session is not understood any more")
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

// settleTimeout is how long a statement is held back behind others. Clients that pipeline are rare; a tracker that has lost its way
// without noticing must be rarer still, but must not hold a statement for ever.
const settleTimeout = 10 * time.Second

// settle waits until the server has answered everything and the client has been sent it.
func (s *session) settle() error {
	timer := time.AfterFunc(settleTimeout, s.loseTrack)
	defer timer.Stop()
	wanted, err := s.await()
	if err != nil || !wanted {
		return err
	}
	return errOpaque // the client pipelined a command behind one that wants a file: only it can say what it means by that
}

// loseTrack makes the session opaque, so that what waits goes on without us.
func (s *session) loseTrack() {
	s.log.Warn("a statement has waited too long for those before it: this session passes everything from now on")
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tracker.GiveUp()
	s.changed.Broadcast()
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
