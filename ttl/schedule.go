package ttl

import (
	"cmp"
	"slices"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/tables"
)

// duePolicy is a policy whose next job should start.
type duePolicy struct {
	policy  catalog.Policy
	trigger catalog.Trigger
	by      string
	since   time.Time // when it became due
	ran     []catalog.Schedule
	looked  time.Time // when a look found nothing due for the last time; zero for never

	glance
}

// glance is what was seen of a table together with others.
type glance struct {
	connection uint64             // by which facts were read
	before     *tables.Facts      // read before the table was recognized; nil if they would be of no use
	known      tables.Incarnation // of a table that has been recognized; nil for one that has not been yet
}

// dueNow lists the policies whose next job should start at now, the most overdue first; those a
// person asked for before all others. The database's clock decides; intervals run from start to
// start.
func dueNow(now time.Time, all schedule, l limits) []duePolicy {
	var found []duePolicy
	for _, s := range all {
		if t, ok := due(now, s, l); ok {
			found = append(found, t)
		}
	}

	slices.SortFunc(found, func(a, b duePolicy) int {
		if a.trigger != b.trigger {
			if a.trigger == catalog.TriggerManual {
				return -1
			}
			return 1
		}
		return cmp.Or(a.since.Compare(b.since), cmp.Compare(a.policy.ID, b.policy.ID))
	})

	return found
}

func due(now time.Time, s scheduled, l limits) (duePolicy, bool) {
	if !s.Armed() || s.Paused.InForce(now) {
		return duePolicy{}, false
	}
	next := s.Terms.Timing.Next(s.Policy, s.ran)
	if next.At.IsZero() || now.Before(next.At) {
		return duePolicy{}, false
	}
	t := duePolicy{policy: s.Policy, trigger: next.Trigger, by: next.By, since: next.At, ran: s.ran}
	return t, s.Terms.Timing.Closed(now, l.Window) == ""
}
