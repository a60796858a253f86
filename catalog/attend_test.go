package catalog

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"
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

		var wg sync.WaitGroup
		wg.Go(func() {
			if err := quick.Attend(ctx, Node{Name: "edge", Address: "10.0.0.1:4000"},
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

		cancel()
		wg.Wait()
		nodes, err := b.Nodes(t.Context())
		if err != nil || len(nodes) != 1 || nodes[0].Live || nodes[0].LeftAt.IsZero() {
			t.Errorf("when it has stopped: got %+v, %v, want one that has left", nodes, err)
		}
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
