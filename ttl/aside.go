package ttl

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/ttl/work"
)

// mostAsides is how many are seen to at a time.
const mostAsides = 10

// dropAsides drops the tables that partitions have become (TTL_PARTITION = 'EXCHANGE') and whose grace is
// over, as far as their policies are in force and nothing else is in the way. What has no policy any
// more stays.
func (t *ticker) dropAsides(ctx context.Context) {
	if t.engine.stopped() != "" {
		return
	}
	if err := t.store.DropLeftovers(ctx); err != nil && ctx.Err() == nil {
		t.log.LogAttrs(ctx, slog.LevelWarn, "an empty table is left of a partition that was restored",
			slog.Any("err", err))
	}

	over, err := t.store.Over(ctx)
	if err != nil && ctx.Err() == nil {
		t.log.LogAttrs(ctx, slog.LevelWarn, "what partitions have become cannot be listed", slog.Any("err", err))
	}
	maps.DeleteFunc(t.counted, func(side uint64, _ *work.Counting) bool {
		return !slices.ContainsFunc(over, func(d catalog.Departure) bool { return d.SideID == side })
	})
	until := time.Now().Add(asideFor)
	if t.seeTo(ctx, over, until); time.Now().After(until) {
		t.asides.did = time.Time{} // the next tick goes on
	}
}

// asideFor is how long these may keep a tick, in which nothing else is started.
const asideFor = time.Second

// seeTo sees to some of them, and to the next ones the next time: those that stay for now, because their policy
// is paused or somebody reads them, keep nobody else.
func (t *ticker) seeTo(ctx context.Context, over []catalog.Departure, until time.Time) {
	waits := map[uint64]bool{} // policies whose tables stay for now
	for seen, tried := 0, 0; seen < len(over) && tried < mostAsides && ctx.Err() == nil; seen++ {
		if time.Now().After(until) {
			return
		}
		t.aside++
		d := over[t.aside%len(over)]
		if waits[d.Policy] && !d.Unnoted() {
			continue
		}
		may, err := t.dropAside(ctx, d, until)
		if waits[d.Policy] = !may; may {
			tried++
		}
		if may && t.counted[d.SideID] != nil {
			t.aside-- // a count must not rest for long
		}
		if err == nil || ctx.Err() != nil || catalog.Overtaken(err) {
			continue
		}
		t.log.LogAttrs(ctx, slog.LevelWarn, "what a partition has become cannot be dropped",
			slog.String("schema", d.Side.Schema), slog.String("table", d.Side.Name), slog.Any("err", err))
	}
}

// dropAside drops what a partition has become, and reports whether its policy allows that now.
func (t *ticker) dropAside(ctx context.Context, d catalog.Departure, until time.Time) (may bool, err error) {
	if d.Unnoted() {
		if t.engine.stopped() != "" {
			return false, nil
		}
		return true, work.DropSide(ctx, t.session, t.store, d)
	}

	p, err := t.store.PolicyByID(ctx, d.Policy)
	if errors.Is(err, catalog.ErrNoPolicy) {
		return false, nil
	}
	if err != nil {
		return false, err
	}

	now, err := t.store.Clock(ctx)
	if err != nil {
		return false, err
	}
	if !p.Armed() || p.Paused.InForce(now) || t.pulse.Pause.InForce(now) || t.pulse.Pause.Held || p.Approval.Required {
		return false, nil // while a person has to look at what came back, what may come back as well is kept
	}
	if may, err := t.mayAlter(ctx, p, now); !may || err != nil {
		return false, err
	}
	l := t.limits()
	return true, work.DropAside(ctx, t.session, t.store, d, p, work.Leaving{
		Now: now, Floor: l.floor, Settings: l.Revision, Window: l.Window, Metrics: t.metrics.work,
		Stopped: t.engine.stopped, Until: until, Counted: t.counted, BeforePacket: t.engine.crew.BeforePacket,
	})
}

// mayAlter reports whether anything may be done now to a policy's tables beside its jobs, and has the
// session ready for it.
func (t *ticker) mayAlter(ctx context.Context, p catalog.Policy, now time.Time) (bool, error) {
	doubt := t.engine.doubt.Load()
	if doubt != nil && *doubt != "" || !t.limits().enabled || p.Unread != "" || t.engine.stopped() != "" ||
		p.Terms.Timing.Closed(now, t.limits().Window) != "" {
		return false, nil
	}

	if err := t.session.Ready(ctx); err != nil {
		return false, err
	}
	why, err := t.serverPause(ctx)
	return why == "", err
}
