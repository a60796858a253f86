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
	goesOn, busy := false, false
	if t.engine.stopped() == "" {
		goesOn, busy = t.endAsides(ctx)
	}
	if t.engine.asides.Store(busy); goesOn {
		t.asides.did = time.Time{} // the next tick goes on
	}
}

// endAsides sees to what is over, and reports whether the next tick goes on with that, and whether there is work for
// it, and not only much to look at.
func (t *ticker) endAsides(ctx context.Context) (goesOn, busy bool) {
	if err := t.store.DropLeftovers(ctx); err != nil && ctx.Err() == nil {
		t.log.LogAttrs(ctx, slog.LevelWarn, "an empty table is left of a partition that was restored",
			slog.Any("err", err))
	}

	over, err := t.store.Over(ctx)
	if err != nil && ctx.Err() == nil {
		t.log.LogAttrs(ctx, slog.LevelWarn, "what partitions have become cannot be listed", slog.Any("err", err))
	}
	t.forgetCounts(over)
	until := time.Now().Add(asideFor)
	held, tried := t.seeTo(ctx, over, until)
	goesOn = held || time.Now().After(until)
	return goesOn, held || goesOn && tried
}

// forgetCounts drops the counts of tables that are not over any more.
func (t *ticker) forgetCounts(over []catalog.Departure) {
	maps.DeleteFunc(t.counted, func(side uint64, _ *work.Counting) bool {
		return !slices.ContainsFunc(over, func(d catalog.Departure) bool { return d.SideID == side })
	})
}

// asideFor is how long these may keep a tick, in which nothing else is started, and patience how long of that it is
// waited for signals and rates.
const (
	asideFor = time.Second
	patience = 100 * time.Millisecond
)

// asideEnd is what came of a table whose grace is over.
type asideEnd int

const (
	asideStays asideEnd = iota // something else is in the way
	asideHeld                  // by signals or rates
	asideTried
)

// seeTo sees to some of them, and to the next ones the next time: those that stay for now, because their policy
// is paused or somebody reads them, keep nobody else. It reports whether signals or rates hold one of them, and
// whether anything was tried.
func (t *ticker) seeTo(ctx context.Context, over []catalog.Departure, until time.Time) (held, tried bool) {
	waits := map[uint64]bool{} // policies whose tables stay for now
	n := 0
	for _, d := range t.inOrder(over) {
		if n >= mostAsides || ctx.Err() != nil || time.Now().After(until) {
			break
		}
		if t.counted[d.SideID] == nil {
			t.aside++
		}
		if waits[d.Policy] && !d.Unnoted() {
			continue
		}
		end, err := t.dropAside(ctx, d, until)
		held = held || end == asideHeld
		if waits[d.Policy] = end != asideTried; end == asideTried {
			n++
		}
		if err == nil || ctx.Err() != nil || catalog.Overtaken(err) {
			continue
		}
		t.log.LogAttrs(ctx, slog.LevelWarn, "what a partition has become cannot be dropped",
			slog.String("schema", d.Side.Schema), slog.String("table", d.Side.Name), slog.Any("err", err))
	}
	return held, n > 0
}

// inOrder puts those first that are being counted, because a count must not rest for long, and then the one behind
// the one that was seen to last.
func (t *ticker) inOrder(over []catalog.Departure) (all []catalog.Departure) {
	var others []catalog.Departure
	for i := range over {
		d := over[(t.aside+1+i)%len(over)]
		if t.counted[d.SideID] != nil {
			all = append(all, d)
		} else {
			others = append(others, d)
		}
	}
	return append(all, others...)
}

// dropAside drops what a partition has become, if its policy allows that now, and signals and rates do.
func (t *ticker) dropAside(ctx context.Context, d catalog.Departure, until time.Time) (asideEnd, error) {
	if d.Unnoted() {
		if t.engine.stopped() != "" {
			return asideStays, nil
		}
		return asideTried, work.DropSide(ctx, t.session, t.store, d)
	}

	p, err := t.store.PolicyByID(ctx, d.Policy)
	if errors.Is(err, catalog.ErrNoPolicy) {
		return asideStays, nil
	}
	if err != nil {
		return asideStays, err
	}

	now, err := t.store.Clock(ctx)
	if err != nil {
		return asideStays, err
	}
	if !p.Armed() || p.Paused.InForce(now) || t.pulse.Pause.InForce(now) || t.pulse.Pause.Held || p.Approval.Required {
		return asideStays, nil // while a person has to look at what came back, what may come back as well is kept
	}
	if may, err := t.mayAlter(ctx, p, now); !may || err != nil {
		return asideStays, err
	}
	l := t.limits()
	held, err := work.DropAside(ctx, t.session, t.store, d, p, work.Leaving{
		Now: now, Floor: l.floor, Settings: l.Revision, Window: l.Window, Metrics: t.metrics.work,
		Stopped: t.engine.stopped, Pace: t.engine.duty.Errand(p.ID, t.engine.rates, until.Add(patience-asideFor)),
		Target: t.engine.duty.Target(p.ID, l.Target), Until: until, Counted: t.counted,
		BeforePacket: t.engine.crew.BeforePacket,
	})
	if held {
		return asideHeld, err
	}
	return asideTried, err
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
