package catalog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Why a job cannot be created or changed.
var (
	ErrJobOpen = errors.New("a job is open for this table or partition")
	ErrStarted = errors.New("another node has started the job")
	ErrStopped = errors.New("the policy is not in force: changed, disarmed, paused or held")
	ErrFence   = errors.New("another node has taken over")
	ErrMove    = errors.New("the job cannot go from its state to that one")
)

// Overtaken reports that an error says that somebody else was faster: the matter is dealt with.
func Overtaken(err error) bool {
	return errors.Is(err, ErrFence) || errors.Is(err, ErrNoJob) || errors.Is(err, ErrMove) ||
		errors.Is(err, ErrStopped) || errors.Is(err, ErrJobOpen) || errors.Is(err, ErrStarted) ||
		errors.Is(err, ErrNoPolicy) || errors.Is(err, ErrPolicyChanged)
}

// ForgetPartitions removes when partitions ran last that have no jobs any more.
func (s *Store) ForgetPartitions(ctx context.Context, policy uint64, names []string) error {
	for some := range slices.Chunk(names, 500) {
		args := []any{policy}
		for _, name := range some {
			args = append(args, name)
		}
		query := fmt.Sprintf(deleteSchedules, "?"+strings.Repeat(", ?", len(some)-1))
		if _, err := s.exec(ctx, s.db, query, args...); err != nil {
			return fmt.Errorf("forget partitions: %w", err)
		}
	}
	return nil
}

// LeadJob makes node the owner of a job whose owner has gone, or that has none, and returns it with
// its new fence.
func (s *Store) LeadJob(ctx context.Context, id, node uint64) (Job, error) {
	n, err := s.exec(ctx, s.db, leadJob, node, id, node, s.deadAfter())
	if err != nil {
		return Job{}, fmt.Errorf("lead job %d: %w", id, err)
	}
	if n == 0 {
		return Job{}, ErrFence
	}
	return s.Job(ctx, id)
}

// SetJobFacts writes what the owner of a job has found out.
func (s *Store) SetJobFacts(ctx context.Context, id, fence uint64, f JobFacts) error {
	n, err := s.exec(ctx, s.db, setJobFacts, f.Plan, f.PlanReason, f.EstimatedRows, f.TableRows, f.UsualRows, f.Inflow,
		nullTime(f.OldestExpiry), f.NullRows, f.OddRows, f.Note, id, fence)
	if err != nil {
		return fmt.Errorf("write facts of job %d: %w", id, err)
	}
	if n == 0 {
		return ErrFence
	}
	return nil
}

// SetJobState moves an open job to another open state. Leaving running stops its tasks, whoever
// works on them.
func (s *Store) SetJobState(ctx context.Context, id, fence uint64, next JobState, w Waits) error {
	if !next.Open() {
		return ErrMove
	}
	return s.tx(ctx, fmt.Sprintf("set job %d %s", id, next), func(tx *sql.Tx) error {
		state, err := s.lockJob(ctx, tx, id, fence)
		if err != nil {
			return err
		}
		if state != next && !state.Can(next) {
			return ErrMove
		}

		if next != JobRunning {
			if err := s.execAll(ctx, tx, []any{id}, restartTasks, barJobDepartures); err != nil {
				return err
			}
		}

		_, err = s.exec(ctx, tx, setJobState, next, w.Why, w.For, id)
		return err
	})
}

// FinishJob ends a job and moves it to the history, with the counts of its tasks.
func (s *Store) FinishJob(ctx context.Context, id, fence uint64, end JobState, reason string) error {
	return s.tx(ctx, fmt.Sprintf("finish job %d", id), func(tx *sql.Tx) error {
		state, err := s.lockJob(ctx, tx, id, fence)
		if err != nil {
			return err
		}
		if end.Open() || !state.Can(end) {
			return ErrMove
		}
		return s.endJob(ctx, tx, id, end, reason)
	})
}

