package ttl

import (
	"context"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/ttl/plan"
	"github.com/ttlproxy/ttlproxy/ttl/work"
)

// recount keeps what a run says that waits for approval what it is by now: others delete rows meanwhile, and bring old
// ones in. What somebody agrees to is what the jobs say. All jobs of a run are counted together, once in a while, from
// the first of them.
func (t *ticker) recount(ctx context.Context, v view, s scheduled, job catalog.Job) error {
	every := t.engine.cfg.recountEvery
	if t.pulse.Pause.Held || job.Version != s.Version || v.now.Sub(job.StateAt) < every ||
		time.Since(t.recounted[job.PolicyID]) < every || time.Since(t.tendsAt) > reconsiderFor {
		return nil
	}
	t.recounted[job.PolicyID] = time.Now()

	waiting := t.waiting(v.jobs, job.PolicyID)
	left, all, err := t.leftOf(ctx, s.Policy, waiting)
	if err != nil {
		return err
	}
	why, err := t.whyStill(ctx, s, job, all)
	if err != nil {
		return err
	}

	var before, now uint64
	for i, j := range waiting {
		due, reason := j.Counts.Deleted+uint64(max(left[i].Expired, 0)), why
		if j.StateAt.After(j.CreatedAt) { // it has begun, and asks in the middle
			reason = work.UsedUp(j, left[i])
		}
		if j.EstimatedRows != nil {
			before += *j.EstimatedRows
		}
		now += due
		if err := t.tellDue(ctx, j, due, reason); err != nil {
			return err
		}
	}

	if now <= catalog.Covered(before) {
		return nil
	}
	return t.store.Record(ctx, catalog.Event{ // which people may have an ear for
		Kind: catalog.EventBraked, PolicyID: job.PolicyID, Version: job.Version, Table: job.Table, Actor: t.actor(),
		Text: why,
	})
}

// waiting are the jobs of a policy that this node leads and that wait for approval.
func (t *ticker) waiting(jobs []catalog.Job, policy uint64) (found []catalog.Job) {
	for _, j := range jobs {
		if j.PolicyID == policy && j.State == catalog.JobNeedsApproval && j.Owner == t.node() {
			found = append(found, j)
		}
	}
	return found
}

// tellDue writes down what a job says, if that is news.
func (t *ticker) tellDue(ctx context.Context, j catalog.Job, due uint64, reason string) error {
	if reason == j.Reason && j.EstimatedRows != nil && due == *j.EstimatedRows {
		return nil
	}
	return t.store.Recount(ctx, j, due, reason)
}

// leftOf counts what is left of jobs of one policy, with what goes along; and all of it together, as the brake does.
func (t *ticker) leftOf(
	ctx context.Context, p catalog.Policy, jobs []catalog.Job,
) (left []plan.Estimate, all plan.Estimate, err error) {
	if err := t.session.Ready(ctx); err != nil {
		return nil, all, err
	}
	f, err := tables.ReadFacts(ctx, t.session, p.Table.Schema, p.Table.Name)
	if err != nil {
		return nil, all, err
	}
	stay, _, err := plan.ReadStaying(ctx, t.session, p.Terms, &f.Layout, f.Children)
	if err != nil {
		return nil, all, err
	}

	prospects := make([]prospect, len(jobs))
	for i, j := range jobs {
		x := &prospects[i]
		x.partition = j.Partition
		if x.statements, x.estimate, err = work.Left(ctx, t.session, j, p, f, stay); err != nil {
			return nil, all, err
		}
		if err := t.weigh(ctx, p, x); err != nil {
			return nil, all, err
		}
		left = append(left, x.estimate.With(stay.Along()))
	}
	return left, together(prospects, f), nil
}

// whyStill is what the brake says of a run that has not begun, as if it were to begin when it was held: a run that
// would not be held any more waits for a person all the same.
func (t *ticker) whyStill(ctx context.Context, s scheduled, job catalog.Job, all plan.Estimate) (string, error) {
	runs, err := t.store.Runs(ctx, job.PolicyID)
	if err != nil {
		return "", err
	}
	r := run{duePolicy: duePolicy{policy: s.Policy, ran: s.ran}}
	if why := braked(job.CreatedAt, s.Policy, r.withLook(runs), all, *t.limits()).Why; why != "" {
		return why, nil
	}
	return asking(all.Against(job.UsualRows), s.Policy, all), nil
}
