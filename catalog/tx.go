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
	var err error
	before := s.news.recorded.Load()

	for attempt := range txAttempts {
		err = s.txOnce(ctx, fn)
		s.db.metrics.failed(err)
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

	s.news.since(before)
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
		return err
	}
	return tx.Commit()
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

// Pulse is what an engine keeps asking.
type Pulse struct {
	Now   time.Time // by the backend's clock
	Event uint64    // the last one: while it stays the same, nobody has changed a policy or asked for anything
	Pause GlobalPause
	// Others says that there are other processes, which may be told something that this one does
	// not hear of.
	Others bool
}

// Pulse returns what may be different now for a node.
func (s *Store) Pulse(ctx context.Context, node uint64) (p Pulse, err error) {
	var pause globalPauseColumns
	into := append([]any{&p.Now, &p.Event, &p.Others}, pause.into()...)
	err = s.db.QueryRowContext(ctx, s.sql(selectPulse), s.deadAfter(), node).Scan(into...)
	if err != nil {
		return p, fmt.Errorf("read clock, events and pause: %w", err)
	}
	p.Pause = pause.value()
	return p, nil
}

// LastEvent is Pulse.Event, for those who ask for nothing else.
func (s *Store) LastEvent(ctx context.Context) (id uint64, err error) {
	if err = s.db.QueryRowContext(ctx, s.sql(lastEvent)).Scan(&id); err != nil {
		return 0, fmt.Errorf("read the last event: %w", err)
	}
	return id, nil
}

// Clock returns the backend's time, which decides everything.
func (s *Store) Clock(ctx context.Context) (time.Time, error) {
	var now time.Time
	if err := s.db.QueryRowContext(ctx, `SELECT UTC_TIMESTAMP(6)`).Scan(&now); err != nil {
		return now, fmt.Errorf("read clock: %w", err)
	}
	return now, nil
}
