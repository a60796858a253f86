package ttl

import (
	"context"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
)

// view is what a tick decides by.
type view struct {
	now  time.Time // the database's clock
	jobs []catalog.Job
	schedule
}

// schedule are all policies with what is known about their jobs so far, by policy.
type schedule map[uint64]scheduled

type scheduled struct {
	catalog.Policy
	ran []catalog.Schedule
}

// known keeps the schedule from tick to tick, so that tables that are not due cost nothing: one
// query shows that nobody has changed anything. What events do not report (a job that another node
// has ended) is read after readAgain, if there is another one.
type known struct {
	schedule
	news uint64 // of the catalog when it was read
	at   time.Time
	took time.Duration // of this tick, to read it; 0 when that was not necessary
}

const (
	readAgain = 10 * time.Second
	readAlone = time.Minute // where nobody else is
)

// forget makes the next tick read the schedule again.
func (k *known) forget() { k.schedule = nil }

// view reads what is needed. A node that neither leads nor has jobs to work on, and was not asked
// for any, needs only the jobs.
func (t *ticker) view(ctx context.Context, pulse catalog.Pulse, jobs []catalog.Job) (v view, err error) {
	v.now, v.jobs = pulse.Now, jobs
	k := &t.known
	k.took = 0
	if !t.leads && !t.heard && len(jobs) == 0 {
		k.forget()
		return v, nil
	}

	again := readAlone
	if pulse.Others {
		again = readAgain
	}
	if k.schedule == nil || k.news != pulse.News || time.Since(k.at) > again {
		began := time.Now()
		if k.schedule, err = t.readSchedule(ctx); err != nil {
			return v, err
		}
		k.news, k.at, k.took = pulse.News, time.Now(), time.Since(began)
	}

	v.schedule = k.schedule
	return v, nil
}

// readSchedule reads what has changed since the last time; the rest is remembered.
func (t *ticker) readSchedule(ctx context.Context) (schedule, error) {
	policies, err := t.store.PoliciesAgain(ctx)
	if err != nil {
		return nil, err
	}

	pasts, err := t.store.PastAgain(ctx)
	if err != nil {
		return nil, err
	}

	all := make(schedule, len(policies))
	for _, p := range policies {
		s := scheduled{Policy: *p}
		if past := pasts[p.ID]; past != nil {
			s.ran = past.Schedules
		}
		all[p.ID] = s
	}

	return all, nil
}

// floors are the shares of full speed that policies with running jobs have at least: those of their owners, and
// all of it where being late is worse than the harm of deletion.
func (v view) floors(late map[uint64]bool) map[uint64]float64 {
	floors := map[uint64]float64{}
	for _, job := range v.jobs {
		o := v.schedule[job.PolicyID].Terms.Options
		switch {
		case job.State != catalog.JobRunning:
		case late[job.PolicyID] && o.Fresh:
			floors[job.PolicyID] = 1
		case o.Floor > 0:
			floors[job.PolicyID] = float64(o.Floor) / 100
		}
	}
	return floors
}

// late lists the policies whose oldest due row is older than their TTL_MAX_LAG allows, as far as
// jobs know: what a job has yet to delete was due when it began.
func (v view) late() map[uint64]bool {
	late := map[uint64]bool{}
	for _, job := range v.jobs {
		goal := v.schedule[job.PolicyID].Terms.Timing.MaxLag
		if job.State == catalog.JobRunning && goal > 0 && v.now.Sub(job.DueSince()) > goal {
			late[job.PolicyID] = true
		}
	}
	return late
}
