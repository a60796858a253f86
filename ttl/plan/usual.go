package plan

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
)

// Usual is what a table expires, by its last runs.
type Usual struct {
	PerHour float64 // rows
	Hours   float64 // since the last finished run
	Runs    int     // that this was learnt from
}

const (
	// usualRuns is how many runs that deleted rows are remembered.
	usualRuns = 20
	// exceptionFrom is from how many of them on the largest counts as an exception: an import that
	// was approved once says nothing about the next one.
	exceptionFrom = 5
)

// UsualOf learns from the runs of a table, the latest first, what a job that begins now will find.
// Rows become due by the hour, so a table that was paused for a week has a week's rows. The time
// between two manual runs counts as at least the interval: what expires in a second says nothing
// about the day.
func UsualOf(runs []catalog.Run, now time.Time, interval time.Duration) Usual {
	var rates []float64
	var u Usual
	var before *catalog.Run // the finished run before
	var deleted uint64      // since then
	backlog := false        // the first rate is that of the very first run

	for _, r := range slices.Backward(runs) {
		deleted += r.Deleted
		if !r.Finished {
			continue
		}

		if deleted > 0 {
			passed := interval
			if before != nil {
				passed = max(r.At.Sub(before.At), interval)
			} else {
				backlog = true
			}
			rates = append(rates, float64(deleted)/passed.Hours())
		}

		before, deleted = &r, 0
	}

	if before != nil {
		u.Hours = max(now.Sub(before.At), interval).Hours()
	}
	if backlog && len(rates) > 1 {
		rates = rates[1:]
	}

	rates = rates[max(len(rates)-usualRuns, 0):]
	if u.Runs = len(rates); u.Runs == 0 {
		return u
	}

	slices.Sort(rates)
	if u.PerHour = rates[u.Runs-1]; u.Runs >= exceptionFrom {
		u.PerHour = rates[u.Runs-2]
	}

	return u
}

// Rows is how many rows are usually due after that many hours.
func (u Usual) Rows() float64 { return u.PerHour * u.Hours }

// String is the figure for people.
func (u Usual) String() string {
	return fmt.Sprintf("about %.0f", math.Round(u.Rows()))
}
