package statement

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/setting"
	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/proxy"
	"github.com/ttlproxy/ttlproxy/proxy/wire"
	"github.com/ttlproxy/ttlproxy/ttl/plan"
)

// restoring is a partition on its way back into its table (RESTORE TTL PARTITION).
type restoring struct {
	a      *admin
	policy catalog.Policy
	gone   catalog.Departure
	place  plan.Comeback
}

// restore answers RESTORE TTL PARTITION. The client's own connection does everything to the tables, so
// that nobody can do more by it than by ALTER TABLE … EXCHANGE PARTITION. While it does, the policy is
// stopped, and so nothing is dropped either that partitions have become.
//
//	rights ─► place found ─► transaction ended ─► stage ─► REORGANIZE or ADD PARTITION ─► EXCHANGE ─► commit
//	             │ none                                        │ refused                    │ refused
//	             ▼                                             ▼                            ▼
//	           refuse                              the old rules again        the empty partition stays
//
// If this process dies in between, the sweep looks whether the partition has the id that goes with
// the rows.
func (a *admin) restore(ctx context.Context, s *ddl.RestorePartition) (*reply, error) {
	p, err := a.policyOf(ctx, s.Table)
	if err != nil {
		return nil, err
	}
	gone, err := a.kept(ctx, p, s.Partition)
	if err != nil {
		return nil, err
	}
	if err := a.mayExchange(s.Table, gone); err != nil {
		return nil, err
	}

	r := &restoring{a: a, policy: p, gone: gone}
	if err := r.find(ctx); err != nil {
		return nil, err
	}
	if err := a.q.endTransaction(); err != nil {
		return nil, err
	}
	if err := r.carry(ctx); err != nil {
		return nil, err
	}

	a.dropLeftovers(ctx)
	return &reply{
		info: fmt.Sprintf("Restored: partition %s of %s, with the rows of %s", r.place.Partition, p.Table, gone.Side),
		notes: append(a.q.notes, proxy.Note{
			Level: "Note", Code: ddl.CodeNote,
			Message: fmt.Sprintf("TTL of %s: nothing is deleted until APPROVE TTL JOB FOR %s", p.Table, p.Table),
		}),
	}, nil
}

// kept finds what a partition of a policy's table has become.
func (a *admin) kept(ctx context.Context, p catalog.Policy, partition string) (gone catalog.Departure, err error) {
	all, err := a.q.store.Departures(ctx, p.ID)
	if err != nil {
		return gone, err
	}

	all = slices.DeleteFunc(all, func(d catalog.Departure) bool {
		return d.State != catalog.DepartureKept && d.State != catalog.DepartureEnding
	})
	at := ddl.IndexNamed(all, func(d catalog.Departure) string { return d.Partition }, partition)
	switch {
	case at < 0 && len(all) == 0:
		return gone, refuse("No partition of %s is kept: only TTL_PARTITION = 'EXCHANGE' keeps some, for "+
			"TTL_PARTITION_GRACE", p.Table)
	case at < 0:
		return gone, refuse("Partition %s of %s is not kept: SHOW TTL PARTITIONS FOR %s has those that are", partition,
			p.Table, p.Table)
	case all[at].Server != a.q.store.Server().Key():
		return gone, refuse("Partition %s of %s was kept as %s on another server, by whose ids it cannot be told "+
			"here: ALTER TABLE … EXCHANGE PARTITION, if it is the one", partition, p.Table, all[at].Side)
	}
	return all[at], nil
}

// mayExchange checks that the client itself could exchange a partition of one table with the other.
func (a *admin) mayExchange(name ddl.Name, gone catalog.Departure) error {
	side := ddl.Name{Schema: gone.Side.Schema, Table: gone.Side.Name}
	return a.q.needsToAlter(&ddl.AlterTable{
		Table: name, Specs: []ddl.Spec{{Change: ddl.ExchangePartition, Other: &side}},
	})
}

// find finds the place of the partition, and everything that is in its way as far as it can be known
// beforehand.
func (r *restoring) find(ctx context.Context) error {
	q, t, side := r.a.q, r.policy.Table, r.gone.Side
	if q.session.number != "" {
		return refuse("ttlproxy: the next transaction of this session has a number, but this takes several")
	}
	if err := r.unchanged(ctx); err != nil {
		return err
	}

	f, err := tables.ReadFacts(ctx, q.h.config.DB, t.Schema, t.Name)
	if err != nil {
		return err
	}
	if why, err := plan.Unlike(ctx, q.h.config.DB, t, side); err != nil {
		return err
	} else if why != "" {
		return r.altered(why)
	}
	place, why := plan.ComeBack(f, r.policy.Rule.Column, r.gone.Partition, r.gone.Bound)
	if r.place = place; why != "" {
		return refuse("Partition %s of %s cannot be made again: %s; make it yourself, empty, then RESTORE again, or %s",
			r.gone.Partition, t, why, r.byRows())
	}
	if strings.Contains(r.place.Make, " REORGANIZE ") {
		if why, err = plan.Placed(ctx, q.h.config.DB, f); err != nil {
			return err
		} else if why != "" {
			return refuse("Partition %s of %s is not made again, because %s: make it yourself, empty, then RESTORE "+
				"again", r.gone.Partition, t, why)
		}
	}

	return r.clear(ctx, r.place.Late)
}

