package ttl

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/ttl/plan"
)

// manage moves a job on: takes it over when its node is gone, ends it when its tasks are done, when it is too old or not
// wanted any more, and lets it go on when what held it is over. Only the owner does this; everything it writes
// names the job's fence.
func (t *ticker) manage(ctx context.Context, job catalog.Job) error {
	if job.Owner != t.node.Load() {
		if !t.leads {
			return nil
		}
		led, err := t.store.LeadJob(ctx, job.ID, t.node.Load())
		if err != nil {
			return err // ErrFence: its owner lives
		}
		t.log.LogAttrs(ctx, slog.LevelInfo, "job is taken over", jobAttrs(led)...)
		job = led
	}
	l := t.limits.Load()
	switch {
	case !l.enabled:
		return t.finish(ctx, job, catalog.JobCancelled, "ttl_job_enable is OFF")
	case job.State == catalog.JobRunning && job.TasksFinished == job.Tasks:
		return t.finish(ctx, job, catalog.JobFinished, "")
	case l.jobTimeout > 0 && job.State == catalog.JobRunning:
		now, err := t.store.Clock(ctx)
		if err != nil {
			return err
		}
		if now.Sub(job.CreatedAt) > l.jobTimeout {
			return t.finish(ctx, job, catalog.JobTimedOut, fmt.Sprintf("ttl_job_timeout of %v is over", l.jobTimeout))
		}
	}
	if tooManyFailed(job.Counts) {
		return t.finish(ctx, job, catalog.JobFailed, fmt.Sprintf("%d of %d rows could not be deleted; see SHOW TTL ERRORS", job.Counts.Failed, job.Counts.Failed+job.Counts.Deleted))
	}
	return t.reconsider(ctx, job)
}

// tooManyFailed is TiDB's limit: over 40 % of more than 10,000 rows.
func tooManyFailed(c catalog.Counts) bool {
	handled := c.Deleted + c.Failed
	return handled > 10_000 && c.Failed*10 > handled*4
}

func (t *ticker) finish(ctx context.Context, job catalog.Job, end catalog.JobState, reason string) error {
	if err := t.store.FinishJob(ctx, job.ID, job.Fence, end, reason); err != nil {
		return err
	}
	job.State, job.Reason = end, reason
	if end == catalog.JobFinished {
		t.forgetRowErrors(ctx, job)
	}
	t.metrics.jobEnded(job)
	t.log.LogAttrs(ctx, slog.LevelInfo, "job ends", append(jobAttrs(job),
		slog.Uint64("deleted", job.Counts.Deleted), slog.Uint64("refreshed", job.Counts.Refreshed), slog.Uint64("skipped", job.Counts.Skipped),
		slog.Uint64("failed", job.Counts.Failed), slog.Uint64("examined", job.Counts.Examined))...)
	return nil
}

// reconsiderEvery is how often the reasons to hold a job are looked at again.
const reconsiderEvery = 5 * time.Second

// reconsider pauses a job for which a reason to wait has come up, and resumes one whose reason is gone.
func (t *ticker) reconsider(ctx context.Context, job catalog.Job) error {
	if job.State == catalog.JobNeedsApproval || time.Since(t.lookedAt[job.ID]) < reconsiderEvery {
		return nil
	}
	t.lookedAt[job.ID] = time.Now()
	if err := t.session.ready(ctx); err != nil {
		return err
	}
	p, err := t.store.PolicyByID(ctx, job.PolicyID)
	if err != nil {
		return err
	}
	closed, err := t.windowClosed(ctx, p)
	if err != nil {
		return err
	}
	facts, err := plan.ReadFacts(ctx, t.session, p.Table.Schema, p.Table.Name)
	if err != nil {
		return err
	}
	why, err := t.holds(ctx, p, facts)
	if err != nil {
		return err
	}
	if why == "" {
		known, err := t.store.Identities(ctx, p.ID)
		if err != nil {
			return err
		}
		why = partitionHold(known, job.Partition, "")
	}
	next, reason := catalog.JobRunning, ""
	switch {
	case why != "":
		next, reason = catalog.JobPaused, why
	case closed != "":
		next, reason = catalog.JobWaitingWindow, closed
	}
	if next == job.State && reason == job.Reason {
		return nil
	}
	return t.turn(ctx, job, next, reason)
}

func (t *ticker) windowClosed(ctx context.Context, p catalog.Policy) (string, error) {
	now, err := t.store.Clock(ctx)
	if err != nil {
		return "", err
	}
	o, err := optionsOf(p)
	if err != nil {
		return "", err
	}
	return o.windowClosed(now, *t.limits.Load()), nil
}

func (t *ticker) turn(ctx context.Context, job catalog.Job, next catalog.JobState, reason string) error {
	if err := t.store.SetJobState(ctx, job.ID, job.Fence, next, reason); err != nil {
		return err
	}
	job.State, job.Reason = next, reason
	t.log.LogAttrs(ctx, slog.LevelInfo, "job changes its state", jobAttrs(job)...)
	return nil
}

// forget drops what is remembered about jobs that have ended.
func (t *ticker) forget(jobs []catalog.Job) {
	for id := range t.lookedAt {
		if !slices.ContainsFunc(jobs, func(j catalog.Job) bool { return j.ID == id }) {
			delete(t.lookedAt, id)
		}
	}
}

const rowErrorsLookedAt = 1000

// forgetRowErrors drops rows from SHOW TTL ERRORS that a whole job has met no more: they were deleted, or refreshed.
func (t *ticker) forgetRowErrors(ctx context.Context, job catalog.Job) {
	all, err := t.store.RowErrors(ctx, job.PolicyID, rowErrorsLookedAt)
	for _, e := range all {
		if err == nil && e.Partition == job.Partition && e.LastAt.Before(job.CreatedAt) {
			err = t.store.ForgetRowError(ctx, job.PolicyID, e.Partition, e.Key)
		}
	}
	if err != nil && ctx.Err() == nil {
		t.log.LogAttrs(ctx, slog.LevelWarn, "old row errors stay listed", slog.Uint64("job", job.ID), slog.Any("err", err))
	}
}
