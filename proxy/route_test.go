package proxy

import (
	"context"
	"testing"

	"github.com/ttlproxy/ttlproxy/proxy/wire"
)

// sleepy says of every session that the server has had nothing to do for it for a while.
type sleepy struct{ handlerFunc }

func (sleepy) Asleep(context.Context, uint32) bool { return true }

// A tracker that has lost its way is given up when the server says that it has long answered
// everything, unless the client reads slowly.
func TestLostTrackerIsGivenUp(t *testing.T) {
	t.Parallel()
	s := &session{server: &Server{handler: sleepy{}, metrics: NewMetrics(nil)}, log: testLog()}
	s.changed.L = &s.mu
	s.tracker.Begin(wire.Query, 0)

	s.writing = true
	if s.loseTrack(t.Context()) || s.tracker.Opaque() {
		t.Error("given up although the client is still being sent its answer")
	}

	s.writing = false
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if s.doubt(over); s.tracker.Opaque() {
		t.Error("given up although nobody waits any more")
	}
	if s.doubt(t.Context()); !s.tracker.Opaque() {
		t.Error("not given up")
	}
}
