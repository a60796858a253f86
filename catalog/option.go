package catalog

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/ddl"
)

// Schedule says when jobs start: "cron 0 3 * * 1", "every 24h", or how often the goal of
// TTL_MAX_LAG makes them.
func (r Rule) Schedule(t Timing) string {
	switch cron := r.Options[ddl.OptionCron]; {
	case cron != "":
		return "cron " + cron
	case t.hurried:
		return fmt.Sprintf("every %s, half of TTL_MAX_LAG", shortDuration(t.MaxLag/2))
	default:
		return "every " + r.JobInterval
	}
}

// shortDuration omits units that are zero: 1h instead of 1h0m0s.
func shortDuration(d time.Duration) string {
	s := d.Round(time.Second).String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// OtherOptions are the options without a column of their own, as the clause says them.
func (r Rule) OtherOptions() string {
	shown := []string{ddl.OptionCron, ddl.OptionWindow, ddl.OptionMaxLag, ddl.OptionDeleteRate, ddl.OptionBatchSize}
	var others []string
	for _, name := range slices.Sorted(maps.Keys(r.Options)) {
		if !slices.Contains(shown, name) {
			others = append(others, name+"="+tables.Literal(r.Options[name]))
		}
	}
	return strings.Join(others, " ")
}

// mostOpenings bounds how far ahead Finish looks: a year of windows that open once a day.
const mostOpenings = 366

// Finish is when work of a given length ends that begins at a given moment and proceeds only while
// the table's window and the global one are open; zero if that is never, or too far away to tell.
func (t Timing) Finish(from time.Time, global *ddl.Window, work time.Duration) time.Time {
	at := from
	for range mostOpenings {
		if at = t.Opens(at, global); at.IsZero() {
			return at
		}

		closes := t.closes(at, global)
		if closes.IsZero() || !at.Add(work).After(closes) {
			return at.Add(work)
		}

		work -= closes.Sub(at)
		at = closes
	}

	return time.Time{}
}

// closes is when the first of the windows closes that are open at a moment; zero when there are
// none.
func (t Timing) closes(at time.Time, global *ddl.Window) (first time.Time) {
	if global != nil {
		first = global.Closes(at.UTC())
	}
	if t.Window != nil {
		if own := t.Window.Closes(at.In(t.Zone)); first.IsZero() || !own.IsZero() && own.Before(first) {
			first = own
		}
	}
	return first
}
