package catalog

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"
)

// ErrNoJob says that a job is not open.
var ErrNoJob = errors.New("job is not open")

// Jobs returns the open jobs by table and partition, with the counts of their tasks.
func (s *Store) Jobs(ctx context.Context) ([]Job, error) {
	rows, err := s.db.QueryContext(ctx, s.sql(selectJobs))
	if err != nil {
		return nil, fmt.Errorf("list jobs: %w", err)
	}
	jobs, err := collect(rows, scanJob)
	slices.SortFunc(jobs, func(a, b Job) int {
		return cmp.Or(a.Table.Compare(b.Table), cmp.Compare(a.Partition, b.Partition))
	})
	return jobs, err
}

// Job returns an open job, or ErrNoJob: it may be in the history.
func (s *Store) Job(ctx context.Context, id uint64) (Job, error) {
	rows, err := s.db.QueryContext(ctx, s.sql(selectJob), id)
	if err != nil {
		return Job{}, fmt.Errorf("read job %d: %w", id, err)
	}
	jobs, err := collect(rows, scanJob)
	if err == nil && len(jobs) == 0 {
		err = ErrNoJob
	}
	if err != nil {
		return Job{}, err
	}
	return jobs[0], nil
}

// LastJob is the number of the latest job of a policy, open or ended; 0 when there was none.
func (s *Store) LastJob(ctx context.Context, policy uint64) (id uint64, err error) {
	if err = s.db.QueryRowContext(ctx, s.sql(selectLastJob), policy).Scan(&id); err != nil {
		return 0, fmt.Errorf("read the last job of policy %d: %w", policy, err)
	}
	return id, nil
}

func scanJob(r *sql.Rows) (j Job, err error) {
	var owner, estimated, tableRows, usual, bound, inflow, nulls, odd sql.Null[uint64]
	var oldest sql.Null[time.Time]
	var waited int64
	err = r.Scan(&j.ID, &j.PolicyID, &j.Version, &j.Table.Schema, &j.Table.Name, &j.Partition, &j.State, &j.Reason,
		&j.WaitsFor, &j.StateAt, &waited,
		&owner, &j.Fence, &j.Cutoff, &j.CutoffLiteral, &j.FloorLiteral, &j.Trigger, &j.TriggeredBy, &j.Plan,
		&j.PlanReason,
		&estimated, &tableRows, &usual, &bound, &inflow, &oldest, &nulls, &odd, &j.Note, &j.CreatedAt, &j.Tasks,
		&j.TasksFinished,
		&j.Counts.Examined, &j.Counts.Deleted, &j.Counts.Refreshed, &j.Counts.Failed, &j.Counts.Skipped)
	j.Owner, j.OldestExpiry, j.Waited = owner.V, oldest.V, time.Duration(waited)*time.Microsecond
	j.EstimatedRows, j.TableRows, j.Inflow = pointer(estimated), pointer(tableRows), pointer(inflow)
	j.UsualRows, j.Bound = pointer(usual), pointer(bound)
	j.NullRows, j.OddRows = pointer(nulls), pointer(odd)
	return j, err
}

// pointer turns NULL into nil.
func pointer[T any](n sql.Null[T]) *T {
	if !n.Valid {
		return nil
	}
	return &n.V
}

// nullTime turns the zero time into NULL.
func nullTime(t time.Time) sql.Null[time.Time] {
	return sql.Null[time.Time]{V: t, Valid: !t.IsZero()}
}

// nullID turns 0 into NULL.
func nullID(id uint64) sql.Null[uint64] { return sql.Null[uint64]{V: id, Valid: id != 0} }

// Schedule says when a table (partition "") or partition ran last and whether somebody asked for a
// run.
type Schedule struct {
	PolicyID       uint64
	Partition      string
	RequestedAt    time.Time // on partition "": a run of every partition is asked for, if none has begun since
	RequestedBy    string
	LastJob        uint64
	LastVersion    uint64 // of the policy, in the last job
	LastState      JobState
	LastStartedAt  time.Time
	LookedAt       time.Time // when nothing was due, so that no job was needed
	LastFinishedAt time.Time // zero while it runs
	LastEnded      uint64    // the job that ended last: LastJob, or the one before while that is open
	LastCutoff     time.Time

	Watermark        time.Time // all rows that had expired by then are gone; zero when that is not known
	WatermarkVersion uint64    // of the policy that the watermark is about

	// What the last job that came to its end had to leave: rows that cannot be deleted, because something
	// objects or needs them, and when the first of them expired. Nil and zero when that is not known.
	Undeletable        *uint64
	OldestUndeletable  time.Time
	UndeletableVersion uint64 // of the policy that they are about
}

// Began is when it was seen last what is due: by a job, or by a look.
func (c Schedule) Began() time.Time {
	if c.LookedAt.After(c.LastStartedAt) {
		return c.LookedAt
	}
	return c.LastStartedAt
}

// SchedulesOf returns those of a policy's table and its partitions.
func (s *Store) SchedulesOf(ctx context.Context, policy uint64) ([]Schedule, error) {
	return s.schedules(ctx, fmt.Sprintf(selectTheseSchedules, strconv.FormatUint(policy, 10)))
}

func (s *Store) schedules(ctx context.Context, query string) ([]Schedule, error) {
	rows, err := s.db.QueryContext(ctx, s.sql(query))
	if err != nil {
		return nil, fmt.Errorf("read schedules: %w", err)
	}

	return collect(rows, func(r *sql.Rows) (c Schedule, err error) {
		var requested, started, looked, finished, cutoff, watermark, oldest sql.Null[time.Time]
		var job, version, ended, marked, stuck, counted sql.Null[uint64]
		var state sql.Null[JobState]
		err = r.Scan(&c.PolicyID, &c.Partition, &requested, &c.RequestedBy, &job, &version, &state,
			&started, &looked, &finished, &ended, &cutoff, &watermark, &marked, &stuck, &oldest, &counted)
		c.RequestedAt, c.LastStartedAt, c.LastFinishedAt, c.LastCutoff = requested.V, started.V, finished.V, cutoff.V
		c.LastJob, c.LastVersion, c.LastState, c.LastEnded = job.V, version.V, state.V, ended.V
		c.LookedAt, c.Watermark, c.WatermarkVersion = looked.V, watermark.V, marked.V
		c.Undeletable, c.OldestUndeletable, c.UndeletableVersion = pointer(stuck), oldest.V, counted.V

		return c, err
	})
}
