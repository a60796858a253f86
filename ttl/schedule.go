package ttl

import (
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

// due says whether a policy's next job should start now, and why it was started. The database's clock decides;
// intervals run from start to start.
func due(now time.Time, p catalog.Policy, ran []catalog.Schedule) (catalog.Trigger, string, bool) {
	if !p.Armed() || paused(p.Paused, now) {
		return "", "", false
	}
	last := lastRun(ran)
	if r := requested(ran); r.RequestedAt.After(last.LastStartedAt) {
		return catalog.TriggerManual, r.RequestedBy, true
	}
	if last.LastStartedAt.IsZero() {
		return catalog.TriggerSchedule, "", true
	}
	return catalog.TriggerSchedule, "", !now.Before(nextRun(p, last))
}

// nextRun is when a policy that ran before is due again.
func nextRun(p catalog.Policy, last catalog.Schedule) time.Time {
	interval, err := ddl.Duration(p.Rule.JobInterval)
	if err != nil {
		interval = 24 * time.Hour // refused when it was declared
	}
	interval = max(interval, leastInterval)
	if last.LastState == catalog.JobFailed && !last.LastFinishedAt.IsZero() {
		if retry := last.LastFinishedAt.Add(retryFailed); retry.Before(last.LastStartedAt.Add(interval)) {
			return retry
		}
	}
	return last.LastStartedAt.Add(interval)
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
