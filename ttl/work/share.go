package work

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/ttl/plan"
)

// errBound: the run has deleted all that it may delete, and more is due.
var errBound = errors.New("the run has deleted all that it may delete")

// share is a task's part of what its run may delete. The catalog refuses the batch that would
// exceed it, whoever sends it; what is known here only keeps a walk from trying. A nil share means
// any number of rows.
type share struct {
	store   allower
	task    catalog.Task
	deleted uint64
	allowed *uint64 // nil for any number
	scarce  bool    // the run had less left than was asked for
}

// allower gives a task more of what its run may delete.
type allower interface {
	Allow(ctx context.Context, task catalog.Task, want uint64) (allowed *uint64, err error)
}

func newShare(store allower, task catalog.Task) *share {
	return &share{store: store, task: task, deleted: task.Counts.Deleted, allowed: task.Allowed}
}

// room is how many of n rows may be deleted now. If they are too few, the run is asked for more; if
// it has too few left, it is not asked again before they are used up.
func (s *share) room(ctx context.Context, rows int) (int, error) {
	if s == nil || s.allowed == nil {
		return rows, nil
	}

	left := s.left()
	if left >= uint64(rows) || s.scarce && left > 0 {
		return int(min(left, uint64(rows))), nil
	}

	allowed, err := s.store.Allow(ctx, s.task, uint64(rows))
	if err != nil || allowed == nil {
		s.allowed = allowed
		return rows, err
	}

	s.allowed = allowed
	left = s.left()
	s.scarce = left < uint64(rows)
	return int(min(left, uint64(rows))), nil
}

// all is whether so many rows may be deleted together: what a run has no room for is for a person to decide.
func (s *share) all(ctx context.Context, rows int64) error {
	room, err := s.room(ctx, int(min(rows, math.MaxInt)))
	if err == nil && int64(room) < rows {
		err = errBound
	}
	return err
}

// anew has the run asked, whatever the task was given.
func (s *share) anew() *share {
	s.allowed = &s.deleted
	return s
}

// tight reports whether that many rows may be too many, without asking twice.
func (s *share) tight(ctx context.Context, rows int) (bool, error) {
	if s != nil && s.allowed != nil && s.scarce {
		return s.left() < uint64(rows), nil
	}
	room, err := s.room(ctx, rows)
	return room < rows, err
}

func (s *share) left() uint64 {
	if *s.allowed < s.deleted {
		return 0
	}
	return *s.allowed - s.deleted
}

func (s *share) spent(rows int64) {
	if s != nil {
		s.deleted += uint64(max(rows, 0))
	}
}

// resume adopts what the catalog says about the task.
func (s *share) resume(task catalog.Task) {
	if s != nil {
		s.deleted, s.allowed, s.scarce = task.Counts.Deleted, task.Allowed, false
	}
}

// overBound makes a job that has deleted what it may ask again, and say what is left as far as that
// is known.
func (w *worker) overBound(ctx context.Context, task catalog.Task) error {
	job, err := w.Store.Job(ctx, task.JobID)
	if err != nil {
		return err
	}

	left, err := w.leftOf(ctx, job)
	if err != nil {
		return err
	}
	if left.DueExact && left.Expired == 0 {
		return w.Store.FinishJob(ctx, job.ID, job.Fence, catalog.JobFinished, "")
	}

	due := job.Counts.Deleted + uint64(max(left.Expired, 0))
	job.EstimatedRows = &due
	reason := UsedUp(job, left)
	if err := w.Store.Ask(ctx, w.Actor(), job, reason); err != nil {
		return err
	}

	w.Log.LogAttrs(ctx, slog.LevelWarn, "job waits for approval", append(JobAttrs(job), slog.String("why", reason))...)
	return nil
}

// UsedUp says why a job waits for approval that has deleted what it may.
func UsedUp(job catalog.Job, left plan.Estimate) string {
	bound := uint64(0)
	if job.Bound != nil {
		bound = *job.Bound
	}
	return fmt.Sprintf("the run may delete %d rows, this job has deleted %d, and %s; %s lets them go", bound,
		job.Counts.Deleted, left.Against(job.UsualRows),
		catalog.ApprovalOf(job.Table, job.Version, uint64(max(left.Expired, 0))))
}

// leftOf estimates how much of a job's table or partition is still due.
func (w *worker) leftOf(ctx context.Context, job catalog.Job) (plan.Estimate, error) {
	policy, err := w.Store.PolicyByID(ctx, job.PolicyID)
	if err != nil {
		return plan.Estimate{}, err
	}
	if err := w.session.Ready(ctx); err != nil {
		return plan.Estimate{}, err
	}

	facts, err := tables.ReadFacts(ctx, w.session, job.Table.Schema, job.Table.Name)
	if err != nil {
		return plan.Estimate{}, err
	}

	stay, _, err := plan.ReadStaying(ctx, w.session, policy.Terms, &facts.Layout, facts.Children)
	if err != nil {
		return plan.Estimate{}, err
	}

	_, e, err := Left(ctx, w.session, job, policy, facts, stay)
	return e.With(stay.Along()), err
}

// Left estimates how much of a job's table or partition is still due, without what goes along.
func Left(
	ctx context.Context, q tables.Querier, job catalog.Job, p catalog.Policy, f *tables.Facts, stay plan.Staying,
) (*plan.Statements, plan.Estimate, error) {
	rows := f.Rows
	if part, there := f.Partition(job.Partition); there {
		rows = part.Rows
	}
	s := plan.StatementsOf(&f.Layout, job.Partition, p.Rule.Column, job.CutoffLiteral, job.FloorLiteral, stay)
	e, err := s.Estimate(ctx, q, rows)
	return s, e, err
}
