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
		return fmt.Sprintf("every %s, half of TTL_MAX_LAG", ddl.FormatDuration(t.MaxLag/2))
	default:
		return "every " + r.JobInterval
	}
}

// OtherOptions are the options without a column of their own, as the clause says them.
func (r Rule) OtherOptions() string {
	shown := []string{ddl.OptionCron, ddl.OptionWindow, ddl.OptionMaxLag, ddl.OptionDeleteRate, ddl.OptionBatchSize}
	var others []string
	for _, name := range slices.Sorted(maps.Keys(r.Said())) {
		if !slices.Contains(shown, name) {
			others = append(others, name+"="+tables.Literal(r.Options[name]))
		}
	}
	return strings.Join(others, " ")
}

// foreseen is how far ahead Finish looks.
const foreseen = 366 * 24 * time.Hour

// Speed is how many rows a second are deleted from a moment on, and until when; zero until it never
// changes.
type Speed func(at time.Time) (rowsPerSecond float64, until time.Time)

// Finish is when so many rows are deleted, if that begins at a given moment and proceeds only while
// the table's window and the global one are open, and how much of the time is work; zero if it is
// never, or too far away to tell.
func (t Timing) Finish(from time.Time, global *ddl.Window, rows float64, speed Speed) (time.Time, time.Duration) {
	var work time.Duration
	for at := from; at.Sub(from) < foreseen; {
		if at = t.Opens(at, global); at.IsZero() {
			break
		}

		perSecond, until := speed(at)
		if closes := t.closes(at, global); until.IsZero() || !closes.IsZero() && closes.Before(until) {
			until = closes
		}

		left := time.Duration(min(rows/perSecond*float64(time.Second), float64(2*foreseen)))
		if until.IsZero() || !at.Add(left).After(until) {
			return at.Add(left), work + left
		}

		work += until.Sub(at)
		rows -= perSecond * until.Sub(at).Seconds()
		at = until
	}

	return time.Time{}, 0
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
