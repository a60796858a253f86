package ttl

import (
	"slices"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/ddl"
)

const (
	// retryFailed is how long a table waits after a job that failed, if its interval is longer.
	retryFailed = time.Minute
	// leastInterval keeps TTL_JOB_INTERVAL='0' from starting jobs without end.
	leastInterval = time.Second
)

// turn is a policy whose next job should start.
type turn struct {
	policy  catalog.Policy
	trigger catalog.Trigger
	by      string
	since   time.Time // when it became due
	ran     []catalog.Schedule
}

// dueNow lists the policies whose next job should start at now, the most overdue first; those a person asked for before
// all others. The database's clock decides; intervals run from start to start.
func dueNow(now time.Time, policies []catalog.Policy, ran map[uint64][]catalog.Schedule, l limits) []turn {
	var turns []turn
	for _, p := range policies {
		if t, ok := due(now, p, ran[p.ID], l); ok {
			turns = append(turns, t)
		}
	}
	slices.SortStableFunc(turns, func(a, b turn) int {
		if a.trigger != b.trigger {
			if a.trigger == catalog.TriggerManual {
				return -1
			}
			return 1
		}
		return a.since.Compare(b.since)
	})
	return turns
}

func due(now time.Time, p catalog.Policy, ran []catalog.Schedule, l limits) (turn, bool) {
	if !p.Armed() || paused(p.Paused, now) {
		return turn{}, false
	}
	o, err := optionsOf(p)
	if err != nil || o.windowClosed(now, l) != "" {
		return turn{}, false
	}
	last := lastRun(ran)
	if r := requested(ran); r.RequestedAt.After(last.LastStartedAt) {
		return turn{p, catalog.TriggerManual, r.RequestedBy, r.RequestedAt, ran}, true
	}
	since := nextRun(p, o, last)
	return turn{p, catalog.TriggerSchedule, "", since, ran}, !since.IsZero() && !now.Before(since)
}

// nextRun is when a policy is due: by its schedule, or an interval after its last start. A policy that never ran is due
// since it was declared, or at the first time of its schedule after that.
func nextRun(p catalog.Policy, o options, last catalog.Schedule) time.Time {
	if retry, failed := retryAt(last); failed {
		if next := regularRun(p, o, last); next.Before(retry) {
			return next
		}
		return retry
	}
	return regularRun(p, o, last)
}

func regularRun(p catalog.Policy, o options, last catalog.Schedule) time.Time {
	switch {
	case o.cron != nil && last.LastStartedAt.IsZero():
		return o.cron.Next(p.ChangedAt.In(o.zone))
	case o.cron != nil:
		return o.cron.Next(last.LastStartedAt.In(o.zone))
	case last.LastStartedAt.IsZero():
		return p.ChangedAt
	default:
		return last.LastStartedAt.Add(intervalOf(p))
	}
}

func intervalOf(p catalog.Policy) time.Duration {
	interval, err := ddl.Duration(p.Rule.JobInterval)
	if err != nil {
		interval = 24 * time.Hour // refused when it was declared
	}
	return max(interval, leastInterval)
}

func retryAt(last catalog.Schedule) (time.Time, bool) {
	failed := last.LastState == catalog.JobFailed && !last.LastFinishedAt.IsZero()
	return last.LastFinishedAt.Add(retryFailed), failed
}

// lastRun is the latest of a policy's runs, over its partitions.
func lastRun(ran []catalog.Schedule) (last catalog.Schedule) {
	for _, s := range ran {
		if s.LastStartedAt.After(last.LastStartedAt) {
			last = s
		}
	}
	return last
}

// requested is the row that asks for a run by hand.
func requested(ran []catalog.Schedule) (r catalog.Schedule) {
	for _, s := range ran {
		if s.Partition == "" {
			return s
		}
	}
	return r
}

func paused(p catalog.Pause, now time.Time) bool {
	return p.Paused && (p.Until.IsZero() || now.Before(p.Until))
}
