package catalog

import (
	"context"
	"database/sql"
	"fmt"
)

// Keep deletes what is older than days: history, events, error rows, nodes that left and policies whose table has vanished.
// The leader of housekeeping calls it now and then.
func (s *Store) Keep(ctx context.Context, days int64) error {
	for _, q := range []string{deleteOldHistory, deleteOldEvents, deleteOldRowErrors, deleteOldSchedules} {
		if err := s.drain(ctx, q, days); err != nil {
			return err
		}
	}
	if err := s.drain(ctx, deleteOldNodes); err != nil {
		return err
	}
	return s.forgetVanished(ctx, days)
}

// drain repeats a bounded DELETE until it finds nothing more.
func (s *Store) drain(ctx context.Context, query string, args ...any) error {
	for {
		n, err := s.exec(ctx, s.db, query, args...)
		if err != nil {
			return fmt.Errorf("clean up: %w", err)
		}
		if n == 0 {
			return nil
		}
	}
}

// forgetVanished removes policies that have been disarmed for days and whose table is not there.
func (s *Store) forgetVanished(ctx context.Context, days int64) error {
	old, err := s.policies(ctx, s.db, selectVanished, days)
	if err != nil {
		return err
	}
	for _, p := range old {
		seen, err := s.Look(ctx, p.Table)
		if err != nil {
			return err
		}
		if seen.Exists {
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
