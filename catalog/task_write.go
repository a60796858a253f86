package catalog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// ErrNoTask says that there is nothing to claim: no task is waiting, or as many are running as may.
var ErrNoTask = errors.New("no task to claim")

// Claim is a worker's request for a task.
type Claim struct {
	Node       uint64
	Jobs       []uint64 // whose tasks are welcome, the most welcome first; nil for all
	Connection uint64   // that will run the batches
	Server     string   // of that connection
	Limit      int      // of running tasks in the whole cluster; 0 for none
	Settings   uint64   // the revision of the settings that the task will be carried out by; 0 for any
}

// ClaimTask gives the caller a task that is waiting, or that belongs to a node that is gone. It has
// a new fence: what the last owner still tries to write is refused.
func (s *Store) ClaimTask(ctx context.Context, c Claim) (Task, error) {
	var id uint64
	err := s.tx(ctx, "claim task", func(tx *sql.Tx) (err error) {
		id, err = s.claim(ctx, tx, c)
		return err
	})
	if err != nil {
		return Task{}, err
	}
	return s.Task(ctx, id)
}

func (s *Store) claim(ctx context.Context, tx *sql.Tx, c Claim) (uint64, error) {
	if c.Limit > 0 {
		if err := s.belowLimit(ctx, tx, c.Limit); err != nil {
			return 0, err
		}
	}

	var id, fence, policy, version uint64
	err := tx.QueryRowContext(ctx, s.sql(selectClaimable)+c.wanted(), s.deadAfter()).
		Scan(&id, &fence, &policy, &version)
	if isNoRows(err) {
		return 0, ErrNoTask
	}
	if err != nil {
		return 0, err
	}

	query, args := claimTask+s.Guard(policy, version), []any{c.Node, nullID(c.Connection), c.Server, id, fence}
	if c.Settings > 0 {
		query, args = query+underSettings, append(args, c.Settings)
	}

	n, err := s.exec(ctx, tx, query, args...)
	if err == nil && n == 0 {
		err = ErrNoTask // another worker was faster, the policy was stopped, or a setting was changed
	}

	return id, err
}

// wanted narrows and orders the tasks that may be claimed.
func (c Claim) wanted() string {
	if c.Jobs == nil {
		return anyJob
	}
	ids := make([]string, len(c.Jobs))
	for i, id := range c.Jobs {
		ids[i] = strconv.FormatUint(id, 10)
	}
	return fmt.Sprintf(theseJobs, strings.Join(ids, ", "))
}

// belowLimit counts the running tasks, while no other claim can be made.
func (s *Store) belowLimit(ctx context.Context, tx *sql.Tx, limit int) error {
	if _, err := s.exec(ctx, tx, lockClaims); err != nil {
		return err
	}
	var running int
	if err := tx.QueryRowContext(ctx, s.sql(countRunning)).Scan(&running); err != nil {
		return err
	}
	if running >= limit {
		return ErrNoTask
	}
	return nil
}

// BindTask notes the connection that runs a task's batches from now on, so that it can be found and
// ended.
func (s *Store) BindTask(ctx context.Context, id, fence, connection uint64, server string) error {
	return s.casTask(ctx, "bind", id, bindTask, nullID(connection), server, id, fence)
}

// ReleaseTask gives a task back unfinished; its cursor and counts stay. The text says why, for
// people.
func (s *Store) ReleaseTask(ctx context.Context, id, fence uint64, text string) error {
	return s.casTask(ctx, "release", id, releaseTask, text, id, fence)
}

// FinishTask ends a task that has come to the end of its range.
func (s *Store) FinishTask(ctx context.Context, id, fence uint64) error {
	return s.casTask(ctx, "finish", id, finishTask, id, fence)
}

func (s *Store) casTask(ctx context.Context, doing string, id uint64, query string, args ...any) error {
	n, err := s.exec(ctx, s.db, query, args...)
	if err == nil && n == 0 {
		err = ErrFence
	}
	if err != nil {
		return fmt.Errorf("%s task %d: %w", doing, id, err)
	}
	return nil
}

// Task returns a task.
func (s *Store) Task(ctx context.Context, id uint64) (Task, error) {
	tasks, err := s.tasks(ctx, selectTask, id)
	if err == nil && len(tasks) == 0 {
		err = ErrNoTask
	}
	if err != nil {
		return Task{}, err
	}
	return tasks[0], nil
}

// Tasks returns the tasks of all open jobs.
func (s *Store) Tasks(ctx context.Context) ([]Task, error) { return s.tasks(ctx, selectTasks) }

// TasksOf returns the tasks of one job in the order of their ranges.
func (s *Store) TasksOf(ctx context.Context, job uint64) ([]Task, error) {
	return s.tasks(ctx, selectJobTasks, job)
}

// OwnTasks returns the tasks that a node is at work on, by what the catalog knows.
func (s *Store) OwnTasks(ctx context.Context, node uint64) ([]Task, error) {
	return s.tasks(ctx, selectTasksOf, node)
}

func (s *Store) tasks(ctx context.Context, query string, args ...any) ([]Task, error) {
	rows, err := s.db.QueryContext(ctx, s.sql(query), args...)
	if err != nil {
		return nil, fmt.Errorf("read tasks: %w", err)
	}

	return collect(rows, func(r *sql.Rows) (t Task, err error) {
		var owner, connection, allowed sql.Null[uint64]
		var server sql.Null[string]
		err = r.Scan(&t.ID, &t.JobID, &t.PolicyID, &t.Seq, &t.State, &t.StateAt, &owner, &t.Fence, &t.Batch,
			&connection, &server,
			&t.RangeStart, &t.RangeEnd, &t.Cursor, &t.Counts.Examined, &t.Counts.Deleted, &t.Counts.Refreshed,
			&t.Counts.Failed, &t.Counts.Skipped, &allowed, &t.Error)
		t.Allowed = pointer(allowed)
		t.Owner, t.Connection, t.Server = owner.V, connection.V, server.V

		return t, err
	})
}
