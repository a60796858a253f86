package ttl

import (
	"fmt"
	"time"
)

// How far the database's clock may be from where it should be before no job is started by it.
const (
	mostJump = time.Minute
	mostSkew = 24 * time.Hour
)

// clockWatch doubts the database's clock, which decides what is expired, when it leaps against this node's: by more
// than a minute while the engine runs, or by more than a day from the start. The cutoffs of running jobs are fixed and
// stay right; no new one is computed until the clocks agree, or keep the distance they had when the engine started.
type clockWatch struct {
	known bool
	first time.Duration // the database's clock before ours at the start
	skew  time.Duration // the most that is let pass at the start; mostSkew when zero
}

// doubt says why the clock is not believed; empty when it is.
func (c *clockWatch) doubt(database, ours time.Time) string {
	ahead := database.Sub(ours)
	if !c.known {
		c.known, c.first = true, ahead
	}
	skew := c.skew
	if skew == 0 {
		skew = mostSkew
	}
	switch {
	case ahead.Abs() <= mostJump:
		return ""
	case ahead.Abs() > skew:
		return fmt.Sprintf("the server's clock (%s) and this node's (%s) are more than a day apart", database.UTC().Format(time.DateTime), ours.UTC().Format(time.DateTime))
	case (ahead - c.first).Abs() > mostJump:
		return fmt.Sprintf("the server's clock jumped by %v", (ahead - c.first).Round(time.Second))
	default:
		return ""
	}
}