// lockJob locks the rows of a job in the order everybody uses: schedule, job; its tasks come next.
func (s *Store) lockJob(ctx context.Context, tx *sql.Tx, id, fence uint64) (JobState, error) {
	var policy uint64
	if err := tx.QueryRowContext(ctx, s.sql(selectJobPolicy), id).Scan(&policy); err != nil {
		return "", orNoJob(err)
	}
	if _, err := s.exec(ctx, tx, bumpSchedule, policy); err != nil {
		return "", err
	}

	var state JobState
	var now uint64
	if err := tx.QueryRowContext(ctx, s.sql(lockJob), id).Scan(&state, &now); err != nil {
		return "", orNoJob(err)
	}
	if now != fence {
		return "", ErrFence
	}

	return state, nil
}

func orNoJob(err error) error {
	if isNoRows(err) {
		return ErrNoJob
	}
	return err
}

// replanJobs ends the open jobs of all policies and asks for others in their place. The caller has
// written the bar.
func (s *Store) replanJobs(ctx context.Context, tx *sql.Tx, why string) error {
	rows, err := tx.QueryContext(ctx, s.sql(selectJobPolicies))
	if err != nil {
		return err
	}

	policies, err := collect(rows, func(r *sql.Rows) (id uint64, err error) { return id, r.Scan(&id) })
	if err != nil {
		return err
	}

	if err := s.endJobs(ctx, tx, PauseAll, JobCancelled, why+"; another job is planned"); err != nil {
		return err
	}

	for _, id := range policies {
		if _, err := s.exec(ctx, tx, requestRun, Replanner, id); err != nil {
			return err
		}
	}

	return nil
}

// endJobs ends all open jobs of a policy, or of all (PauseAll). The caller has written the bar.
func (s *Store) endJobs(ctx context.Context, tx *sql.Tx, policy uint64, end JobState, reason string) error {
	ids, err := s.openJobs(ctx, tx, policy)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if err := s.endJob(ctx, tx, id, end, reason); err != nil {
			return err
		}
	}
	return nil
}

// openJobs are the ids of the open jobs of a policy, or of all (PauseAll).
func (s *Store) openJobs(ctx context.Context, tx *sql.Tx, policy uint64) ([]uint64, error) {
	rows, err := tx.QueryContext(ctx, s.sql(selectPolicyJobs), policy, policy)
	if err != nil {
		return nil, err
	}
	return collect(rows, func(r *sql.Rows) (id uint64, err error) { return id, r.Scan(&id) })
}

// endJob moves a job to the history. It locks the tasks before it counts, so that no batch commits
// in between.
func (s *Store) endJob(ctx context.Context, tx *sql.Tx, id uint64, end JobState, reason string) error {
	if !slices.Contains(EndJobStates(), end) {
		return ErrMove
	}

	for _, step := range []func() error{
		func() error { return s.execAll(ctx, tx, []any{id}, restartTasks, barJobDepartures) },
		func() error { return s.settleDepartures(ctx, tx, 0, id) },
		func() error { return s.step(ctx, tx, insertHistory, end, reason, end, end, id) },
		func() error { return s.step(ctx, tx, addToRun, id) },
		func() error { return s.fold(ctx, tx, id, end) },
		func() error { return s.step(ctx, tx, endSchedule, end, id) },
		func() error { return s.step(ctx, tx, moveWatermark, id) },
		func() error { return s.step(ctx, tx, countUndeletable, id) },
		func() error { return s.step(ctx, tx, deleteTasks, id) },
		func() error { return s.step(ctx, tx, deleteJob, id) },
	} {
		if err := step(); err != nil {
			return fmt.Errorf("end job %d: %w", id, err)
		}
	}

	return nil
}

func (s *Store) step(ctx context.Context, tx *sql.Tx, query string, args ...any) error {
	_, err := s.exec(ctx, tx, query, args...)
	return err
}
