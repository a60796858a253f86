package catalog

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// Keep deletes what is older than days: history, events, error rows, nodes that left and policies
// whose table has vanished. The holder of the lease calls it now and then; it ends with
// ErrLeaseLost if that is somebody else by now.
func (s *Store) Keep(ctx context.Context, lease Lease, ttl time.Duration, days int64) error {
	renew := func() error { return s.Renew(ctx, lease, ttl) }
	outdated := []string{deleteOldHistory, deleteOldRuns, deleteOldEvents, deleteOldRowErrors, deleteOldSchedules}
	for _, q := range outdated {
		if err := s.drain(ctx, renew, q, days); err != nil {
			return err
		}
	}

	for _, q := range []string{deleteOldNodes, deleteOldThrottles, deleteOldLatencies} {
		if err := s.drain(ctx, renew, q); err != nil {
			return err
		}
	}
	if err := s.forgetRuns(ctx, renew); err != nil {
		return err
	}
	if err := renew(); err != nil {
		return err
	}

	return s.forgetVanished(ctx, days)
}

// drain repeats a bounded DELETE until it finds nothing more.
func (s *Store) drain(ctx context.Context, renew func() error, query string, args ...any) error {
	for {
		if err := renew(); err != nil {
			return err
		}
		n, err := s.exec(ctx, s.db, query, args...)
		if err != nil {
			return fmt.Errorf("clean up: %w", err)
		}
		if n == 0 {
			return nil
		}
	}
}

// forgetRuns removes the runs of policies that have more of them than anybody reads.
func (s *Store) forgetRuns(ctx context.Context, renew func() error) error {
	type many struct {
		policy uint64
		runs   int
	}

	rows, err := s.db.QueryContext(ctx, s.sql(selectManyRuns), runsRead)
	if err != nil {
		return fmt.Errorf("count runs: %w", err)
	}
	all, err := collect(rows, func(r *sql.Rows) (m many, err error) { return m, r.Scan(&m.policy, &m.runs) })
	if err != nil {
		return fmt.Errorf("count runs: %w", err)
	}

	const atOnce = 1000
	for _, m := range all {
		for left := m.runs - runsRead; left > 0; left -= atOnce {
			if err := renew(); err != nil {
				return err
			}
			if _, err := s.exec(ctx, s.db, deleteFirstRuns, m.policy, min(left, atOnce)); err != nil {
				return fmt.Errorf("forget runs: %w", err)
			}
		}
	}

	return nil
}

// forgetVanished removes policies that have been disarmed for days and whose table is not there.
func (s *Store) forgetVanished(ctx context.Context, days int64) error {
	old, err := s.policies(ctx, s.db, selectVanished, days)
	if err != nil {
		return err
	}

	for _, p := range old {
		gone, err := s.isGone(ctx, p.Table)
		if err != nil {
			return err
		}
		if !gone {
			continue
		}

		err = s.tx(ctx, "forget policy", func(tx *sql.Tx) error {
			return s.remove(ctx, tx, "ttlproxy", p, EventRemoved, "its table has been gone for a long time")
		})
		if err != nil {
			return err
		}
	}

	return nil
}
