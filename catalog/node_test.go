package catalog

import (
	"errors"
	"testing"
	"time"
)

func TestLeaseHasOneHolder(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		one, two := b.node(t), b.node(t)
		first, err := b.Acquire(t.Context(), "scheduler", one, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.Acquire(t.Context(), "scheduler", two, time.Minute); !errors.Is(err, ErrLeaseHeld) {
			t.Errorf("got %v, want %v", err, ErrLeaseHeld)
		}
		if again, err := b.Acquire(t.Context(), "scheduler", one, time.Minute); err != nil ||
			again.Fence != first.Fence {
			t.Errorf("its holder again: got fence %d, %v, want %d", again.Fence, err, first.Fence)
		}
		if err := b.Renew(t.Context(), first, time.Minute); err != nil {
			t.Error(err)
		}
		if held, err := b.Leases(t.Context()); err != nil || len(held) != 1 || held[0].Name != "scheduler" ||
			held[0].Node != one {
			t.Errorf("leases: got %+v, %v, want that of node %d", held, err, one)
		}

		b.exec(t, "UPDATE {lease} SET expires_at = UTC_TIMESTAMP(6)")
		if held, err := b.Leases(t.Context()); err != nil || len(held) != 0 {
			t.Errorf("leases that have expired: got %+v, %v, want none", held, err)
		}

		second, err := b.Acquire(t.Context(), "scheduler", two, time.Minute)
		if err != nil || second.Fence <= first.Fence {
			t.Errorf("after it expired: got fence %d, %v, want above %d", second.Fence, err, first.Fence)
		}
		if err := b.Renew(t.Context(), first, time.Minute); !errors.Is(err, ErrLeaseLost) {
			t.Errorf("the old holder: got %v, want %v", err, ErrLeaseLost)
		}
		if err := b.Release(t.Context(), first); err != nil {
			t.Error(err)
		}
		if err := b.Renew(t.Context(), second, time.Minute); err != nil {
			t.Errorf("the old holder's release took the lease away: %v", err)
		}
	})
}

func TestNodeThatLeavesGivesItsWorkBack(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		one, two := b.node(t), b.node(t)
		b.job(t, b.declare(t, b.table(t, "a")), 1)
		if _, err := b.ClaimTask(t.Context(), Claim{Node: one}); err != nil {
			t.Fatal(err)
		}
		if _, err := b.Acquire(t.Context(), "scheduler", one, time.Hour); err != nil {
			t.Fatal(err)
		}
		if err := b.Leave(t.Context(), one); err != nil {
			t.Fatal(err)
		}
		if _, err := b.ClaimTask(t.Context(), Claim{Node: two}); err != nil {
			t.Errorf("its task: %v", err)
		}
		if _, err := b.Acquire(t.Context(), "scheduler", two, time.Hour); err != nil {
			t.Errorf("its lease: %v", err)
		}
		if err := b.Beat(t.Context(), one, 4, "", ""); !errors.Is(err, ErrNodeGone) {
			t.Errorf("its heartbeat: got %v, want %v", err, ErrNodeGone)
		}

		nodes, err := b.Nodes(t.Context())
		if err != nil || len(nodes) != 2 || !nodes[0].Live || nodes[1].Live || nodes[1].ID != one {
			t.Errorf("got %+v, %v, want node %d gone", nodes, err, one)
		}
	})
}