// unchanged checks that the table is there that the partition has become, and is like that from which
// it came.
func (r *restoring) unchanged(ctx context.Context) error {
	side, err := r.a.q.store.Look(ctx, r.gone.Side)
	if err != nil {
		return err
	}
	now, err := r.a.q.store.Look(ctx, r.policy.Table)
	if err != nil {
		return err
	}
	switch differs := side.Shape.Difference(now.Shape); {
	case !side.Exists:
		return refuse("%s, which partition %s has become, is not there any more", r.gone.Side, r.gone.Partition)
	case r.gone.SideID == 0 || side.Incarnation.Table().TableID != r.gone.SideID:
		return refuse("%s is not the table that partition %s has become, or was written anew: if it has the rows all "+
			"the same, %s", r.gone.Side, r.gone.Partition, r.byRows())
	case differs != "":
		return r.altered(differs)
	}
	return nil
}

func (r *restoring) altered(how string) error {
	return refuse("%s has been altered since partition %s went: %s; alter %s likewise, then RESTORE again, or, if "+
		"that writes it anew, %s", r.policy.Table, r.gone.Partition, how, r.gone.Side, r.byRows())
}

// byRows is what always brings the rows back, whatever has become of both tables. Nobody is asked before they
// are deleted again.
func (r *restoring) byRows() string {
	return fmt.Sprintf("PAUSE TTL FOR %[1]s and INSERT INTO %[1]s SELECT * FROM %[2]s", r.policy.Table, r.gone.Side)
}

// clear checks that no row is in the way of the partition.
func (r *restoring) clear(ctx context.Context, query string) error {
	late, err := plan.AnyRow(ctx, r.a.q.h.config.DB, query)
	if err != nil || !late {
		return err
	}
	return refuse("Rows that belong in partition %s of %s have come in since it went, and would trade places with "+
		"those of %s: delete them, or %s", r.gone.Partition, r.policy.Table, r.gone.Side, r.byRows())
}

// carry stops the policy, has the client's session bring the partition back, and notes it.
func (r *restoring) carry(ctx context.Context) error {
	q := r.a.q
	what := "RESTORE TTL PARTITION " + r.gone.Partition
	staged, err := q.stage(ctx, change{declares: true, intents: []catalog.Intent{{
		Kind: catalog.IntentAlter, Table: r.policy.Table, Imports: what, Restores: r.gone.ComesBack(),
	}}})
	if err != nil {
		return declaredWithout(err)
	}
	if err := q.passed(stopped); err != nil {
		return err
	}

	sent, err := r.exchange(ctx)
	if _, answered := errors.AsType[*wire.Error](err); err != nil && !answered {
		return err // nobody knows what the server has done: the sweep looks once this connection is gone
	}
	if err != nil {
		q.undo(ctx, staged, sent)
		return err
	}
	if err := q.passed(carried); err != nil {
		return err
	}

	if err := q.commit(ctx, staged); err != nil {
		q.h.log.WarnContext(ctx, "a partition has been restored, its policy is not settled yet", slog.Any("err", err))
		q.warn("the TTL policy of " + r.policy.Table.String() + " is stopped until the catalog can be written again")
		return nil
	}
	for _, w := range staged.Warnings {
		q.warn(w)
	}
	return q.passed(committed)
}

// exchange brings the partition back. Nobody waits for longer than ttl_partition_lock_wait behind its
// statements. It reports whether one was sent, whatever came of it.
func (r *restoring) exchange(ctx context.Context) (sent bool, err error) {
	q := r.a.q
	if err := r.unchanged(ctx); err != nil { // while the policy was in force, its grace may have ended
		return false, asAnswer(err)
	}
	values, err := q.store.Values(ctx)
	if err != nil {
		return false, asAnswer(err)
	}

	place, err := q.spelled(r.place.Make)
	if err != nil {
		return false, err
	}
	exchange, err := q.spelled(fmt.Sprintf("ALTER TABLE %s EXCHANGE PARTITION %s WITH TABLE %s", r.policy.Table,
		ddl.Quote(r.place.Partition), r.gone.Side))
	if err != nil {
		return false, err
	}

	patience := int(math.Ceil(values.Duration(setting.PartitionLockWait).Seconds()))
	return true, within(q.x, patience, func() error {
		if place != "" {
			if _, err := q.x.Ask(place); err != nil {
				return refusedThen(err, "nothing was changed")
			}
			if err := q.passed(placed); err != nil {
				return err
			}
		}
		if err := r.clear(ctx, plan.InPartition(r.policy.Table, r.place.Partition)); err != nil {
			return asAnswer(err)
		}
		_, err := q.x.Ask(exchange)
		return refusedThen(err, fmt.Sprintf("the rows stay in %s, and partition %s is empty", r.gone.Side,
			r.place.Partition))
	})
}

// refusedThen adds to the server's answer what is so now.
func refusedThen(err error, now string) error {
	e, answered := errors.AsType[*wire.Error](err)
	if !answered {
		return err
	}
	told := *e
	told.Message += "; ttlproxy: " + now
	if e.Code == ddl.CodeLockWait {
		told.Message += "; somebody uses the table for longer than ttl_partition_lock_wait: try again"
	}
	return &told
}

// asAnswer makes an error an answer for the client: nothing was sent to the server that may still be
// carried out.
func asAnswer(err error) error {
	if _, answered := errors.AsType[*wire.Error](err); err == nil || answered {
		return err
	}
	return refuse("ttlproxy: nothing has come back: %v", err)
}

// dropLeftovers drops the empty table against which the partition was exchanged. If that fails, the
// engine does it.
func (a *admin) dropLeftovers(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), catalogWait)
	defer cancel()
	if err := a.q.store.DropLeftovers(ctx); err != nil {
		a.q.h.log.WarnContext(ctx, "an empty table is left of a partition that was restored", slog.Any("err", err))
	}
}
