package ttl

import (
	"context"
	"log/slog"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
)

// chore is what a ticker does now and then, beside its jobs. One that fails is done again when it
// would be anyway.
type chore struct {
	every   time.Duration
	do      func(context.Context)
	leaders bool // it is for the whole cluster: the node that leads does it
	did     time.Time
}

// How often each of them is done.
const (
	keepEvery  = 10 * time.Minute
	sweepEvery = 5 * time.Second // soon after the client of a statement has vanished
	vouchEvery = 2 * time.Second // somebody may be waiting
	backEvery  = 3 * time.Second // a job waits
	asideEvery = time.Minute
	clearEvery = 10 * time.Second // a part of what there is, so that nothing waits for it
)

// assignChores gives a ticker its chores, in their order.
func (t *ticker) assignChores() {
	t.keeping = &chore{every: keepEvery, do: t.keep, leaders: true}
	t.asides = &chore{every: asideEvery, do: t.dropAsides, leaders: true}
	t.chores = []*chore{
		t.keeping,
		{every: sweepEvery, do: t.sweep},
		{every: vouchEvery, do: t.vouch},
		{every: backEvery, do: t.putBack},
		t.asides,
		{do: t.makeAhead, leaders: true},
		{every: clearEvery, do: t.clearQueues, leaders: true},
	}
}

// doChores does those whose time has come.
func (t *ticker) doChores(ctx context.Context) {
	for _, c := range t.chores {
		if c.leaders && !t.leads || time.Since(c.did) < c.every {
			continue
		}
		c.did = time.Now()
		c.do(ctx)
	}
}

// keep is the housekeeping of the catalog.
func (t *ticker) keep(ctx context.Context) {
	done, err := t.store.Keep(ctx, t.lease, leaseFor, t.limits().historyDays)
	if !done && err == nil {
		t.keeping.did = time.Time{} // the next tick goes on
	}
	if err != nil && ctx.Err() == nil {
		t.log.LogAttrs(ctx, slog.LevelWarn, "old entries of the catalog could not be removed",
			slog.Any("err", err))
	}
}

// sweep settles what clients left behind in the middle of a DDL: whether a connection is gone only
// its own member of a cluster can tell.
func (t *ticker) sweep(ctx context.Context) {
	n, err := t.store.Sweep(ctx)
	if err != nil && ctx.Err() == nil {
		t.log.LogAttrs(ctx, slog.LevelWarn, "statements whose client has vanished could not be settled",
			slog.Any("err", err))
	}
	if n > 0 {
		t.log.LogAttrs(ctx, slog.LevelInfo, "policies settled after their client vanished in the middle of a statement",
			slog.Int("policies", n))
	}
}

// vouch tells other members, which see a table for the first time, whether it still is the one its
// policy was declared on.
func (t *ticker) vouch(ctx context.Context) {
	if !t.pulse.Elsewhere {
		return
	}
	if err := t.store.Vouch(ctx, t.actor()); err != nil && ctx.Err() == nil && !catalog.Overtaken(err) {
		t.log.LogAttrs(ctx, slog.LevelWarn, "tables could not be examined for other members", slog.Any("err", err))
	}
}

// putBack gives back what this node's workers could not, as when the server died.
func (t *ticker) putBack(ctx context.Context) {
	if !t.pulse.Jobs {
		return
	}
	if err := t.engine.crew.PutBack(ctx); err != nil && ctx.Err() == nil {
		t.log.LogAttrs(ctx, slog.LevelWarn, "tasks could not be put back", slog.Any("err", err))
	}
}

// clearQueues removes entries of expiry queues that nobody needs any more, some at a time.
func (t *ticker) clearQueues(ctx context.Context) {
	if err := t.store.ClearExpiryQueues(ctx); err != nil && ctx.Err() == nil {
		t.log.LogAttrs(ctx, slog.LevelWarn, "old expiry queues could not be removed", slog.Any("err", err))
	}
}
