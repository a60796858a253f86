package report

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/ddl"
)

// StartWait is how long a job that was asked for may take to start.
const StartWait = 30 * time.Second

const (
	// leastPause and mostPause bound the time between two looks at a job that somebody waits for.
	leastPause, mostPause = 5 * time.Millisecond, 200 * time.Millisecond
	// reasonsEvery is how often to look for reasons that keep a job from starting.
	reasonsEvery = mostPause
)

// Pause is how long to wait before the next look at a job that has already been awaited for a given
// time: an eighth of that. So what ends soon is reported soon, and what takes long is not asked
// about all the time.
func Pause(waited time.Duration) time.Duration {
	return min(max(waited/8, leastPause), mostPause)
}

// Refusal is the error of a job that was asked for and cannot run.
type Refusal struct {
	Table catalog.Table
	Why   string
}

// Error says what is in the way.
func (r *Refusal) Error() string {
	return fmt.Sprintf("The TTL job of %s cannot run now: %s", r.Table, r.Why)
}

// MayRun says whether a job of a policy can run now, or is running. The error is a *Refusal.
func (s *Snapshot) MayRun(p *catalog.Policy) error {
	if s.goesOn(p.ID) {
		return nil
	}
	if v, held := s.Holding(p.ID); held {
		return &Refusal{p.Table, v.String()}
	}
	if halt := s.Halt(); halt.Why != "" && !halt.Passes() {
		return &Refusal{p.Table, halt.Verdict().String()}
	}
	return nil
}

// goesOn reports whether a job of a policy is running that nothing holds: perhaps that of one
// partition, while others wait.
func (s *Snapshot) goesOn(policy uint64) bool {
	return slices.ContainsFunc(s.workByID(policy), func(w *Work) bool {
		_, held := w.holding()
		return w.Job != nil && w.Job.State == catalog.JobRunning && !held
	})
}

// Holding is the verdict that keeps the jobs of a policy from running now, if there is one. A partition that is held
// keeps none of the others from it.
func (s *Snapshot) Holding(policy uint64) (Verdict, bool) {
	for _, w := range s.workByID(policy) {
		if w.Held != "" && !s.Holds[policy].All {
			continue
		}
		if v, held := w.holding(); held {
			return v, true
		}
	}
	return Verdict{}, false
}

// holding is the verdict that keeps a job from running now. A closed window does so even if nothing
// is due: a job that somebody asks for has to wait for it. What signals hold goes on when they let it.
func (w *Work) holding() (Verdict, bool) {
	if v := Judge(w); v.Word.Waits() && !w.stands() {
		return v, true
	}
	closed := w.timing().Closed(w.Now, w.Window)
	return Verdict{WindowClosed, closed}, closed != ""
}

// workByID is the part of Work that is about one policy.
func (s *Snapshot) workByID(policy uint64) []*Work {
	i := slices.IndexFunc(s.Policies, func(p *catalog.Policy) bool { return p.ID == policy })
	if i < 0 {
		return nil
	}
	return s.workOf(s.Policies[i])
}

// lastJob is the number of the latest job of a policy; 0 when there was none.
func (s *Snapshot) lastJob(policy uint64) (last uint64) {
	for _, c := range s.pastOf(policy).Schedules {
		last = max(last, c.LastJob)
	}
	return last
}

// OpenJobsOf lists the open jobs of a policy.
func (s *Snapshot) OpenJobsOf(policy uint64) (jobs []catalog.EndedJob) {
	for i := range s.Jobs {
		if j := &s.Jobs[i]; j.PolicyID == policy {
			jobs = append(jobs, catalog.EndedJob{Job: *j})
		}
	}
	return jobs
}

// answering lists the jobs of a policy, open or ended, whose run began at a moment or later: what
// had expired by then is due in them.
func (s *Snapshot) answering(policy uint64, asked time.Time) (jobs []catalog.EndedJob) {
	open, past := s.OpenJobsOf(policy), s.pastOf(policy)
	for i := range past.Schedules {
		c := &past.Schedules[i]
		if c.LastStartedAt.Before(asked) {
			continue
		}

		at := slices.IndexFunc(open, func(j catalog.EndedJob) bool { return j.ID == c.LastJob })
		if at >= 0 {
			jobs = append(jobs, open[at])
		} else if last := past.LastOf(c.Partition); last != nil && last.ID >= c.LastJob {
			jobs = append(jobs, *last)
		}
	}
	return jobs
}

// asks reports whether a run of a policy that was asked for at a moment has not been cancelled.
func (s *Snapshot) asks(policy uint64, asked time.Time) bool {
	c := s.pastOf(policy).Schedule("")
	return c != nil && !c.RequestedAt.Before(asked)
}

// Await waits for the jobs of a run that was asked for at a moment: open ones, or ended ones, for
// some are very short. While jobs of an earlier run are open it returns these, and false. Between
// two looks it calls pause. It gives up with a *Refusal if something comes up that keeps the policy
// from running, if somebody cancels the run, or if no engine starts it within StartWait. What was seen
// a moment before the run was asked for is not read again; nil if that is nothing.
func Await(
	ctx context.Context, from Starts, p *catalog.Policy, seen *Snapshot, asked time.Time,
	pause func(context.Context) error,
) (jobs []catalog.EndedJob, answer bool, err error) {
	late := &Refusal{p.Table, fmt.Sprintf("no engine has started it within %s: see SHOW TTL NODES",
		ddl.FormatDuration(StartWait))}
	ctx, cancel := context.WithTimeoutCause(ctx, StartWait, late)
	defer cancel()

	for s := seen; ; s = nil {
		if s == nil || len(s.OpenJobsOf(p.ID)) > 0 {
			if s, err = ReadOf(ctx, from, p.ID); err != nil {
				return nil, false, causeOf(ctx, err)
			}
			if jobs := s.answering(p.ID, asked); len(jobs) > 0 {
				return jobs, true, nil
			}
			if jobs := s.OpenJobsOf(p.ID); len(jobs) > 0 {
				return jobs, false, nil
			}
			if err := s.mayStart(p, asked); err != nil {
				return nil, false, err
			}
		}

		if err := awaitStart(ctx, from, p.ID, s.lastJob(p.ID), pause); err != nil {
			return nil, false, causeOf(ctx, err)
		}
	}
}

// causeOf is why a context has ended, or the error if it has not.
func causeOf(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// mayStart says why a run that was asked for at a moment does not start.
func (s *Snapshot) mayStart(p *catalog.Policy, asked time.Time) error {
	if s.asks(p.ID, asked) {
		return s.MayRun(p)
	}
	if held := s.Holds[p.ID].Places; len(held) > 0 {
		return &Refusal{p.Table, "nothing else is due: " + Verdict{Paused, held[0].Why}.String()}
	}
	return &Refusal{p.Table, "somebody has cancelled it"}
}

// awaitStart pauses until a policy has a job numbered higher than one, or it is time to look for
// reasons why it has none.
func awaitStart(ctx context.Context, from Starts, policy, after uint64, pause func(context.Context) error) error {
	for began := time.Now(); time.Since(began) < reasonsEvery; {
		if err := pause(ctx); err != nil {
			return err
		}
		if last, err := from.LastJob(ctx, policy); err != nil || last > after {
			return err
		}
	}
	return nil
}
