package ttl

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/ttl/work"
)

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
	for _, d := range over {
		err := t.dropAside(ctx, d)
		if err == nil || ctx.Err() != nil || catalog.Overtaken(err) {
			continue
		}
		t.log.LogAttrs(ctx, slog.LevelWarn, "what a partition has become cannot be dropped",
			slog.String("schema", d.Side.Schema), slog.String("table", d.Side.Name), slog.Any("err", err))
	}
}

func (t *ticker) dropAside(ctx context.Context, d catalog.Departure) error {
	if d.Unnoted() {
		if t.engine.stopped() != "" {
			return nil
		}
		return work.DropSide(ctx, t.session, t.store, d)
	}

	p, err := t.store.PolicyByID(ctx, d.Policy)
	if errors.Is(err, catalog.ErrNoPolicy) {
		return nil
	}
	if err != nil {
		return err
	}

	now, err := t.store.Clock(ctx)
	if err != nil {
		return err
	}
	if may, err := t.mayAlter(ctx, p, now); !may || err != nil || p.Approval.Required {
		return err // while a person has to look at what came back, what may come back as well is kept
	}
	l := t.limits()
	return work.DropAside(ctx, t.session, t.store, d, p, work.Leaving{
		Now: now, Floor: l.floor, Settings: l.Revision, Stopped: t.engine.stopped,
		BeforePacket: t.engine.crew.BeforePacket,
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
