package ttl

import (
	"context"
	"log/slog"
	"maps"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/ttl/plan"
	"github.com/ttlproxy/ttlproxy/ttl/work"
)

const (
	aheadEvery = time.Minute // of one table
	// aheadLook is how long a table with enough partitions is left alone, and one that cannot have any.
	aheadLook = 10 * time.Minute
	// aheadRefused is how long nothing is tried that the server has refused.
	aheadRefused = time.Hour
)

// aheadLooks remembers when the tables of policies with TTL_PARTITION_AHEAD were looked at, by the
// local clock.
type aheadLooks map[uint64]aheadSeen

type aheadSeen struct {
	version uint64
	next    time.Time
}

// makeAhead makes partitions before they are needed (TTL_PARTITION_AHEAD).
func (t *ticker) makeAhead(ctx context.Context) {
	if t.known.schedule == nil { // a run has just begun: which policies there are is read anew
		return
	}
	maps.DeleteFunc(t.aheads, func(id uint64, _ aheadSeen) bool { return t.known.schedule[id].ID == 0 })
	for _, known := range t.known.schedule {
		p := known.Policy
		seen := t.aheads[p.ID]
		if p.Unread != "" || p.Terms.Options.Ahead == 0 || !p.Armed() ||
			seen.version == p.Version && time.Now().Before(seen.next) {
			continue
		}
		again, err := t.makeAheadOf(ctx, p)
		if err != nil && ctx.Err() == nil && !catalog.Overtaken(err) {
			t.log.LogAttrs(ctx, slog.LevelWarn, "partitions cannot be made ahead",
				slog.String("schema", p.Table.Schema), slog.String("table", p.Table.Name), slog.Any("err", err))
		}
		t.aheads[p.ID] = aheadSeen{p.Version, time.Now().Add(max(again, aheadEvery))}
	}
}

// makeAheadOf makes partitions of one table, and says when it is worth another look.
func (t *ticker) makeAheadOf(ctx context.Context, p catalog.Policy) (again time.Duration, err error) {
	now, err := t.store.Clock(ctx)
	if err != nil {
		return 0, err
	}
	if may, err := t.mayAlter(ctx, p, now); !may || err != nil {
		return 0, err
	}
	if why, err := t.store.Rests(ctx, p.ID, now); err != nil || why != "" {
		return 0, err
	}

	known, err := t.tables.Recognize(ctx, p) // the next job, which would, may come in weeks
	if err != nil || known == nil {
		return 0, err
	}
	f, err := tables.ReadFacts(ctx, t.session, p.Table.Schema, p.Table.Name)
	if err != nil {
		return 0, err
	}
	if !known.Table().CreateTime.Equal(f.CreatedAt()) {
		return 0, nil // somebody alters it at this moment
	}

	a, why, err := plan.ReadAhead(ctx, t.session, t.store, p, f, now)
	switch {
	case err != nil:
		return 0, err
	case why != "":
		return aheadLook, t.store.EndAhead(ctx, p.ID, catalog.DepartureRefused, why)
	case a.Statement == "":
		return aheadLook, t.store.EnoughAhead(ctx, p.ID)
	case t.engine.duty.Reason() != "" && a.Half:
		return 0, nil // signals slow everything down, and there is time
	}

	refused, err := work.MakeAhead(ctx, t.session, t.store, p, f, a, work.Making{
		Limits: t.engine.workLimits(), Metrics: t.metrics.work, Stopped: t.engine.stopped,
	})
	if refused {
		again = aheadRefused
	}
	return again, err
}
