package catalog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// Consent is what a person agrees to.
type Consent struct {
	UpTo   *uint64 // rows, and not one more; nil for what was seen, with the brake's margin
	Seen   *uint64 // rows that were due when somebody looked; nil for what the waiting job says, or the next one finds
	Reason string  // for the event
}

// ApprovalOf is the statement that lets a version of a policy delete the rows that are due, for people to type: it
// says what they have been shown, since both may be others by then. 0 for nobody knows.
func ApprovalOf(t Table, version, due uint64) string {
	text := "APPROVE TTL JOB FOR " + t.String()
	if version > 0 {
		text += fmt.Sprintf(" VERSION %d", version)
	}
	if due > 0 {
		text += fmt.Sprintf(" SEEN %d ROWS", due)
	}
	return text
}

// margin is how much more than was seen a consent covers, since what was seen is an estimate.
const margin = 1.2

// Consent lets this version of a policy delete what the brake would hold, once, even before a job
// exists, and lets waiting jobs go on. A run that is going on is bound by it from now on. It returns how
// many rows they, or the next ones, may delete; nil for what the next run finds.
func (s *Store) Consent(ctx context.Context, actor string, policy, version uint64,
	c Consent,
) (rows *uint64, err error) {
	err = s.tx(ctx, "approve", func(tx *sql.Tx) error {
		// Whatever is about to go asks anew, so that no more goes from now on than is allowed now.
		if err := s.bar(ctx, tx, policy); err != nil {
			return err
		}
		if err := s.settleDepartures(ctx, tx, policy, 0); err != nil {
			return err
		}

		waiting, err := s.waiting(ctx, tx, policy)
		if err != nil {
			return err
		}

		if rows = c.rows(waiting); waiting.jobs > 0 {
			if err := s.extend(ctx, tx, policy, waiting, rows); err != nil {
				return err
			}
		}

		if waiting.jobs == 0 && rows != nil {
			if err := s.rebind(ctx, tx, policy, *rows, c.UpTo != nil); err != nil {
				return err
			}
		}

		n, err := s.exec(ctx, tx, approvePolicy, actor, rows, c.UpTo != nil, policy, version)
		if err != nil {
			return err
		}
		if n == 0 {
			return s.whyNotApproved(ctx, tx, policy)
		}

		return s.recordFor(ctx, tx, policy, EventApproved, actor, c.text(version, rows))
	})
	return rows, err
}

// whyNotApproved: what becomes of an approval while a statement is changing the table was decided when that began.
func (s *Store) whyNotApproved(ctx context.Context, tx *sql.Tx, policy uint64) error {
	p, err := onePolicy(s.policies(ctx, tx, selectPolicyByID, policy))
	if err == nil && p.Stage != nil {
		return ErrTableInDDL
	}
	if err != nil && !errors.Is(err, ErrNoPolicy) {
		return err
	}
	return ErrPolicyChanged
}

// pass records that the brake has judged a version of a policy and passed it, so that from now on
// its runs are judged by what is usual.
func (s *Store) pass(ctx context.Context, tx *sql.Tx, actor string, p Policy) error {
	n, err := s.exec(ctx, tx, passPolicy, actor, p.ID, p.Version)
	if err != nil || n == 0 {
		return err // somebody has approved it, or it has changed: inForce tells
	}
	return s.record(ctx, tx, p.event(EventApproved, actor, fmt.Sprintf("version %d passed the brake", p.Version)))
}

// waitingJobs are the jobs of a policy that wait for approval.
type waitingJobs struct {
	jobs    int
	due     uint64  // rows that they found due and have not deleted
	bound   *uint64 // of the run
	deleted uint64  // by the run
}

func (s *Store) waiting(ctx context.Context, tx *sql.Tx, policy uint64) (w waitingJobs, err error) {
	var bound sql.Null[uint64]
	if err = tx.QueryRowContext(ctx, s.sql(selectWaiting), policy).Scan(&w.jobs, &w.due, &bound); err != nil ||
		w.jobs == 0 {
		return w, err
	}
	w.bound = pointer(bound)
	w.deleted, err = s.runDeleted(ctx, tx, policy)
	return w, err
}

// runDeleted is what the open run of a policy has deleted so far, of all partitions.
func (s *Store) runDeleted(ctx context.Context, tx *sql.Tx, policy uint64) (deleted uint64, err error) {
	err = tx.QueryRowContext(ctx, s.sql(selectRunDeleted), policy, policy, policy).Scan(&deleted)
	return deleted, err
}

