package work

import (
	"context"
	"fmt"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/tables"
)

// AsideStore is what is asked of the catalog about tables that partitions have become.
type AsideStore interface {
	SideStore
	Over(ctx context.Context) ([]catalog.Departure, error)
	EndKept(ctx context.Context, d catalog.Departure, p catalog.Policy, settings uint64) (catalog.Departure, error)
	ForgetKept(ctx context.Context, d catalog.Departure) error
	DropLeftovers(ctx context.Context) error
	EndingGuard(d catalog.Departure) string
}

// DropAside drops what a partition has become, when its grace is over and its policy still says so. As
// with the partition itself, judgement and DDL come under the same locks.
func DropAside(
	ctx context.Context, s *Session, store AsideStore, d catalog.Departure, p catalog.Policy, settings uint64,
	stopped func() string,
) error {
	if err := s.Ready(ctx); err != nil {
		return err
	}

	id, err := s.tableID(ctx, store, d.Side)
	if err != nil {
		return err
	}
	if id != d.SideID { // somebody has dropped, renamed or rebuilt it: it is not ours any more
		return store.ForgetKept(ctx, d)
	}

	ending, err := store.EndKept(ctx, d, p, settings)
	if err != nil || stopped() != "" {
		return err
	}

	departures := store.Name("departure")
	drop := fmt.Sprintf("/* ttlproxy job=%d policy=%d v=%d */ DROP TABLE %s", d.Job, p.ID, p.Version, d.Side)
	statements := append([]string{goIf(store.EndingGuard(ending))}, ifHeld(drop)...)
	statements = append(statements,
		fmt.Sprintf("UPDATE %s SET state = 'settled', state_at = UTC_TIMESTAMP(6) WHERE policy_id = %d AND "+
			"partition_name = %s AND fence = %d AND state = 'ending' AND @ttlproxy_go", departures, ending.Policy,
			tables.Literal(ending.Partition), ending.Fence))
	locked := []string{d.Side.String(), departures}
	_, err = s.packetWithin(ctx, leaveLimit, underLocks(time.Second, locked, statements...)...)
	s.Close()

	if inUse(err) {
		return nil // somebody reads it: another time
	}
	return err
}
