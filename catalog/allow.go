package catalog

import (
	"context"
	"database/sql"
	"fmt"
	"math/bits"
)

// allowance is what a task of a run has deleted, and how far it may go.
type allowance struct {
	id, fence uint64
	finished  bool
	deleted   uint64
	allowed   sql.Null[uint64]
	leaving   uint64 // rows of its partition, which may be gone before that is counted
}

// unused is what the task may still delete.
func (a allowance) unused() uint64 {
	if a.finished || a.allowed.V < a.gone() {
		return 0
	}
	return a.allowed.V - a.gone()
}

// gone is what the task has deleted, and what nobody can keep any more.
func (a allowance) gone() uint64 { return a.deleted + a.leaving }

// Allow gives a task more of what its run may delete: at least want rows, as long as there are that
// many. It returns how many rows the task may then have deleted in total; nil for any number. Tasks
// that were given more than they may need now give it back, so that a run ends at its bound and not
// before. What all tasks have deleted and may still delete is never more than the bound.
func (s *Store) Allow(ctx context.Context, task Task, want uint64) (allowed *uint64, err error) {
	err = s.tx(ctx, fmt.Sprintf("allow task %d more rows", task.ID), func(tx *sql.Tx) error {
		if _, err := s.exec(ctx, tx, bumpSchedule, task.PolicyID); err != nil {
			return err
		}

		var bound sql.Null[uint64]
		if err := tx.QueryRowContext(ctx, s.sql(lockBound), task.JobID).Scan(&bound); err != nil {
			return orNoJob(err)
		}

		run, mine, err := s.allowances(ctx, tx, task)
		if err != nil {
			return err
		}
		if allowed = nil; !bound.Valid {
			_, err = s.exec(ctx, tx, setAllowed, nil, mine.id)
			return err
		}

		deleted, err := s.runDeleted(ctx, tx, task.PolicyID)
		if err != nil {
			return err
		}
		for _, a := range run {
			deleted += a.leaving
		}

		total, err := s.share(ctx, tx, run, *mine, bound.V-min(deleted, bound.V), want)
		allowed = &total
		return err
	})
	return allowed, err
}

// allowances locks the tasks of a run, and finds one of them. Whoever lets a partition go locks its task while that
// is written down: what is leaving is read afterwards.
func (s *Store) allowances(ctx context.Context, tx *sql.Tx, task Task) (run []allowance, mine *allowance, err error) {
	rows, err := tx.QueryContext(ctx, s.sql(lockAllowances), task.PolicyID)
	if err != nil {
		return nil, nil, err
	}

	run, err = collect(rows, func(r *sql.Rows) (a allowance, err error) {
		return a, r.Scan(&a.id, &a.fence, &a.finished, &a.deleted, &a.allowed)
	})
	if err != nil {
		return nil, nil, err
	}
	if err := s.readLeaving(ctx, tx, task, run); err != nil {
		return nil, nil, err
	}

	for i := range run {
		if run[i].id == task.ID && run[i].fence == task.Fence {
			return run, &run[i], nil
		}
	}

	return nil, nil, ErrFence
}

// readLeaving reads what is leaving the table that a task belongs to, beside what it asks for itself.
func (s *Store) readLeaving(ctx context.Context, tx *sql.Tx, task Task, run []allowance) error {
	leaving, err := s.departures(ctx, tx, selectLeaving, task.PolicyID, task.ID)
	for _, d := range leaving {
		for i := range run {
			if run[i].id == d.Task {
				run[i].leaving = d.Due
			}
		}
	}
	return err
}

// share gives one task of a run its part of what is left, and takes from the others what they then
// have too much of.
func (s *Store) share(
	ctx context.Context, tx *sql.Tx, run []allowance, mine allowance, left, want uint64,
) (total uint64, err error) {
	open, others := uint64(0), uint64(0)
	for _, a := range run {
		if a.finished {
			continue
		}
		if open++; a.id != mine.id {
			others += a.unused()
		}
	}

	part := min(max(want, left/(2*max(open, 1))), left)
	if open <= 1 {
		part = left
	}

	for _, a := range run {
		if rest := left - part; others > rest && a.id != mine.id && a.unused() > 0 {
			high, low := bits.Mul64(a.unused(), rest)
			keeps, _ := bits.Div64(high, low, others)
			if _, err := s.exec(ctx, tx, setAllowed, a.gone()+keeps, a.id); err != nil {
				return 0, err
			}
		}
	}

	total = mine.gone() + part
	_, err = s.exec(ctx, tx, setAllowed, total, mine.id)
	return total, err
}