// rows is how many rows a consent is for.
func (c Consent) rows(w waitingJobs) *uint64 {
	if c.UpTo != nil {
		return c.UpTo
	}

	seen := c.Seen
	if seen == nil && w.jobs > 0 {
		seen = &w.due
	}
	if seen == nil {
		return nil
	}

	n := Covered(*seen)
	if w.bound != nil && *w.bound > w.deleted {
		n = max(n, *w.bound-w.deleted) // which needed no consent
	}
	return &n
}

// Covered is how many rows a consent to some covers.
func Covered(rows uint64) uint64 { return uint64(margin*float64(rows)) + 1 }

// extend gives a waiting run that many more rows.
func (s *Store) extend(ctx context.Context, tx *sql.Tx, policy uint64, w waitingJobs, rows *uint64) error {
	if _, err := s.exec(ctx, tx, boundJobs, further(w.deleted, *rows), policy); err != nil {
		return err
	}
	return s.execAll(ctx, tx, []any{policy}, approveJobs, askAnew)
}

// rebind lets the run that is open delete that many more rows: exactly, or at least. Its tasks have to ask
// anew, so that no batch commits between the count of what is deleted and its new bound.
func (s *Store) rebind(ctx context.Context, tx *sql.Tx, policy, rows uint64, exactly bool) error {
	if _, err := s.exec(ctx, tx, askAnew, policy); err != nil {
		return err
	}
	deleted, err := s.runDeleted(ctx, tx, policy)
	if err != nil {
		return err
	}
	bind := raiseBound
	if exactly {
		bind = boundJobs
	}
	_, err = s.exec(ctx, tx, bind, further(deleted, rows), policy)
	return err
}

// further is a number of rows beyond those that are deleted, or as many as can be counted.
func further(deleted, rows uint64) uint64 { return deleted + min(rows, 1<<64-1-deleted) }

// Recount writes down how many rows of a job that waits for approval are due by now, and why it waits: whoever has
// answered since the job was read has not been shown that.
func (s *Store) Recount(ctx context.Context, job Job, due uint64, reason string) error {
	return s.tx(ctx, fmt.Sprintf("recount job %d", job.ID), func(tx *sql.Tx) error {
		if err := s.unchanged(ctx, tx, job, JobNeedsApproval); err != nil {
			return err
		}
		_, err := s.exec(ctx, tx, recountJob, reason, due, job.ID)
		return err
	})
}

// unchanged locks a job that is in a state still, and reports ErrMove if it has left it since it was read.
func (s *Store) unchanged(ctx context.Context, tx *sql.Tx, job Job, in JobState) error {
	if _, err := s.lockJob(ctx, tx, job.ID, job.Fence); err != nil {
		return err
	}
	var same bool
	if err := tx.QueryRowContext(ctx, s.sql(selectSameState), in, job.StateAt, job.ID).Scan(&same); err != nil {
		return err
	}
	if !same {
		return ErrMove
	}
	return nil
}

// Ask makes a running job wait for approval, with what is known of the rows that are left. It
// reports ErrMove if the job has changed its state since it was read: somebody may already have
// answered.
func (s *Store) Ask(ctx context.Context, actor string, job Job, reason string) error {
	return s.tx(ctx, fmt.Sprintf("ask for approval of job %d", job.ID), func(tx *sql.Tx) error {
		if err := s.unchanged(ctx, tx, job, JobRunning); err != nil {
			return err
		}
		if _, err := s.exec(ctx, tx, restartTasks, job.ID); err != nil {
			return err
		}
		if _, err := s.exec(ctx, tx, askApproval, reason, job.EstimatedRows, job.ID); err != nil {
			return err
		}

		return s.record(ctx, tx, Event{
			Kind: EventBraked, PolicyID: job.PolicyID, Version: job.Version, Table: job.Table, Actor: actor,
			Text: reason,
		})
	})
}

func (c Consent) text(version uint64, rows *uint64) string {
	text := fmt.Sprintf("version %d", version)
	if rows != nil {
		text += fmt.Sprintf(", up to %d rows", *rows)
	}
	if c.Reason != "" {
		text += ": " + c.Reason
	}
	return text
}
