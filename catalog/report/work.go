package report

import (
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/ddl"
)

// Work is what is known about one policy on one table, or on one partition of it, at one moment.
type Work struct {
	Now       time.Time // of the database
	Policy    *catalog.Policy
	Partition string // empty for a table as a whole
	// Window is the one of TiDB's variables; nil when there is none that is ever closed.
	Window *ddl.Window
	// Halt says why nothing at all is deleted anywhere; empty when that is not so.
	Halt string
	// Slowed says at what part of their speed jobs delete, and why; empty at full speed.
	Slowed string
	// SlowedBy is the signal that does it.
	SlowedBy string
	// Share is the part of their speed that jobs have in general; 0 if a signal stops them.
	Share float64
	// Stuck says why the next partitions cannot be made (TTL_PARTITION_AHEAD): of one line of a table.
	Stuck string
	// Held says why this partition has no jobs until a person has looked; empty when that is not so.
	Held string
	// Job is the open job, nil when there is none.
	Job *catalog.Job
	// Last is the job that ended last, nil when there was none.
	Last *catalog.EndedJob
	// Ran is when the table and each of its partitions ran last: they start together.
	Ran []catalog.Schedule

	next *time.Time        // when the next job should start: the same for all partitions, found out when asked for
	ran  *catalog.Schedule // the one of Ran that is about this partition
}

// overdue is how late a job may start before its engine is asked after, if its interval is longer.
const overdue = time.Hour

// toldLate is how late it may be told of a look at a table in which nothing is due.
const toldLate = catalog.LooksTold + 10*time.Second

// minInterval bounds TTL_JOB_INTERVAL from below where we divide by it or measure against it: the
// engine looks every few seconds, so a shorter one promises nothing.
const minInterval = time.Minute

// timing is when the policy's jobs start and may run.
func (w *Work) timing() catalog.Timing { return w.Policy.Terms.Timing }

// due is when the next job should start, whether a window lets it or not.
func (w *Work) due() time.Time {
	if w.next == nil {
		w.next = nextOf(w.Policy, w.Ran)
	}
	return *w.next
}

func nextOf(p *catalog.Policy, ran []catalog.Schedule) *time.Time {
	at := p.Terms.Timing.Next(*p, ran).At
	return &at
}

// Interval is the time from one start to the next: of the two after the last one, the longer, since those of
// a cron differ.
func (w *Work) Interval() time.Duration {
	t, from := w.timing(), w.began()
	if t.Cron == nil {
		return t.Interval
	}
	if from.IsZero() {
		from = w.Now
	}
	next := t.Cron.Next(from.In(t.Zone))
	return max(next.Sub(from), t.Cron.Next(next).Sub(next))
}

// expected is when the job after the last one should start, windows aside.
func (w *Work) expected() time.Time {
	if t := w.timing(); t.Cron != nil {
		return t.Cron.Next(w.began().In(t.Zone))
	}
	return w.began().Add(w.Interval())
}

// NextRun is when the next job will start, zero when none will as things stand.
func (w *Work) NextRun() time.Time {
	if w.Halt != "" || !w.Policy.Armed() || w.Policy.Paused.InForce(w.Now) {
		return time.Time{}
	}

	due, t := w.due(), w.timing()
	switch {
	case due.IsZero():
		return due
	case w.lastStarted().IsZero() && due.Before(w.Now):
		return t.Opens(w.Now, w.Window)
	case due.Before(w.Now) && t.Closed(w.Now, w.Window) != "":
		return t.Opens(w.Now, w.Window)
	default:
		return t.Opens(due, w.Window)
	}
}

// lastStarted is when the last job started here, zero when there was none.
func (w *Work) lastStarted() time.Time {
	if c := w.schedule(); c != nil {
		return c.LastStartedAt
	}
	return time.Time{}
}

// began is when a job, or a look without one, saw what was due for the last time.
func (w *Work) began() time.Time {
	if c := w.schedule(); c != nil {
		return c.Began()
	}
	return time.Time{}
}

