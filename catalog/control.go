package catalog

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"
)

// PauseAll is the policy id that pauses everything.
const PauseAll uint64 = 0

// Pause stops all deletion for a policy, or for everything. When it returns nil no further row is
// deleted, whatever a frozen or cut-off node still tries. A zero until means: until Resume.
func (s *Store) Pause(ctx context.Context, actor string, policy uint64, reason string, until time.Time) error {
	return s.tx(ctx, "pause", func(tx *sql.Tx) error {
		if err := s.barFor(ctx, tx, policy); err != nil {
			return err
		}
		if err := s.mustMatch(s.exec(ctx, tx, setPause, reason, actor, nullTime(until), policy)); err != nil {
			return err
		}
		if !until.IsZero() {
			reason = strings.TrimPrefix(reason+", until "+Moment(until), ", ")
		}
		return s.recordFor(ctx, tx, policy, EventPaused, actor, reason)
	})
}

// Resume ends a pause. It does not lift a hold of the server: see Trust.
func (s *Store) Resume(ctx context.Context, actor string, policy uint64) error {
	return s.tx(ctx, "resume", func(tx *sql.Tx) error {
		if err := s.barFor(ctx, tx, policy); err != nil {
			return err
		}
		if err := s.mustMatch(s.exec(ctx, tx, endPause, policy)); err != nil {
			return err
		}
		return s.recordFor(ctx, tx, policy, EventResumed, actor, "")
	})
}

// GlobalPause is what row 0 of the pauses says.
type GlobalPause struct {
	Pause
	Held       bool // the server is not the one the catalog knows
	HeldReason string
	HeldAt     time.Time
}

// GlobalPause returns whether everything is paused or held.
func (s *Store) GlobalPause(ctx context.Context) (GlobalPause, error) {
	var pause globalPauseColumns
	if err := s.db.QueryRowContext(ctx, s.sql(selectGlobalPause)).Scan(pause.into()...); err != nil {
		return GlobalPause{}, fmt.Errorf("read pause: %w", err)
	}
	return pause.value(), nil
}

// globalPauseColumns are the columns of a GlobalPause while they are read.
type globalPauseColumns struct {
	pause              GlobalPause
	since, until, held sql.Null[time.Time]
}

// into is where the columns go, in the order of selectGlobalPause.
func (c *globalPauseColumns) into() []any {
	p := &c.pause
	return []any{&p.Paused, &p.Reason, &p.By, &c.since, &c.until, &p.Held, &p.HeldReason, &c.held}
}

func (c *globalPauseColumns) value() GlobalPause {
	p := c.pause
	p.Since, p.Until, p.HeldAt = c.since.V, c.until.V, c.held.V
	return p
}

// Withdraw forgets that a run was asked for, because none can begin.
func (s *Store) Withdraw(ctx context.Context, policy uint64) error {
	if _, err := s.exec(ctx, s.db, withdrawRequest, policy); err != nil {
		return fmt.Errorf("withdraw the run of policy %d: %w", policy, err)
	}
	return nil
}

// Cancel ends the open jobs of a policy and returns their ids. When it returns nil they delete
// nothing more, and no run is asked for.
func (s *Store) Cancel(ctx context.Context, actor string, policy uint64) (jobs []uint64, err error) {
	err = s.tx(ctx, "cancel", func(tx *sql.Tx) error {
		if err := s.bar(ctx, tx, policy); err != nil {
			return err
		}
		if jobs, err = s.openJobs(ctx, tx, policy); err != nil {
			return err
		}
		if err := s.endJobs(ctx, tx, policy, JobCancelled, "cancelled by "+actor); err != nil {
			return err
		}
		if _, err := s.exec(ctx, tx, withdrawRequest, policy); err != nil {
			return err
		}

		return s.recordFor(ctx, tx, policy, EventCancel, actor, fmt.Sprintf("%d jobs", len(jobs)))
	})
	return jobs, err
}

// RequestRun asks the engine to start a job now, whatever the schedule says. It returns the moment:
// only a run that began then or later answers the request, for one that began earlier leaves the
// rows that have expired since. While a job is open, the run begins when that has ended.
func (s *Store) RequestRun(ctx context.Context, actor string, policy uint64) (asked time.Time, err error) {
	err = s.tx(ctx, "request a run", func(tx *sql.Tx) error {
		if err := s.mustMatch(s.exec(ctx, tx, requestRun, actor, policy)); err != nil {
			return err
		}
		if err := tx.QueryRowContext(ctx, s.sql(selectRequested), policy).Scan(&asked); err != nil {
			return err
		}
		return s.recordFor(ctx, tx, policy, EventRun, actor, "")
	})
	return asked, err
}

// Disarm stops a policy until a person re-arms it, and ends its jobs.
func (s *Store) Disarm(ctx context.Context, actor string, policy, version uint64, reason string) error {
	return s.tx(ctx, "disarm", func(tx *sql.Tx) error {
		if err := s.bar(ctx, tx, policy); err != nil {
			return err
		}

		n, err := s.exec(ctx, tx, updatePolicyState, PolicyDisarmed, reason, policy, version)
		if err != nil {
			return err
		}
		if n == 0 {
			return ErrPolicyChanged
		}
		if err := s.endJobs(ctx, tx, policy, JobDisarmed, reason); err != nil {
			return err
		}

		return s.recordFor(ctx, tx, policy, EventDisarmed, actor, reason)
	})
}

func (s *Store) barFor(ctx context.Context, tx *sql.Tx, policy uint64) error {
	if policy == PauseAll {
		return s.barAll(ctx, tx)
	}
	return s.bar(ctx, tx, policy)
}

// mustMatch turns a write that found no policy into ErrNoPolicy.
func (*Store) mustMatch(n int64, err error) error {
	if err == nil && n == 0 {
		return ErrNoPolicy
	}
	return err
}

// recordFor records an event about a policy by its id, or about everything.
func (s *Store) recordFor(ctx context.Context, tx *sql.Tx, policy uint64, kind EventKind, actor, text string) error {
	if policy == PauseAll {
		return s.record(ctx, tx, Event{Kind: kind, Actor: actor, Text: text})
	}
	p, err := onePolicy(s.policies(ctx, tx, selectPolicyByID, policy))
	if err != nil {
		return err
	}
	return s.record(ctx, tx, p.event(kind, actor, text))
}
