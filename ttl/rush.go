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
	on    atomic.Bool // the crew claims nothing
	since time.Time   // of the ticker: when many jobs were due for the first time; zero when few are
}

const (
	// manyDue is from how many jobs on the crew waits.
	manyDue = 4 * mostStarters
	// rushFor is how long it waits at most: after that, jobs start beside the work.
	rushFor = 30 * time.Second
)

// begins reports whether the crew has to wait for these jobs. Others do not keep a requested job,
// which comes first among them, waiting.
func (r *rush) begins(due []duePolicy) bool {
	if len(due) < manyDue {
		r.since = time.Time{}
		return false
	}
	if r.since.IsZero() {
		r.since = time.Now()
	}

	begins := due[0].trigger != catalog.TriggerManual && time.Since(r.since) < rushFor
	r.on.Store(begins)
	return begins
}

// many reports whether many jobs were due at the last tick; for the ticker.
func (r *rush) many() bool { return !r.since.IsZero() }

// ends lets the crew go on.
func (r *rush) ends(wakeCrew func()) {
	r.on.Store(false)
	wakeCrew()
}
