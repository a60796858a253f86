package report

import (
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/ddl"
)

// Work is what is known about one policy on one table, or on one partition of it, at one moment.
type Work struct {
	Now       time.Time // of the database
	Policy    catalog.Policy
	Partition string // empty for a table as a whole
	// Halt says why nothing at all is deleted anywhere; empty when that is not so.
	Halt string
	// Job is the open job, nil when there is none.
	Job *catalog.Job
	// Last is the job that ended last, nil when there was none.
	Last *catalog.EndedJob
	// LastStarted is when the last job started, zero when there was none.
	LastStarted time.Time
	// Requested is when RUN TTL JOB asked for a job last, zero when nobody did. It waits while it is later than LastStarted.
	Requested time.Time
}

// minInterval bounds TTL_JOB_INTERVAL from below where we divide by it or measure against it: the engine looks
// every few seconds, so a shorter one promises nothing.
const minInterval = time.Minute

// Interval is the time from one start to the next.
func (w *Work) Interval() time.Duration {
	d, err := ddl.Duration(w.Policy.Rule.JobInterval)
	if err != nil {
		return 24 * time.Hour // not reached: the clause was checked when it was declared
	}
	return d
}

// NextRun is when the next job is due, zero when none will start as things stand.
func (w *Work) NextRun() time.Time {
	switch {
	case w.Halt != "" || !w.Policy.Armed() || w.Policy.Paused.Paused:
		return time.Time{}
	case w.Requested.After(w.LastStarted):
		return w.Requested
	case w.LastStarted.IsZero():
		return w.Now
	default:
		return w.LastStarted.Add(w.Interval())
	}
}

// latest is the open job, or the one that ended last; nil when there was none yet.
func (w *Work) latest() *catalog.Job {
	switch {
	case w.Job != nil:
		return w.Job
	case w.Last != nil:
		return &w.Last.Job
	default:
		return nil
	}
}

// Oldest is the expiry of the oldest row that is still there, zero when not known.
func (w *Work) Oldest() time.Time {
	if j := w.latest(); j != nil {
		return j.OldestExpiry
	}
	return time.Time{}
}

// Behind is for how long the oldest row still there has been due. It is not known before a job has looked.
func (w *Work) Behind() (behind time.Duration, known bool) {
	oldest := w.Oldest()
	if oldest.IsZero() {
		return 0, false
	}
	return max(0, w.Now.Sub(oldest)), true
}
