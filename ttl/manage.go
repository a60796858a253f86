package ttl

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/ttl/plan"
	"github.com/ttlproxy/ttlproxy/ttl/work"
)

// manage moves a job on: it takes over a job whose node is gone, ends one whose tasks are done,
// that is too old or no longer wanted, and resumes one when what paused it is over. Only the owner
// does this; everything it writes names the job's fence.
func (t *ticker) manage(ctx context.Context, v view, job catalog.Job) error {
	if job.Owner != t.node() {
		if !t.leads {
			return nil
		}

		led, err := t.store.LeadJob(ctx, job.ID, t.node())
		if err != nil {
			return err // ErrFence: its owner lives
		}

		if !t.pulse.Pause.Held { // a clone, say, has the jobs of its original, and nothing becomes of them
			t.log.LogAttrs(ctx, slog.LevelInfo, "job is taken over", work.JobAttrs(led)...)
		}
		job = led
	}

	l, paused := t.limits(), t.personPauses(v, job)
	switch {
	case !l.enabled:
		return t.finish(ctx, job, catalog.JobCancelled, "ttl_job_enable is OFF")
	case job.State == catalog.JobRunning && job.Plan == string(plan.Refuse): // whoever began it could not end it
		return t.finish(ctx, job, catalog.JobFailed, job.PlanReason)
	case job.State == catalog.JobRunning && job.TasksFinished == job.Tasks:
		return t.finish(ctx, job, catalog.JobFinished, "")
	case paused.Why != "" && job.State != catalog.JobNeedsApproval: // an approval may be given meanwhile
		return t.setState(ctx, job, catalog.JobPaused, paused)
	case l.jobTimeout > 0 && job.State == catalog.JobRunning && job.Worked(v.now) > l.jobTimeout:
		return t.finish(ctx, job, catalog.JobTimedOut, fmt.Sprintf("ttl_job_timeout of %s is over",
			ddl.FormatDuration(l.jobTimeout)))
	case tooManyFailed(job.Counts):
		return t.finish(ctx, job, catalog.JobFailed,
			fmt.Sprintf("%d of %d rows could not be deleted; see SHOW TTL ERRORS",
				job.Counts.Failed, job.Counts.Failed+job.Counts.Deleted))
	default:
		return t.reconsider(ctx, v, job)
	}
}

// personPauses says why only a person can let a job go on; empty if that is not so.
func (t *ticker) personPauses(v view, job catalog.Job) catalog.Waits {
	switch {
	case t.pulse.Pause.Held:
		return catalog.Waits{Why: "the server is held", For: catalog.ForPerson}
	case t.pulse.Pause.InForce(v.now), v.schedule[job.PolicyID].Paused.InForce(v.now):
		return catalog.Waits{Why: "PAUSE TTL", For: catalog.ForPerson}
	default:
		return catalog.Waits{}
	}
}

// tooManyFailed is TiDB's limit: over 40 % of more than 10,000 rows.
func tooManyFailed(c catalog.Counts) bool {
	handled := c.Deleted + c.Failed
	return handled > 10_000 && c.Failed*10 > handled*4
}

func (t *ticker) finish(ctx context.Context, job catalog.Job, end catalog.JobState, reason string) error {
	t.sumUp(ctx, job)
	if end == catalog.JobFinished {
		if err := t.forgetMended(ctx, job); err != nil && ctx.Err() == nil {
			t.log.LogAttrs(ctx, slog.LevelWarn, "old row errors stay listed",
				slog.Uint64("job", job.ID), slog.Any("err", err))
		}
	}

	if err := t.store.FinishJob(ctx, job.ID, job.Fence, end, reason); err != nil {
		return err
	}

	job.State, job.Reason = end, reason
	t.metrics.jobEnded(job)
	if t.engine.looks.serve(job.PolicyID) {
		t.engine.wakeTicker() // to look again in time
	}
	t.log.LogAttrs(ctx, slog.LevelInfo, "job ends", append(work.JobAttrs(job),
		slog.Uint64("deleted", job.Counts.Deleted), slog.Uint64("refreshed", job.Counts.Refreshed),
		slog.Uint64("skipped", job.Counts.Skipped),
		slog.Uint64("failed", job.Counts.Failed), slog.Uint64("examined", job.Counts.Examined))...)
	return nil
}

// reconsider lets a job wait for its window, pauses it if there is a reason to, and resumes it when
// nothing is in its way any more.
func (t *ticker) reconsider(ctx context.Context, v view, job catalog.Job) error {
	s, known := v.schedule[job.PolicyID]
	if !known {
		return nil
	}
	if job.State == catalog.JobNeedsApproval {
		return t.recount(ctx, v, s, job)
	}
	if s.Unread != "" {
		return t.setState(ctx, job, catalog.JobPaused, catalog.Waits{Why: s.Unread})
	}
	if closed := s.Terms.Timing.Closed(v.now, t.limits().Window); closed != "" {
		return t.setState(ctx, job, catalog.JobWaitingWindow, catalog.Waits{Why: closed})
	}
	if why, err := t.stoppedEverywhere(ctx); err != nil || why != "" {
		delete(t.reconsidered, job.ID) // it goes on as soon as this is over
		if err != nil {
			return err
		}
		return t.setState(ctx, job, catalog.JobPaused, catalog.Waits{Why: why})
	}
	if !t.reconsiders(job, v.now) {
		return nil
	}

	waits, over, err := t.pauseNow(ctx, v.now, s.Policy, job)
	switch {
	case err != nil:
		return err
	case over:
		return t.finish(ctx, job, catalog.JobCancelled, waits.Why)
	case waits.Why != "":
		return t.setState(ctx, job, catalog.JobPaused, waits)
	default:
		return t.setState(ctx, job, catalog.JobRunning, catalog.Waits{})
	}
}

