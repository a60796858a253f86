package proxy

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/report"
	"github.com/ttlproxy/ttlproxy/ddl"
)

const (
	// startWait is how long RUN TTL JOB waits for an engine to start the job.
	startWait = 30 * time.Second
	// pollEvery is how often the catalog is asked meanwhile.
	pollEvery = 200 * time.Millisecond
	// pingEvery is how often the session is tried on the server while its job runs, so that KILL ends the wait.
	pingEvery = 5 * time.Second
)

// runJob answers RUN TTL JOB: with the job, or with WAIT when it has ended. A job that cannot go on by itself is an error, which says
// what it waits for.
func (a *admin) runJob(ctx context.Context, x *exchange, s *ddl.RunJob) (*reply, error) {
	p, err := a.allowed(ctx, s.Table)
	if err != nil {
		return nil, err
	}
	if err := a.mayRun(ctx, p); err != nil {
		return nil, err
	}
	w := &jobWait{admin: a, x: x, policy: p}
	jobs, err := w.join(ctx)
	if err != nil {
		return nil, err
	}
	if s.Wait {
		if jobs, err = w.ended(ctx, jobs); err != nil {
			return nil, err
		}
	}
	if stands(jobs) { // whether it came to stand before we looked or behind our back
		if err := a.mayRun(ctx, p); err != nil {
			return nil, err
		}
	}
	l := report.Runs(jobs)
	return &reply{list: &l}, nil
}

// mayRun says why a job cannot run now.
func (a *admin) mayRun(ctx context.Context, p catalog.Policy) error {
	ctx, cancel := context.WithTimeout(ctx, adminWait)
	defer cancel()
	s, err := report.Read(ctx, a.Store)
	if err != nil {
		return err
	}
	if v, held := holding(s, p.ID); held {
		return refuse("The TTL job of %s cannot run now: %s", p.Table, v)
	}
	if !s.HasEngine() {
		return refuse("The TTL job of %s cannot run now: no engine is running (see SHOW TTL NODES)", p.Table)
	}
	return nil
}

// holding is the verdict that keeps the jobs of a policy from running, if there is one.
func holding(s *report.Snapshot, policy uint64) (report.Verdict, bool) {
	for _, w := range s.Work() {
		if w.Policy.ID != policy {
			continue
		}
		switch v := report.Judge(w); v.Word {
		case report.Disarmed, report.Off, report.Paused, report.NeedsApproval:
			return v, true
		default:
		}
	}
	return report.Verdict{}, false
}

// jobWait follows the jobs of one policy.
type jobWait struct {
	*admin
	x      *exchange
	policy catalog.Policy
}

// join returns the open jobs of the policy. When there are none it asks for them and waits until they are there, or were:
// some are very short.
func (w *jobWait) join(ctx context.Context) ([]catalog.EndedJob, error) {
	jobs, err := w.after(ctx, 0)
	if len(jobs) > 0 && jobs[0].State.Open() || err != nil {
		return jobs, err
	}
	var last uint64
	for i := range jobs {
		last = max(last, jobs[i].ID)
	}
	if err := w.Store.RequestRun(ctx, w.account, w.policy.ID); err != nil {
		return nil, err
	}
	err = w.poll(ctx, startWait, func(ctx context.Context) (bool, error) {
		if jobs, err = w.after(ctx, last); len(jobs) > 0 || err != nil {
			return true, err
		}
		return false, w.stillArmed(ctx)
	})
	if errors.Is(err, errWaited) {
		return nil, refuse("The TTL job of %s was asked for, but no engine has started it within %v: see SHOW TTL NODES", w.policy.Table, startWait)
	}
	return jobs, err
}

// stillArmed says what keeps the job from starting when the engine has found the table to be another one.
func (w *jobWait) stillArmed(ctx context.Context) error {
	p, err := w.Store.PolicyByID(ctx, w.policy.ID)
	if err != nil || p.Armed() {
		return err
	}
	return w.mayRun(ctx, p)
}

// after lists the jobs of the policy with a higher number, the open ones if there are any, else those that have ended.
func (w *jobWait) after(ctx context.Context, last uint64) (jobs []catalog.EndedJob, err error) {
	open, err := w.Store.Jobs(ctx)
	if err != nil {
		return nil, err
	}
	for i := range open {
		if open[i].PolicyID == w.policy.ID && open[i].ID > last {
			jobs = append(jobs, catalog.EndedJob{Job: open[i]})
		}
	}
	if len(jobs) > 0 {
		return jobs, nil
	}
	ended, err := w.Store.History(ctx, catalog.Filter{Table: w.policy.Table})
	for i := range ended {
		if ended[i].PolicyID == w.policy.ID && ended[i].ID > last {
			jobs = append(jobs, ended[i])
		}
	}
	return jobs, err
}

// ended waits until all jobs have ended, or one of them cannot go on by itself.
func (w *jobWait) ended(ctx context.Context, jobs []catalog.EndedJob) ([]catalog.EndedJob, error) {
	err := w.poll(ctx, 0, func(ctx context.Context) (bool, error) {
		for i := range jobs {
			if err := w.refresh(ctx, &jobs[i]); err != nil {
				return false, err
			}
		}
		return !anyRunning(jobs), nil
	})
	return jobs, err
}

// stands reports whether jobs have begun and none of them goes on by itself.
func stands(jobs []catalog.EndedJob) bool {
	return !anyRunning(jobs) && slices.ContainsFunc(jobs, func(j catalog.EndedJob) bool { return j.State.Open() })
}

func anyRunning(jobs []catalog.EndedJob) bool {
	return slices.ContainsFunc(jobs, func(j catalog.EndedJob) bool { return j.State == catalog.JobRunning })
}

// refresh reads a job again, from where it is now.
func (w *jobWait) refresh(ctx context.Context, j *catalog.EndedJob) error {
	open, err := w.Store.Job(ctx, j.ID)
	if err == nil {
		*j = catalog.EndedJob{Job: open}
		return nil
	}
	if !errors.Is(err, catalog.ErrNoJob) {
		return err
	}
	*j, err = w.Store.EndedJob(ctx, j.ID)
	return err
}

var errWaited = errors.New("waited long enough")

// poll asks until done, or for so long; 0 is for ever.
func (w *jobWait) poll(ctx context.Context, long time.Duration, done func(context.Context) (bool, error)) error {
	if long > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, long, errWaited)
		defer cancel()
	}
	tick, ping := time.NewTicker(pollEvery), time.NewTicker(pingEvery)
	defer tick.Stop()
	defer ping.Stop()
	for {
		if ok, err := done(ctx); ok || err != nil && ctx.Err() == nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-ping.C:
			if _, err := w.x.Ask("DO 0"); err != nil {
				return err
			}
		case <-tick.C:
			if err := w.x.Watch(); err != nil {
				return err
			}
		}
	}
}