// schedule is the one of the partition, nil when there is none.
func (w *Work) schedule() *catalog.Schedule {
	for i := 0; w.ran == nil && i < len(w.Ran); i++ {
		if w.Ran[i].Partition == w.Partition {
			w.ran = &w.Ran[i]
		}
	}
	return w.ran
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

// Oldest is the expiry of the oldest row that is still there and could go, zero when not known: one that cannot is
// OldestUndeletable, and nothing is behind for it.
func (w *Work) Oldest() time.Time {
	if seen := w.seen(); !w.stuckSince(seen) {
		return seen
	}
	return time.Time{}
}

// seen is the expiry of the oldest row that the latest job has seen, whatever kept it; zero when not known.
func (w *Work) seen() time.Time {
	if j := w.latest(); j != nil {
		return j.OldestExpiry
	}
	return time.Time{}
}

// stuckSince reports whether a row that expired then cannot be deleted, as the last job knew that came to its end.
func (w *Work) stuckSince(at time.Time) bool {
	rows := w.Undeletable()
	return rows != nil && *rows > 0 && w.OldestUndeletable().Truncate(time.Second).Equal(at.Truncate(time.Second))
}

// leftMore reports whether the job that ended last left rows that are due, beside those that cannot go.
func (w *Work) leftMore() bool {
	stuck := uint64(0)
	if rows := w.Undeletable(); rows != nil {
		stuck = *rows
	}
	return w.Last.Counts.Skipped > 0 || w.Last.Counts.Failed > stuck
}

// Behind is for how long the oldest row still there that could go has been due. When the last job left none that
// was due, it is how late the next one is: where rows should go within seconds, only if it is later than
// a look that found nothing is told. It is not known before a job has looked, and where a job cannot know.
func (w *Work) Behind() (behind time.Duration, known bool) {
	if oldest := w.Oldest(); !oldest.IsZero() {
		return max(0, w.Now.Sub(oldest)), true
	}
	if w.Job != nil || w.Last == nil || w.Last.State != catalog.JobFinished || w.leftMore() {
		return 0, false
	}
	late := max(0, w.Now.Sub(w.expected()))
	if w.timing().Prompt() && late < toldLate {
		late = 0
	}
	return late, true
}

// lag is for how long rows may have been due, as far as jobs tell; 0 when they do not.
func (w *Work) lag() time.Duration {
	behind, known := w.Behind()
	switch {
	case w.Job != nil && known:
		return behind
	case w.Last != nil && w.Last.State == catalog.JobFinished:
		began := w.Last.CreatedAt
		if looked := w.began(); looked.After(began) {
			began = looked
		}
		return w.Now.Sub(began) // what expired right after that job had begun, or nothing was due
	default:
		return 0
	}
}

// lastFailed reports whether the job that ended last did not come to its end.
func (w *Work) lastFailed() bool {
	return w.Last != nil && (w.Last.State == catalog.JobFailed || w.Last.State == catalog.JobTimedOut)
}

// Covered is a moment before which all rows that had expired are gone, or stay because others need
// them; zero when none is known, as before the first job of a version of the policy has come to its
// end and left no other row behind.
func (w *Work) Covered() time.Time {
	if c := w.schedule(); c != nil && c.WatermarkVersion == w.Policy.Version {
		return c.Watermark
	}
	return time.Time{}
}

// Watermark is a moment before which all rows that had expired are gone; zero when none is known. It
// passes neither a row that stays nor the oldest that the latest job has seen, which may have been
// brought in since.
func (w *Work) Watermark() time.Time {
	if w.Held != "" {
		return time.Time{} // nobody looks what has been brought in
	}
	mark := w.Covered()
	if rows := w.Undeletable(); rows != nil && *rows > 0 && !mark.IsZero() {
		mark = earlier(mark, w.OldestUndeletable()) // which may not be known
	}
	if seen := w.seen(); !seen.IsZero() {
		mark = earlier(mark, seen)
	}
	return mark
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// Undeletable is how many rows the last job that came to its end found expired and could not delete,
// because something objects or other rows need them; nil when that is not known.
func (w *Work) Undeletable() *uint64 {
	if c := w.schedule(); c != nil && c.UndeletableVersion == w.Policy.Version {
		return c.Undeletable
	}
	return nil
}

// OldestUndeletable is when the first of those expired; zero when that is not known.
func (w *Work) OldestUndeletable() time.Time {
	if w.Undeletable() == nil {
		return time.Time{}
	}
	return w.schedule().OldestUndeletable
}

// NeverExpire is what the latest job knows of rows that no job will ever delete.
func (w *Work) NeverExpire() *uint64 {
	if j := w.latest(); j != nil {
		return j.NeverExpire()
	}
	return nil
}

// Goal is how long ago rows may have been covered before they count as late: TTL_MAX_LAG or, without
// one, the time of two jobs. Where windows interrupt jobs, these are a day apart at least, and as far as
// the windows.
func (w *Work) Goal() time.Duration {
	t := w.timing()
	if t.MaxLag > 0 {
		return t.MaxLag
	}
	between := max(w.Interval(), minInterval)
	for _, window := range []*ddl.Window{t.Window, w.Window} {
		if window != nil {
			between = max(between, window.Closed(), 24*time.Hour)
		}
	}
	return 2 * between
}

// Uncovered is since when the policy has been what it is without a job that came to its end; zero when one has, or when
// none is wanted.
func (w *Work) Uncovered() time.Time {
	if !w.Policy.Armed() || !w.Covered().IsZero() {
		return time.Time{}
	}
	return w.Policy.ChangedAt
}

// Late reports whether rows may be due for longer than the goal allows.
func (w *Work) Late() bool {
	mark := w.Covered()
	if mark.IsZero() {
		mark = w.Uncovered()
	}
	return !mark.IsZero() && w.Now.Sub(mark) > w.Goal()
}
