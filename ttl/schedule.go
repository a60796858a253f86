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
func dueNow(now time.Time, all schedule, l limits) []turn {
	var turns []turn
	for _, s := range all {
		if t, ok := due(now, s, l); ok {
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

func due(now time.Time, s scheduled, l limits) (turn, bool) {
	if s.err != nil || !s.Armed() || s.Paused.Holds(now) {
		return turn{}, false
	}
	t, last := turn{policy: s.Policy, trigger: catalog.TriggerSchedule, ran: s.ran}, lastRun(s.ran)
	if r := requested(s.ran); r.RequestedAt.After(last.LastStartedAt) {
		t.trigger, t.by, t.since = catalog.TriggerManual, r.RequestedBy, r.RequestedAt
	} else if t.since = s.timing.Due(s.Policy, last); t.since.IsZero() || now.Before(t.since) {
		return turn{}, false
	}
	return t, s.timing.Closed(now, l.window) == ""
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
