package catalog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/ttlproxy/ttlproxy/catalog/tables"
)

// Unnoted reports whether there may be a table of which nobody has noted that a partition has become it, or
// that it was made for one: whoever should have noted that may have died before.
func (d Departure) Unnoted() bool {
	switch d.State {
	case DepartureReady, DepartureBarred, DepartureWaits, DepartureRefused:
		return d.Side.Name != ""
	default:
		return false
	}
}

// AnnounceSide notes which table is about to be made for a partition: then whoever comes later knows what
// it is.
func (s *Store) AnnounceSide(ctx context.Context, d Departure, from uint64) error {
	if _, err := s.exec(ctx, s.db, announceSide+UnlessGone("how", "job_id", "task_id", "fence", "server", "due",
		"side_schema", "side_name", "grace", "from_id", "state_at", "reason", "state"),
		d.Policy, d.Partition, d.How, d.Job, d.Task, d.Fence, d.Server, d.Due, d.Side.Schema, d.Side.Name,
		int64(d.Grace.Seconds()), from); err != nil {
		return fmt.Errorf("announce %s: %w", d.Side, err)
	}
	return nil
}

// FindAside notes that a partition has become a table, if it has and nobody noted it: the table has the id
// that the partition had. From now on it is kept. Of the table that it has left no more is noted than that the
// empty table that was exchanged for the partition is in its place: others may have altered it since.
func (s *Store) FindAside(ctx context.Context, d Departure) (found bool, err error) {
	if !d.Unnoted() || d.fromID == 0 {
		return false, nil
	}
	if id, err := s.idOf(ctx, d.Side, ""); err != nil || id != d.fromID {
		return false, err
	}
	exchanged, err := s.exchanged(ctx, d)
	if err != nil {
		return false, err
	}

	return true, s.tx(ctx, "find "+d.Side.String(), func(tx *sql.Tx) error {
		if _, err := s.exec(ctx, tx, bumpSchedule, d.Policy); err != nil {
			return err
		}
		n, err := s.exec(ctx, tx, findAside, d.Policy, d.Partition, d.Task, d.Fence)
		if err != nil || n == 0 {
			return err
		}
		if exchanged {
			_, err := s.exec(ctx, tx, exchangeIdentity, d.emptyID, d.Policy, d.Server, d.Partition, d.fromID)
			if err != nil {
				return err
			}
		}
		if err := s.countDeparture(ctx, tx, d); err != nil {
			return err
		}
		err = s.recordDeparture(ctx, tx, d)
		if errors.Is(err, ErrNoPolicy) {
			return nil
		}
		return err
	})
}

// exchanged reports whether the table that was made for it is in the partition's place.
func (s *Store) exchanged(ctx context.Context, d Departure) (bool, error) {
	if d.emptyID == 0 {
		return false, nil
	}
	p, err := s.PolicyByID(ctx, d.Policy)
	if errors.Is(err, ErrNoPolicy) {
		return false, nil
	}
	if err != nil {
		return false, err
	}

	id, err := s.idOf(ctx, p.Table, d.Partition)
	return id == d.emptyID, err
}

// ForgetSide notes that nothing is left of what was made for a partition.
func (s *Store) ForgetSide(ctx context.Context, d Departure) error {
	_, err := s.exec(ctx, s.db, forgetSide, d.Policy, d.Partition, d.Task, d.Fence, d.Side.Name)
	return err
}

// UnnotedGuard is the condition, as SQL, in a packet that has locked both tables, that a table was made for
// a partition, which has not become it, and that nobody is about to let it.
func (s *Store) UnnotedGuard(d Departure, id uint64) string {
	return fmt.Sprintf(unnotedGuard, s.Name("departure"), d.Policy, tables.Literal(d.Partition), d.Task, d.Fence,
		tables.Literal(d.Side.Name), int(ReadyFor.Seconds()), s.InnoDBID(d.Side), id)
}
