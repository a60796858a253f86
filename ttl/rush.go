package ttl

import (
	"sync/atomic"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
)

// rush is when many jobs are due at once: then they are started before this node claims tasks. A
// start costs a fraction of a job, and workers that go on meanwhile take server and proxy time from
// it; the work itself is the same in any order.
type rush struct {
	until atomic.Pointer[time.Time] // the crew claims nothing before then
	since time.Time                 // of the ticker: when many jobs were due for the first time; zero outside a rush
}

const (
	// manyDue is from how many jobs on the crew waits.
	manyDue = 4 * mostStarters
	// rushFor is how long it waits at most: after that, jobs start beside the work.
	rushFor = 30 * time.Second
	// rushOn is how long it waits for the next tick, if this one had no time for all jobs.
	rushOn = startFor
)

// begins reports whether the crew has to wait for these jobs: many of them, or the last of many.
// Others do not keep a requested job, which comes first among them, waiting.
func (r *rush) begins(due []duePolicy) bool {
	few := len(due) < manyDue
	switch {
	case len(due) == 0, few && time.Since(r.since) >= rushFor:
		r.since = time.Time{}
	case r.since.IsZero():
		r.since = time.Now()
	}

	if r.since.IsZero() || time.Since(r.since) >= rushFor || due[0].trigger == catalog.TriggerManual {
		r.wait(0)
		return false
	}

	r.wait(rushFor)
	return true
}

// wait keeps the crew waiting for as long.
func (r *rush) wait(d time.Duration) {
	until := time.Now().Add(d)
	r.until.Store(&until)
}

// waits reports whether the crew has to wait; any of its workers asks.
func (r *rush) waits() bool {
	until := r.until.Load()
	return until != nil && time.Now().Before(*until)
}

// many reports whether many jobs were due at the last tick; for the ticker.
func (r *rush) many() bool { return !r.since.IsZero() }

// ends lets the crew go on, unless some jobs have still to be started by the next tick.
func (r *rush) ends(left int, wakeCrew func()) {
	if left > 0 {
		r.wait(rushOn)
		return
	}
	r.wait(0)
	wakeCrew()
}
