package work

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/ttl/plan"
)

// AheadStore is what is asked of the catalog about partitions that are made before they are needed.
type AheadStore interface {
	TurnStore
	ReadyAhead(ctx context.Context, p catalog.Policy, settings uint64) (catalog.Departure, error)
	WithdrawDeparture(ctx context.Context, d catalog.Departure) error
	EndAhead(ctx context.Context, policy uint64, state catalog.DepartureState, reason string) error
	AheadPacket(d catalog.Departure, t catalog.Table, made []string) (guard string, note []string)
	SettleDepartures(ctx context.Context, policy uint64) error
	Name(table string) string
}

// Making is how partitions are made ahead.
type Making struct {
	Limits  *Limits
	Metrics *Metrics
	Stopped func() string
}

// MakeAhead makes partitions of a policy's table. Judgement and DDL come under the same locks, as with
// partitions that leave: so they are made of the very table that was looked at, while the policy is in
// force, and out of one without a row. If the sender is frozen, the server lets go of the locks after
// a second. It takes turns with those that leave.
func MakeAhead(
	ctx context.Context, s *Session, store AheadStore, p catalog.Policy, f *tables.Facts, a plan.Ahead, m Making,
) (refused bool, err error) {
	if err := s.Ready(ctx); err != nil {
		return false, err
	}
	if a.Rest != "" {
		some, err := plan.AnyRow(ctx, s, plan.InPartition(p.Table, a.Rest))
		if err != nil {
			return false, err
		}
		if some {
			why := fmt.Sprintf("partition %s, which takes all the rest, has rows, and would have to be copied: "+
				"ALTER TABLE … REORGANIZE PARTITION it yourself, so that it is empty", ddl.Quote(a.Rest))
			return false, store.EndAhead(ctx, p.ID, catalog.DepartureRefused, why)
		}
	}

	taken, err := s.takeTurn(ctx, store, turnStep)
	if !taken || err != nil {
		return false, err
	}
	defer s.Close()
	if why, err := tried(ctx, store, p.ID); err != nil || why != "" {
		return false, err
	}
	err = s.makeAhead(ctx, store, p, f, a, m)

	my, answered := errors.AsType[*mysql.MySQLError](err)
	used, waits := errors.AsType[*inUseError](err)
	switch {
	case err == nil:
		return false, store.SettleDepartures(context.WithoutCancel(ctx), p.ID)
	case errors.Is(err, errHalted) || errors.Is(err, errRefused):
		return false, nil
	case waits:
		return false, aheadWaits(ctx, store, p, used.why)
	case !answered:
		return false, err
	case passes(err):
		return false, aheadWaits(ctx, store, p, "somebody uses the table")
	case classify(err) == pause:
		return false, err
	default:
		return true, store.EndAhead(ctx, p.ID, catalog.DepartureRefused,
			fmt.Sprintf("the server has refused: error %d: %s", my.Number, my.Message))
	}
}

// makeAhead makes them, unless somebody has used the table for long.
func (s *Session) makeAhead(
	ctx context.Context, store AheadStore, p catalog.Policy, f *tables.Facts, a plan.Ahead, m Making,
) error {
	wait, mariadb := m.Limits.PartitionLockWait, store.Server().MariaDB
	if why := s.users(ctx, mariadb, p.Table, wait); why != "" {
		return &inUseError{why}
	}
	ready, err := store.ReadyAhead(ctx, p, m.Limits.Revision)
	if err != nil {
		return err
	}
	goesOn := func(ctx context.Context) error {
		if ctx.Err() != nil || m.Stopped() != "" {
			return errHalted
		}
		return s.stillReady(ctx, store.ReadyGuard(ready))
	}
	err = errHalted
	if m.Stopped() == "" {
		err = attempt{
			session: s, metrics: m.Metrics, mariadb: mariadb, wait: wait, goesOn: goesOn,
			packet: func(wait time.Duration) []string { return aheadPacket(store, p, f, a, ready, wait) },
		}.make(ctx)
	}
	if err == nil || errors.Is(err, errHalted) || errors.Is(err, errRefused) { // perhaps the guard has not held
		err = errors.Join(err, store.WithdrawDeparture(context.WithoutCancel(ctx), ready))
	}
	return err
}

// aheadWaits notes who keeps partitions from being made.
func aheadWaits(ctx context.Context, store AheadStore, p catalog.Policy, why string) error {
	return store.EndAhead(context.WithoutCancel(ctx), p.ID, catalog.DepartureWaits, "no partition can be made while "+
		"the table is used for longer than ttl_partition_lock_wait: "+why+"; it is tried again after a minute")
}

func aheadPacket(
	store AheadStore, p catalog.Policy, f *tables.Facts, a plan.Ahead, ready catalog.Departure, lockWait time.Duration,
) []string {
	guard, note := store.AheadPacket(ready, p.Table, a.Names)
	guard += fmt.Sprintf(" AND (SELECT DATE_FORMAT(create_time, '%%Y-%%m-%%d %%H:%%i:%%s') FROM "+
		"information_schema.tables WHERE table_schema = %s AND table_name = %s) = %s", tables.Literal(f.Schema),
		tables.Literal(f.Table), tables.Literal(f.Created))
	if a.Rest != "" {
		guard += " AND NOT EXISTS (" + plan.InPartition(p.Table, a.Rest) + ")"
	}

	statement := fmt.Sprintf("/* ttlproxy policy=%d v=%d */ %s", p.ID, p.Version, a.Statement)
	all := append([]string{goIf(guard)}, ifHeld(statement)...)
	return underLocks(lockWait, []string{p.Table.String(), store.Name("departure")}, append(all, note...)...)
}
