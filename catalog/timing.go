package catalog

import (
	"fmt"
	"time"

	"github.com/ttlproxy/ttlproxy/ddl"
)

const (
	// A table whose job failed waits for a tenth of its interval, but neither too short nor too
	// long.
	leastRetry, mostRetry = time.Minute, time.Hour
	// leastInterval keeps TTL_JOB_INTERVAL='0' from starting jobs without end.
	leastInterval = time.Second
	// promptly is the longest interval between jobs that has rows go within seconds.
	promptly = 10 * time.Second
)

// Timing is when the jobs of a policy start, and when they may run.
type Timing struct {
	Zone     *time.Location // of the table
	Cron     *ddl.Cron      // TTL_CRON; nil for none
	Interval time.Duration  // from start to start, without a Cron
	Window   *ddl.Window    // TTL_WINDOW; nil for none, or one that is never closed
	MaxLag   time.Duration  // TTL_MAX_LAG; 0 for none

	hurried bool // the interval is half of MaxLag, and not TTL_JOB_INTERVAL
}

// Prompt reports whether rows should go within seconds.
func (t Timing) Prompt() bool { return t.Cron == nil && t.Interval <= promptly }

// UnkeptLag says which option makes it impossible to keep TTL_MAX_LAG; empty when none does.
func (t Timing) UnkeptLag() string {
	if t.MaxLag == 0 {
		return ""
	}
	if t.Cron != nil && t.Cron.LongestGap() >= t.MaxLag {
		return fmt.Sprintf("TTL_CRON leaves %s between two jobs", ddl.FormatDuration(t.Cron.LongestGap()))
	}
	if t.Window != nil && t.Window.Closed() >= t.MaxLag {
		return fmt.Sprintf("TTL_WINDOW is closed for %s", ddl.FormatDuration(t.Window.Closed()))
	}
	return ""
}

// Due is when the job after the last one is due. A table that never had one is due since its policy
// was declared, or at the first time of its schedule after that; one whose job failed, soon again.
func (t Timing) Due(p Policy, last Schedule) time.Time {
	next := t.regular(p, last)
	if last.LastState != JobFailed || last.LastFinishedAt.IsZero() {
		return next
	}
	pause := min(max(t.Interval/10, leastRetry), mostRetry)
	if retry := last.LastFinishedAt.Add(pause); next.IsZero() || retry.Before(next) {
		return retry
	}
	return next
}

// Start is when the next job of a policy should start, and at whose request.
type Start struct {
	At      time.Time // zero for never
	Trigger Trigger
	By      string // who asked for it; empty for the schedule
}

// Next is when the next job should start after those that ran, whether a window lets it or not. A
// run that somebody has asked for comes before the schedule.
func (t Timing) Next(p Policy, ran []Schedule) Start {
	last := lastRun(ran)

	for _, s := range ran {
		if s.Partition == "" && s.RequestedAt.After(last.LastStartedAt) {
			return Start{s.RequestedAt, TriggerManual, s.RequestedBy}
		}
	}
	return Start{At: t.Due(p, last), Trigger: TriggerSchedule}
}

// lastRun is the latest of a policy's runs, over its partitions.
func lastRun(ran []Schedule) (last Schedule) {
	for _, s := range ran {
		if s.LastStartedAt.After(last.LastStartedAt) {
			last = s
		}
	}
	return last
}

func (t Timing) regular(p Policy, last Schedule) time.Time {
	switch {
	case t.Cron != nil && last.LastStartedAt.IsZero():
		return t.Cron.Next(p.ChangedAt.In(t.Zone))
	case t.Cron != nil:
		return t.Cron.Next(last.LastStartedAt.In(t.Zone))
	case last.LastStartedAt.IsZero():
		return p.ChangedAt
	default:
		return last.Began().Add(t.Interval - t.ahead(p, last))
	}
}

const (
	// spreadShare is the part of an interval, the last quarter of it, over which the second jobs of
	// tables are spread that were declared together.
	spreadShare = 4
	// leastSpread is the shortest interval of which that is done.
	leastSpread = 10 * time.Minute
	// scatter makes numbers that follow each other fractions that are far apart: 2⁶⁴ by the golden
	// ratio.
	scatter = 0x9E3779B97F4A7C15
)

// ahead is how much sooner than its interval the job after the first one starts: a stable part of the
// interval for each table. Those of one migration have their first jobs together, since each starts at
// once; without this they would meet for good, because intervals run from start to start. It is sooner
// and never later, so that no promise about an interval is broken, and it happens once: the second job
// is no longer near the declaration.
func (t Timing) ahead(p Policy, last Schedule) time.Duration {
	since := last.Began().Sub(p.ChangedAt)
	if t.Interval < leastSpread || since < 0 || since >= t.Interval/2 {
		return 0
	}
	part := float64(p.ID*scatter>>11) / (1 << 53)
	return time.Duration(part * float64(t.Interval/spreadShare))
}

// mostOpenings is how often two windows may open one after the other before it is clear that they
// never are open together: each of a week's days a few times.
const mostOpenings = 32

// Opens is the first moment at or after one at which the table's window and the global one are
// open; zero when they never are together.
func (t Timing) Opens(at time.Time, global *ddl.Window) time.Time {
	for range mostOpenings {
		began := at
		if global != nil {
			at = global.Opens(at.UTC())
		}
		if t.Window != nil {
			at = t.Window.Opens(at.In(t.Zone))
		}
		if at.IsZero() || at.Equal(began) {
			return at
		}
	}
	return time.Time{}
}

// Closes is when a job that may run at this moment may do so no more; zero for never.
func (t Timing) Closes(now time.Time, global *ddl.Window) (first time.Time) {
	if global != nil {
		first = global.Closes(now.UTC())
	}
	if t.Window == nil {
		return first
	}
	if own := t.Window.Closes(now.In(t.Zone)); first.IsZero() || !own.IsZero() && own.Before(first) {
		return own
	}
	return first
}

// Closed says why no job may run at this moment, and until when; empty when one may.
func (t Timing) Closed(now time.Time, global *ddl.Window) string {
	var why string
	switch {
	case global != nil && !global.Contains(now.UTC()):
		why = fmt.Sprintf("outside ttl_job_schedule_window_start_time and _end_time (%s UTC)", global)
	case t.Window != nil && !t.Window.Contains(now.In(t.Zone)):
		why = fmt.Sprintf("outside TTL_WINDOW='%s' (%s)", t.Window, t.Zone)
	default:
		return ""
	}

	opens := t.Opens(now, global)
	if opens.IsZero() {
		return why + " for good: the table's window and the global one have no minute in common"
	}

	return why + " until " + Moment(opens)
}
