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
	ReadyAhead(ctx context.Context, p catalog.Policy, settings uint64) (catalog.Departure, error)
	EndAhead(ctx context.Context, policy uint64, state catalog.DepartureState, reason string) error
	AheadPacket(d catalog.Departure, t catalog.Table, made []string) (guard string, note []string)
	SettleDepartures(ctx context.Context, policy uint64) error
	Name(table string) string
}

// MakeAhead makes partitions of a policy's table. Judgement and DDL come under the same locks, as with
// partitions that leave: so they are made of the very table that was looked at, while the policy is in
// force, and out of one without a row. If the sender is frozen, the server lets go of the locks after
// a second.
func MakeAhead(
	ctx context.Context, s *Session, store AheadStore, p catalog.Policy, f *tables.Facts, a plan.Ahead,
	limits *Limits, stopped func() string,
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

	ready, err := store.ReadyAhead(ctx, p, limits.Revision)
	if err != nil || stopped() != "" {
		return false, err
	}
	wait := limits.PartitionLockWait
	_, err = s.packetWithin(ctx, leaveLimit+3*wait, aheadPacket(store, p, f, a, ready, wait)...)
	s.Close()

	my, answered := errors.AsType[*mysql.MySQLError](err)
	switch {
	case err == nil:
		return false, store.SettleDepartures(context.WithoutCancel(ctx), p.ID)
	case !answered:
		return false, err
	case inUse(err):
		return false, store.EndAhead(ctx, p.ID, catalog.DepartureWaits, "no partition can be made while somebody "+
			"uses the table for longer than ttl_partition_lock_wait; it is tried again after a minute")
	case classify(err) == pause:
		return false, err
	default:
		return true, store.EndAhead(ctx, p.ID, catalog.DepartureRefused,
			fmt.Sprintf("the server has refused: error %d: %s", my.Number, my.Message))
	}
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