// stoppedEverywhere says why no engine deletes, if that is so because each of them is stopped, as by a stop file.
func (t *ticker) stoppedEverywhere(ctx context.Context) (string, error) {
	why := t.engine.stopped()
	if why == "" {
		return "", nil
	}
	nodes, err := t.engine.store.Nodes(ctx)
	if err != nil {
		return "", err
	}
	for _, n := range nodes {
		if n.ID != t.node() && n.Live && n.Engine && n.Stop == "" {
			return "", nil
		}
	}
	return why, nil
}

// reconsiderEvery is how often a job's table is checked for reasons to pause it, reconsiderFor how
// long that may take in a tick: if there are many jobs, some wait for the next tick.
const (
	reconsiderEvery = 5 * time.Second
	reconsiderFor   = time.Second
)

// inTurn puts those jobs first whose tables have not been checked for the longest: in any other order
// the last of many would never be.
func (t *ticker) inTurn(jobs []catalog.Job) []catalog.Job {
	return slices.SortedStableFunc(slices.Values(jobs), func(a, b catalog.Job) int {
		return t.reconsidered[a.ID].Compare(t.reconsidered[b.ID])
	})
}

// reconsiders says whether it is time to check a job's table. That of a new job was checked a moment
// ago, under the same settings.
func (t *ticker) reconsiders(job catalog.Job, now time.Time) bool {
	waits := job.State == catalog.JobWaitingWindow || job.PausedByPerson() // which is over now
	isNew := now.Sub(job.CreatedAt) < reconsiderEvery && job.CreatedAt.After(t.settingsAt)
	wasJustNow := time.Since(t.reconsidered[job.ID]) < reconsiderEvery
	if !waits && (isNew || wasJustNow || time.Since(t.tendsAt) > reconsiderFor) {
		return false
	}
	t.reconsidered[job.ID] = time.Now()
	return true
}

// pauseNow says why a job must wait although its policy is in force and its window open, or that it is over; empty
// when it need not.
func (t *ticker) pauseNow(
	ctx context.Context, now time.Time, p catalog.Policy, job catalog.Job,
) (waits catalog.Waits, over bool, err error) {
	if err := t.session.Ready(ctx); err != nil {
		return waits, false, err
	}

	facts, err := tables.ReadFacts(ctx, t.session, p.Table.Schema, p.Table.Name)
	if err != nil {
		return waits, false, err
	}

	_, unkept, err := t.staying(ctx, now, p, facts)
	if err != nil {
		return waits, false, err
	}

	if waits, err = t.pauses(ctx, p, facts, unkept); err != nil || waits.Why != "" {
		return waits, false, err
	}

	known, err := t.store.Identities(ctx, p.ID)
	if err == nil && known.AtFirstSight() {
		known, err = t.tables.Recognize(ctx, p) // those who could vouch for it may be gone
	}
	if err != nil {
		return waits, false, err
	}

	_, remembered := known.At(job.Partition)
	_, there := facts.Partition(job.Partition)
	if waits.Why = work.Over(known, job); waits.Why != "" && (remembered || !there) {
		return waits, true, nil
	}
	waits = partitionPause(known, job.Partition, catalog.Waits{})
	if waits.Why != "" || plan.Way(job.Plan) != plan.GoWhole {
		return waits, false, nil
	}
	waits.Why, err = t.store.Rests(ctx, p.ID, now)
	return waits, false, err
}

// setState moves a job to another state, or gives its state another reason.
func (t *ticker) setState(ctx context.Context, job catalog.Job, next catalog.JobState, w catalog.Waits) error {
	if next == job.State && w.Why == job.Reason && w.For == job.WaitsFor {
		return nil
	}
	if err := t.store.SetJobState(ctx, job.ID, job.Fence, next, w); err != nil {
		return err
	}
	job.State, job.Reason, job.WaitsFor = next, w.Why, w.For
	t.log.LogAttrs(ctx, slog.LevelInfo, "job changes its state", work.JobAttrs(job)...)
	return nil
}

// forget drops what is remembered about jobs that have ended.
func (t *ticker) forget(jobs []catalog.Job) {
	for id := range t.reconsidered {
		if !slices.ContainsFunc(jobs, func(j catalog.Job) bool { return j.ID == id }) {
			delete(t.reconsidered, id)
		}
	}
	for id := range t.recounted {
		if !slices.ContainsFunc(jobs, func(j catalog.Job) bool { return j.PolicyID == id }) {
			delete(t.recounted, id)
		}
	}
	for id := range t.summedUp {
		if !slices.ContainsFunc(jobs, func(j catalog.Job) bool { return j.ID == id }) {
			delete(t.summedUp, id)
		}
	}
}
