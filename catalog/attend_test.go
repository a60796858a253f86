package catalog

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog/setting"
)

func TestProxyWithoutAnEngineIsListed(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		quick, err := OpenExisting(t.Context(), b.db, Config{Schema: b.Schema(), BeatInterval: 10 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}

		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()

		var clients sufferers
		var wg sync.WaitGroup
		wg.Go(func() {
			if err := quick.Attend(ctx, Node{Name: "edge", Address: "10.0.0.1:4000"}, clients.suffer,
				slog.New(slog.DiscardHandler)); err != nil {
				t.Error(err)
			}
		})

		first := b.awaitNode(t, 0)
		if !first.Live || first.Engine || first.Name != "edge" || first.Address != "10.0.0.1:4000" {
			t.Errorf("got %+v", first)
		}

		b.exec(t, "DELETE FROM {node}") // as if it had been silent for a day
		if again := b.awaitNode(t, first.ID); again.ID == first.ID || !again.Live {
			t.Errorf("after it was cleared away: got %+v", again)
		}

		b.tells(t, &clients)
		cancel()
		wg.Wait()
		nodes, err := b.Nodes(t.Context())
		if err != nil || len(nodes) != 1 || nodes[0].Live || nodes[0].LeftAt.IsZero() {
			t.Errorf("when it has stopped: got %+v, %v, want one that has left", nodes, err)
		}
	})
}

// sufferers are clients that have suffered something each time they are asked.
type sufferers struct{ asked atomic.Int64 }

func (s *sufferers) suffer() Suffered {
	n := uint64(s.asked.Add(1))
	return Suffered{Latencies: map[int64]uint64{1000: 10 * n}, LockErrors: n}
}

// tells: what clients of a node without an engine suffer is told at once while rows are deleted, rarely otherwise, and
// not at all while nobody asks for it.
func (b *bench) tells(t *testing.T, clients *sufferers) {
	t.Helper()
	told := func() (n uint64) {
		all, err := b.Suffered(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range all {
			if n = max(n, s.LockErrors); s.Latencies[1000] != 10*s.LockErrors {
				t.Errorf("told is %+v", s)
			}
		}
		return n
	}
	until := func(what string, happens func() bool) {
		t.Helper()
		for end := time.Now().Add(time.Minute); !happens(); _ = wait(t.Context(), 10*time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%s did not happen", what)
			}
		}
	}

	until("telling at rest", func() bool { return told() > 0 })
	b.job(t, b.declare(t, b.table(t, "t")), 1)
	at, before := clients.asked.Load(), told()
	until("telling twice a second", func() bool { return clients.asked.Load() >= at+6 })
	if n := told(); n < before+3 {
		t.Errorf("of 6 looks beside a job %d were told", n-before)
	}

	if err := b.Set(t.Context(), "root", map[string]string{
		setting.ThrottleLatency: "0", setting.ThrottleLockErrors: "0",
	}); err != nil {
		t.Fatal(err)
	}
	until("hearing of the settings", func() bool {
		at, before := clients.asked.Load(), told()
		until("looks", func() bool { return clients.asked.Load() >= at+3 })
		return told() == before
	})
}

// awaitNode waits for a node with another id that has beaten.
func (b *bench) awaitNode(t *testing.T, not uint64) Node {
	t.Helper()
	for t.Context().Err() == nil {
		nodes, err := b.Nodes(t.Context())
		if err != nil {
			t.Fatal(err)
		}

		for _, n := range nodes {
			if n.ID != not && n.HeartbeatAt.After(n.StartedAt) {
				return n
			}
		}

		_ = wait(t.Context(), 5*time.Millisecond)
	}

	t.Fatal("no node came")
	return Node{}
}
