package plan

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
)

// Usual is what a table expires, by its last runs.
type Usual struct {
	PerHour float64 // rows, on average
	Most    float64 // rows that one run found, other than the largest
	Hours   float64 // since the last finished run
	Runs    int     // that this was learnt from
}

const (
	// usualRuns is how many runs that deleted rows are remembered.
	usualRuns = 20
	// learntFrom is how many of them it takes: the largest counts as an exception, since neither the rows
	// that had gathered before a table had its rule nor an import say anything about the next one.
	learntFrom = 2
	// onceTime is in what time, at least, the rows have gathered that the first of two runs has found: nobody
	// knows that as many come again in the second between two jobs.
	onceTime = 24 * time.Hour
)

// found is a run that deleted rows.
type found struct{ rows, hours float64 } // and the time in which they had become due

// UsualOf learns from the runs of a table, the latest first, what a job that begins now will find.
// Rows become due by the hour, so a table that was paused for a week has a week's rows. The time
// between two manual runs counts as at least the interval: what expires in a second says nothing
// about the day. A run that a person has allowed so many rows and not one more is none to learn from.
func UsualOf(runs []catalog.Run, now time.Time, interval time.Duration) Usual {
	var all []found
	var u Usual
	var before, last *catalog.Run // the finished run before, and the last of them that deleted rows
	var deleted uint64            // since the former
	backlog := false              // the first is the very first run

	for _, r := range slices.Backward(runs) {
		if !r.Exactly {
			deleted += r.Deleted
		}
		if !r.Finished {
			continue
		}

		if deleted > 0 {
			since := before
			if last != nil {
				since = last // in the runs between nothing was due: a burst is not what always comes
			}
			passed := interval
			if since != nil {
				passed = max(r.At.Sub(since.At), interval)
			} else {
				backlog = true
			}
			all, last = append(all, found{float64(deleted), passed.Hours()}), &r
		}

		before, deleted = &r, 0
	}

	if before != nil {
		u.Hours = max(now.Sub(before.At), interval).Hours()
	}
	switch {
	case len(all) == learntFrom:
		all[0].hours = max(all[0].hours, onceTime.Hours())
	case backlog && len(all) > learntFrom:
		all = all[1:]
	}

	u.learn(all[max(len(all)-usualRuns, 0):])
	return u
}

// learn takes in what runs have found.
func (u *Usual) learn(all []found) {
	if len(all) < learntFrom {
		return
	}

	u.Runs = len(all)
	slices.SortFunc(all, func(a, b found) int { return cmp.Compare(a.rows, b.rows) })
	all = all[:u.Runs-1]

	u.Most = all[len(all)-1].rows
	var sum found
	for _, f := range all {
		sum.rows, sum.hours = sum.rows+f.rows, sum.hours+f.hours
	}
	u.PerHour = sum.rows / sum.hours
}

// Rows is how many rows are usually due after that many hours: those of a run, or after a long time,
// those that come in it.
func (u Usual) Rows() float64 { return max(u.Most, u.PerHour*u.Hours) }

// Figure is Rows for people; nil as long as too few runs have told.
func (u Usual) Figure() *uint64 {
	if u.Runs == 0 {
		return nil
	}
	return new(uint64(math.Round(u.Rows())))
}
