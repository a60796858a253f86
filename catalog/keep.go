package catalog

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// Keep deletes what is older than days: history, events, error rows, nodes that left and policies
// whose table has vanished. What later jobs go by stays, however old it is: when a table had its last
// run, what its runs have found, which rows rest. The holder of the lease calls it now and then; it ends with
// ErrLeaseLost if that is somebody else by now. If there is much, it stops after a second, and is not done.
func (s *Store) Keep(ctx context.Context, lease Lease, ttl time.Duration, days int64) (done bool, err error) {
	until := time.Now().Add(keepFor)
	renew := func() error { return s.Renew(ctx, lease, ttl) }
	outdated := []string{deleteOldHistory, deleteOldEvents, deleteOldRowErrors, deleteOldSchedules}
	for _, q := range outdated {
		if done, err := s.drain(ctx, until, renew, q, days); !done || err != nil {
			return false, err
		}
	}

	for _, q := range []string{deleteOldNodes, deleteOldThrottles, deleteOldLatencies} {
		if done, err := s.drain(ctx, until, renew, q); !done || err != nil {
			return false, err
		}
	}
	if done, err := s.forgetRuns(ctx, until, renew, days); !done || err != nil {
		return false, err
	}
	if err := renew(); err != nil {
		return false, err
	}

	return true, s.forgetVanished(ctx, days)
}

// keepFor is how long the holder of the lease has no time for anything else.
const keepFor = time.Second

// drain repeats a bounded DELETE until it finds nothing more, or time is over.
func (s *Store) drain(
	ctx context.Context, until time.Time, renew func() error, query string, args ...any,
) (done bool, err error) {
	for !done && time.Now().Before(until) {
		if err := renew(); err != nil {
			return false, err
		}
		n, err := s.exec(ctx, s.db, query, args...)
		if err != nil {
			return false, fmt.Errorf("clean up: %w", err)
		}
		done = n == 0
	}
	return done, nil
}

// forgetRuns removes the first runs of policies that have more of them than anybody reads, and those of policies that
// have been gone for days. The others are not old, whenever they were: by them it is known what is usual, and that a
// consent was used up.
func (s *Store) forgetRuns(
	ctx context.Context, until time.Time, renew func() error, days int64,
) (done bool, err error) {
	type many struct {
		policy uint64
		beyond int
	}

	rows, err := s.db.QueryContext(ctx, s.sql(selectManyRuns), days, runsRead)
	if err != nil {
		return false, fmt.Errorf("count runs: %w", err)
	}
	all, err := collect(rows, func(r *sql.Rows) (m many, err error) { return m, r.Scan(&m.policy, &m.beyond) })
	if err != nil {
		return false, fmt.Errorf("count runs: %w", err)
	}

	const atOnce = 1000
	for _, m := range all {
		for left := m.beyond; left > 0; left -= atOnce {
			if time.Now().After(until) {
				return false, nil
			}
			if err := renew(); err != nil {
				return false, err
			}
			if _, err := s.exec(ctx, s.db, deleteFirstRuns, m.policy, min(left, atOnce)); err != nil {
				return false, fmt.Errorf("forget runs: %w", err)
			}
		}
	}

	return true, nil
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
