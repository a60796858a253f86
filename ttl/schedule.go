package ttl

import (
	"cmp"
	"slices"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
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
func dueNow(now time.Time, policies map[uint64]catalog.Policy, ran map[uint64][]catalog.Schedule, l limits) []turn {
	var turns []turn
	for _, p := range policies {
		if t, ok := due(now, p, ran[p.ID], l); ok {
			turns = append(turns, t)
		}
	}
	slices.SortFunc(turns, func(a, b turn) int {
		if a.trigger != b.trigger {
			if a.trigger == catalog.TriggerManual {
				return -1
			}
			return 1
		}
		return cmp.Or(a.since.Compare(b.since), cmp.Compare(a.policy.ID, b.policy.ID))
	})
	return turns
}

func due(now time.Time, p catalog.Policy, ran []catalog.Schedule, l limits) (turn, bool) {
	if !p.Armed() || p.Paused.Holds(now) {
		return turn{}, false
	}
	timing, err := catalog.TimingOf(p)
	if err != nil || timing.Closed(now, l.window) != "" {
		return turn{}, false
	}
	last := lastRun(ran)
	if r := requested(ran); r.RequestedAt.After(last.LastStartedAt) {
		return turn{p, catalog.TriggerManual, r.RequestedBy, r.RequestedAt, ran}, true
	}
	since := timing.Due(p, last)
	return turn{p, catalog.TriggerSchedule, "", since, ran}, !since.IsZero() && !now.Before(since)
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
