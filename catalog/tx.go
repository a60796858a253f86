package catalog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/ttlproxy/ttlproxy/ddl"
)

// txAttempts bounds how often a transaction that lost to another is retried.
const txAttempts = 8

// tx runs fn in a transaction and commits it. A transaction that the server has rolled back as a
// whole, or that waited too long for a lock, left nothing behind and is retried.
func (s *Store) tx(ctx context.Context, doing string, fn func(*sql.Tx) error) error {
	before := s.news.recorded()
	err := s.retry(ctx, doing, func() error {
		err := s.txOnce(ctx, fn)
		s.db.metrics.failed(err)
		return err
	})
	if err != nil {
		return err
	}

	s.news.since(before)
	return nil
}

// alone runs one statement as a transaction of its own, which is retried like others.
func (s *Store) alone(ctx context.Context, doing, query string, args ...any) (done sql.Result, err error) {
	err = s.retry(ctx, doing, func() (err error) {
		done, err = s.db.ExecContext(ctx, s.sql(query), args...)
		return err
	})
	return done, err
}

// retry does something until it has not lost to another transaction.
func (s *Store) retry(ctx context.Context, doing string, do func() error) error {
	var err error
	for attempt := range txAttempts {
		err = do()
		if err == nil || !isServerError(err, ddl.CodeDeadlock, ddl.CodeSnapshot, ddl.CodeLockWait) {
			break
		}
		if wait(ctx, backoff(attempt)) != nil {
			break
		}
	}

	if err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	return nil
}

func (s *Store) txOnce(ctx context.Context, fn func(*sql.Tx) error) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := fn(tx); err != nil {
		if rollback := tx.Rollback(); rollback != nil && !errors.Is(rollback, sql.ErrTxDone) {
			return errors.Join(err, rollback)
		}
		return whyDone(ctx, err)
	}
	return whyDone(ctx, tx.Commit())
}

// whyDone is that its time is over where database/sql says no more than that a transaction was rolled back.
func whyDone(ctx context.Context, err error) error {
	if late := ctx.Err(); late != nil && errors.Is(err, sql.ErrTxDone) {
		return late
	}
	return err
}

// backoff grows from milliseconds to a quarter of a second, with jitter so that two losers do not
// meet again.
func backoff(attempt int) time.Duration {
	ceiling := min(4*time.Millisecond<<attempt, 250*time.Millisecond)
	return ceiling/2 + rand.N(ceiling/2)
}

// wait lets d go by, or returns why ctx ended.
func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// execer is a connection pool or a transaction.
type execer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// exec runs a statement and returns how many rows it changed.
func (s *Store) exec(ctx context.Context, on execer, query string, args ...any) (int64, error) {
	res, err := on.ExecContext(ctx, s.sql(query), args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// insert runs an INSERT and returns the new id.
func (s *Store) insert(ctx context.Context, on execer, query string, args ...any) (uint64, error) {
	res, err := on.ExecContext(ctx, s.sql(query), args...)
	if err != nil {
		return 0, err
	}
	id, err := res.LastInsertId()
	return uint64(id), err //nolint:gosec // AUTO_INCREMENT starts at 1
}

// execAll runs statements that share their arguments.
func (s *Store) execAll(ctx context.Context, on execer, args []any, queries ...string) error {
	for _, q := range queries {
		if _, err := s.exec(ctx, on, q, args...); err != nil {
			return err
		}
	}
	return nil
}

// Clock returns the backend's time, which decides everything.
func (s *Store) Clock(ctx context.Context) (time.Time, error) {
	var now time.Time
	if err := s.db.QueryRowContext(ctx, `SELECT UTC_TIMESTAMP(6)`).Scan(&now); err != nil {
		return now, fmt.Errorf("read clock: %w", err)
	}
	return now, nil
}
