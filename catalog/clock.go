package catalog

import (
	"fmt"
	"time"

	"github.com/ttlproxy/ttlproxy/ddl"
)

// How far the database's clock may be from where it should be before it is doubted.
const (
	mostJump = time.Minute
	mostSkew = 24 * time.Hour
	// anchorAge is how long a reading of the clock is compared with later ones: clocks drift apart.
	anchorAge = time.Hour
)

// ClockWatch doubts the database's clock, which decides what is expired. It leaps if more time
// passes on it than here by a clock that nobody sets; the time of day here serves as a witness: it
// may have been set along with the database's, on one machine. The cutoffs of running jobs are
// fixed and stay right; no new one may be computed from a clock in doubt.
//
// A leap while nothing was watching, because no proxy ran, looks like time that has passed.
type ClockWatch struct {
	// Skew is how far the database's clock may be from this machine's; a day when zero.
	Skew time.Duration

	born   time.Time
	anchor *reading
}

// reading are three clocks at one moment.
type reading struct {
	database, wall time.Time
	steady         time.Duration // nobody sets it; it counts on while the machine sleeps, where the system tells
}

// Look says why the database's clock, which has just been read, is not believed; empty if it is.
// leapt is how far it has gone ahead of the time that has passed, if that is the reason.
func (c *ClockWatch) Look(database time.Time) (leapt time.Duration, why string) {
	now := time.Now()
	if c.born.IsZero() {
		c.born = now
	}
	return c.judge(reading{database, now.Round(0), steady(c.born)})
}

// Forget takes the next look as the first one.
func (c *ClockWatch) Forget() { c.anchor = nil }

func (c *ClockWatch) judge(now reading) (leapt time.Duration, why string) {
	if c.anchor == nil {
		c.anchor = &now
	}

	skew := c.Skew
	if skew == 0 {
		skew = mostSkew
	}

	silence := now.steady - c.anchor.steady
	leapt = now.database.Sub(c.anchor.database) - silence
	ours := now.wall.Sub(c.anchor.wall) - silence
	apart := now.database.Sub(now.wall)

	switch {
	case leapt.Abs() > mostJump && (apart.Abs() > mostJump || ours.Abs() > mostJump):
		return leapt, fmt.Sprintf("the server's clock jumped by %s: it was %s, and %s later %s",
			ddl.FormatDuration(leapt), Moment(c.anchor.database), ddl.FormatDuration(silence), Moment(now.database))
	case apart.Abs() > skew:
		return 0, fmt.Sprintf("the server's clock (%s) and this node's (%s) are more than a day apart",
			Moment(now.database), Moment(now.wall))
	}

	if silence > anchorAge || leapt.Abs() > mostJump { // put right, says a clock that did not move
		c.anchor = &now
	}

	return 0, ""
}
