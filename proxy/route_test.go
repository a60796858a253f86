package proxy

import (
	"context"
	"testing"
	"time"

	"github.com/ttlproxy/ttlproxy/proxy/wire"
)

// sleepy says of every session that the server has had nothing to do for it for a while.
type sleepy struct{ handlerFunc }

func (sleepy) Asleep(context.Context, uint32) bool { return true }

// A tracker that has lost its way is given up when the server says that it has long answered
// everything, unless the client reads slowly.
func TestLostTrackerIsGivenUp(t *testing.T) {
	t.Parallel()
	s := &session{server: &Server{handler: sleepy{}}, log: testLog()}
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

// What a server says about a session that has nothing to do, and about one that has.
func TestSessionIsAsleep(t *testing.T) {
	onStage(t, func(t *theatre) {
		conn, err := t.direct.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()

		var id uint32
		if err := conn.QueryRowContext(t.Context(), "SELECT CONNECTION_ID()").Scan(&id); err != nil {
			t.Fatal(err)
		}

		h := &statements{Statements: Statements{DB: t.direct}}
		if h.Asleep(t.Context(), id) {
			t.Error("asleep at once")
		}

		for deadline := time.Now().Add(time.Minute); !h.Asleep(t.Context(), id); <-time.After(500 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal("not asleep after a minute")
			}
		}

		busy := make(chan error, 1)
		go func() {
			_, err := conn.ExecContext(t.Context(), "DO SLEEP(7)")
			busy <- err
		}()

		for len(busy) == 0 {
			var command string
			if err := t.direct.QueryRowContext(t.Context(),
				"SELECT command FROM information_schema.processlist WHERE id = ?", id).Scan(&command); err != nil {
				t.Fatal(err)
			}
			if command == "Query" && h.Asleep(t.Context(), id) {
				t.Error("asleep at work")
			}

			<-time.After(500 * time.Millisecond)
		}

		if err := <-busy; err != nil {
			t.Error(err)
		}
	})
}
