package statement

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/report"
	"github.com/ttlproxy/ttlproxy/ddl"
)

// pingEvery is how often, while a job runs, its session is tried on the server, so that KILL ends
// the wait, and the catalog is asked what now keeps the job from going on.
const pingEvery = 5 * time.Second

// runJob answers RUN TTL JOB: with the job or, with WAIT, when it has ended. A job that cannot go
// on by itself is an error that says what it waits for.
func (a *admin) runJob(ctx context.Context, s *ddl.RunJob) (*reply, error) {
	p, err := a.allowed(ctx, s.Table)
	if err != nil {
		return nil, err
	}

	w := &jobWait{a: a, policy: p, began: time.Now(), pingAt: time.Now()}
	jobs, err := w.run(ctx, s.Wait)
	if err != nil {
		return nil, err
	}

	if stands(jobs) { // behind our back
		if _, err := a.mayRun(ctx, p); err != nil {
			return nil, err
		}
	}

	held, err := a.q.store.Holds(ctx)
	if err != nil {
		return nil, err
	}

	l := report.Runs(p.Table, jobs, held[p.ID].Places)
	return &reply{list: &l}, nil
}

// mayRun says why a job cannot run now, and returns what it has seen.
func (a *admin) mayRun(ctx context.Context, p catalog.Policy) (*report.Snapshot, error) {
	ctx, cancel := context.WithTimeout(ctx, adminWait)
	defer cancel()
	s, err := report.ReadOf(ctx, a.q.store, p.ID)
	if err != nil {
		return nil, err
	}
	return s, a.mayGoOn(ctx, s, p)
}

// mayGoOn says why a job cannot run now, or why one that is running deletes nothing. The engine
// notices within seconds that the server became read-only; until then nobody must be told that the
// job runs.
func (a *admin) mayGoOn(ctx context.Context, s *report.Snapshot, p catalog.Policy) error {
	if err := s.MayRun(&p); err != nil {
		return refusedRun(err)
	}

	readOnly, err := a.q.store.ReadOnly(ctx)
	if err == nil && readOnly {
		err = refusedRun(&report.Refusal{
			Table: p.Table,
			Why:   report.Verdict{Word: report.Paused, Detail: "the server is read-only"}.String(),
		})
	}
	return err
}

// refusedRun is the answer to a client whose job cannot run.
func refusedRun(err error) error {
	if r, refused := errors.AsType[*report.Refusal](err); refused {
		return refuse("%s", r)
	}
	return err
}

// jobWait follows the jobs of one policy.
type jobWait struct {
	a      *admin
	policy catalog.Policy
	asked  time.Time // when a run was asked for, by the database's clock
	began  time.Time
	pingAt time.Time // when the session was last tried on the server
}

// run asks for a run of the policy, if it may run, and returns its jobs when they have started, or
// even ended: some are very short. While jobs of an earlier run are open it returns these: the one
// that was asked for begins behind them. With wait it returns all these jobs when they have ended,
// or none of them goes on by itself: what had expired when the run was asked for is then gone.
func (w *jobWait) run(ctx context.Context, wait bool) (all []catalog.EndedJob, err error) {
	seen, err := w.a.mayRun(ctx, w.policy)
	if err != nil {
		return nil, err
	}
	if w.asked, err = w.a.q.store.RequestRun(ctx, w.a.q.session.account, w.policy.ID); err != nil {
		return nil, err
	}

	for ; ; seen = nil {
		jobs, answer, err := report.Await(ctx, w.a.q.store, &w.policy, seen, w.asked, w.pause)
		if _, refused := errors.AsType[*report.Refusal](err); refused && anyCancelled(all) {
			return all, nil // with the run that was to follow
		}
		if err != nil {
			return nil, refusedRun(err)
		}

		if wait {
			jobs, err = w.ended(ctx, jobs)
		}
		if all = append(all, jobs...); err != nil || !wait || answer || stands(jobs) {
			return all, err
		}
	}
}

func anyCancelled(jobs []catalog.EndedJob) bool {
	return slices.ContainsFunc(jobs, func(j catalog.EndedJob) bool { return j.State == catalog.JobCancelled })
}

// ended waits until all jobs have ended, or none of them goes on by itself.
func (w *jobWait) ended(ctx context.Context, jobs []catalog.EndedJob) ([]catalog.EndedJob, error) {
	asked := time.Now()
	for {
		for i := range jobs {
			if err := w.refresh(ctx, &jobs[i]); err != nil {
				return nil, err
			}
		}

		if !anyRunning(jobs) {
			return jobs, nil
		}

		if time.Since(asked) >= pingEvery {
			if _, err := w.a.mayRun(ctx, w.policy); err != nil {
				return nil, err
			}
			asked = time.Now()
		}

		if err := w.pause(ctx); err != nil {
			return nil, err
		}
	}
}

// stands reports whether jobs have begun and none of them can go on by itself.
func stands(jobs []catalog.EndedJob) bool {
	return !anyRunning(jobs) && slices.ContainsFunc(jobs, func(j catalog.EndedJob) bool { return j.State.Open() })
}

func anyRunning(jobs []catalog.EndedJob) bool {
	return slices.ContainsFunc(jobs, func(j catalog.EndedJob) bool { return j.State == catalog.JobRunning })
}

// refresh reads a job again, from where it is now.
func (w *jobWait) refresh(ctx context.Context, j *catalog.EndedJob) error {
	open, err := w.a.q.store.Job(ctx, j.ID)
	if err == nil {
		*j = catalog.EndedJob{Job: open}
		return nil
	}
	if !errors.Is(err, catalog.ErrNoJob) {
		return err
	}
	*j, err = w.a.q.store.EndedJob(ctx, j.Job)
	return err
}

// pause waits until it is worth looking again, or until the client or its session on the server is
// gone.
func (w *jobWait) pause(ctx context.Context) error {
	timer := time.NewTimer(report.Pause(time.Since(w.began)))
	defer timer.Stop()

	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
	}

	if err := w.a.q.x.Watch(); err != nil {
		return err
	}
	if time.Since(w.pingAt) < pingEvery {
		return nil
	}

	w.pingAt = time.Now()
	_, err := w.a.q.x.Ask("DO 0")
	return err
}
