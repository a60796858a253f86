package work

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/tables"
)

// TurnStore is what is asked of the catalog by whoever wants to lock a table that others use.
type TurnStore interface {
	Clock(ctx context.Context) (time.Time, error)
	Server() catalog.Server
	Turn() string
	Tried(ctx context.Context, policy uint64, now time.Time) (why string, err error)
	ReadyGuard(d catalog.Departure) string
}

// takeTurn waits for this session's turn to lock tables that others use, no longer than that. One session on a
// server has it at a time, until it is closed: of two that wait for tables, the second one would have others wait
// behind it when the first has given up, and both lock the departures. The server gives it to those who
// wait in the order in which they came.
func (s *Session) takeTurn(ctx context.Context, store TurnStore, wait time.Duration) (taken bool, err error) {
	var got sql.Null[bool]
	query := fmt.Sprintf("SELECT GET_LOCK(%s, %d)", tables.Literal(store.Turn()), int(wait.Seconds()))
	if err := s.QueryRowContext(ctx, query).Scan(&got); err != nil {
		return false, fmt.Errorf("wait for the turn: %w", err)
	}
	return got.V, nil
}

// tried says, to the one whose turn it is, why it is not the time to lock a policy's table.
func tried(ctx context.Context, store TurnStore, policy uint64) (why string, err error) {
	now, err := store.Clock(ctx)
	if err != nil {
		return "", err
	}
	return store.Tried(ctx, policy, now)
}

// stillReady asks whether a departure is, in the session that is about to try it.
func (s *Session) stillReady(ctx context.Context, guard string) error {
	var ready bool
	if err := s.QueryRowContext(ctx, "SELECT "+guard).Scan(&ready); err != nil {
		return fmt.Errorf("look whether it may still be tried: %w", err)
	}
	if !ready {
		return errRefused
	}
	return nil
}

const (
	turnStep = time.Second      // after which it is asked whether anybody still wants the turn
	turnFor  = 30 * time.Second // after which another task may be worth more
)

// turn waits until it is this worker's turn, and reports whether the partition may still go. Whoever has it gives
// it back by closing the session.
func (w *worker) turn(ctx context.Context, a assignment, d *departure) (taken bool, err error) {
	if err := w.session.reopened(ctx, func() error { return w.bind(ctx, a.task) }); err != nil {
		return false, err
	}
	for began := time.Now(); !taken && ctx.Err() == nil && w.Stopped() == "" && time.Since(began) < turnFor; {
		if err := w.watch(ctx, d); err != nil {
			return false, err
		}
		if taken, err = w.session.takeTurn(ctx, w.Store, turnStep); err != nil {
			return false, err
		}
	}
	if !taken {
		return false, nil
	}

	if why, err := tried(ctx, w.Store, d.policy); err != nil || why != "" {
		return true, cmp.Or(err, error(&doubtError{Why: why}))
	}
	if why := w.session.users(ctx, d.mariadb, a.job.Table, d.lockWait); why != "" {
		return true, w.waits(ctx, d, why)
	}
	return true, nil
}

// attempt is one try to lock a table that others use, and to alter it.
type attempt struct {
	session *Session
	metrics *Metrics
	mariadb bool
	wait    time.Duration                         // for the table, at most
	packet  func(wait time.Duration) []string     // that locks, judges and alters
	goesOn  func(ctx context.Context) (err error) // whether anybody still wants it
}

// Without waiting, a table is tried so often.
const (
	triesAtOnce = 5
	triesApart  = 100 * time.Millisecond
)

// leaveLimit is how long a DDL may take: servers remove large files while it runs.
const leaveLimit = 10 * time.Minute

// make sends the packet. Others that come later wait behind whoever waits for the table. So where a server can do
// without, it is tried so first, and not otherwise while a transaction is open that may use the table, nor if
// nobody wants it any more.
func (t attempt) make(ctx context.Context) error {
	if t.mariadb {
		for range triesAtOnce {
			if err := t.within(ctx, 0); err == nil || lost(err) || classify(err) != locked {
				return err
			}
			Wait(ctx, triesApart)
			if err := t.goesOn(ctx); err != nil {
				return err
			}
		}
		if why := t.session.mayUse(ctx, t.wait); why != "" {
			return &inUseError{why}
		}
	}
	if err := t.goesOn(ctx); err != nil {
		return err
	}
	return t.within(ctx, t.wait)
}

// within sends it once. What is locked when it fails is let go of.
func (t attempt) within(ctx context.Context, wait time.Duration) error {
	began := time.Now()
	_, err := t.session.packetWithin(ctx, leaveLimit+3*t.wait, t.packet(wait)...)
	if wait > 0 || err == nil {
		t.metrics.Blocked.Add(time.Since(began).Seconds())
	}
	if err != nil {
		t.session.unlock(ctx)
	}
	return err
}
