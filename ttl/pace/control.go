package pace

import (
	"math"
	"time"
)

// Control turns the strictest signal into the share of its full speed at which the whole cluster
// may delete: between a floor, at which it stays visible that the table is served, and 1. One node
// computes it for all (see Duty), because several controllers on one signal take each other's
// effect for the load they measure, and swing.
//
// The pressure is what is measured by its threshold, so it is wanted below 1, and it consists of a
// load that is not ours and a part that is. How large ours is, nobody knows: an hour later the same
// speed may cost ten times as much. So the share is changed by a factor, never by a term:
//
//	pressure  0 ────────────── 0.9 ──── 1 ───────────→
//	share     grows, by up to   stays   shrinks by pressure²,
//	          a third in half           at most by half in
//	          a second                  half a second
//
// With s for the logarithm of the share, a step up changes s by at most (0.9 − pressure)/3. Where
// the pressure is proportional to the speed, or less steep, dpressure/ds is at most the pressure:
// the loop's gain is at most 0.3 there, which is stable even if the answer comes five steps late.
// Where it is steep, as in a queue that fills up, the first step over 1 costs at most a half, and
// the way back up ends in the band where the share stays: a band, because any line between growing
// and shrinking is crossed by noise for ever. Halving follows from what is at stake: within a
// second of a step of the load, three quarters of what we do to the server are gone. Growing is
// slower than shrinking, as in every protocol that shares a line with strangers.
type Control struct {
	share float64
	floor float64
	at    time.Time

	bound   float64   // the share that is in force where something else bounds it
	bounded time.Time // since when it does; zero while nothing does
	pressed time.Time // since when there has been too much pressure; zero while there is not
}

const (
	// growBelow and shrinkAbove are the band of pressures in which the share stays.
	growBelow   = 0.9
	shrinkAbove = 1.0
	growth      = 0.35 // for each controlStep, without any pressure
	steepness   = 2    // of shrinking: the share is divided by this power of the pressure
	mostShrink  = 0.5  // in one controlStep
	controlStep = 500 * time.Millisecond
	// settles is how long a share in force that something else bounds is given: the harm of a higher one shows for a
	// while, and so does a single stall.
	settles = 4 * time.Second
	// leastShare is what counts as nothing, where the floor allows that.
	leastShare = 0.001
	// longestStep bounds what is made of a pause: a signal that was not looked at says nothing about
	// the time in between.
	longestStep = 2 * controlStep
)

// NewControl begins at full speed, and goes down to floor.
func NewControl(floor float64) *Control { return &Control{share: 1, floor: floor} }

// SetFloor changes how low the share may go.
func (c *Control) SetFloor(floor float64) { c.floor = min(max(floor, 0), 1) }

// Adopt takes over the share that another one has decided, and goes on from there.
func (c *Control) Adopt(share float64) { *c = Control{share: share, floor: c.floor} }

// Bound says that no more than a share will be in force from now on, whatever Step returns, or 1 for none. Pressure
// that lasts for a while comes from that share, not from the one that would be.
func (c *Control) Bound(now time.Time, share float64) {
	switch {
	case share >= 1:
		c.bounded = time.Time{}
	case c.bounded.IsZero():
		c.bounded = now
	}
	c.bound = share
}

// harm is what comes of a pressure that is too high: the part of the share that is left, of that in force.
func (c *Control) harm(now time.Time, left float64) {
	if !c.bounded.IsZero() && c.share > c.bound {
		if min(now.Sub(c.bounded), now.Sub(c.pressed)) < settles {
			return
		}
		c.share = c.bound
	}
	c.share *= left
}

// Step takes the pressure that is there now, and returns the share: 0 while the pressure is
// infinite.
func (c *Control) Step(now time.Time, pressure float64) float64 {
	steps := 1.0
	if !c.at.IsZero() {
		steps = min(now.Sub(c.at), longestStep).Seconds() / controlStep.Seconds()
	}
	c.at = now
	switch {
	case !(pressure > shrinkAbove): // or nonsense
		c.pressed = time.Time{}
	case c.pressed.IsZero():
		c.pressed = now
	}

	switch {
	case math.IsInf(pressure, 1):
		c.share = c.floor
		return 0
	case pressure > shrinkAbove:
		c.harm(now, math.Pow(max(math.Pow(pressure, -steepness), mostShrink), steps))
	case pressure < growBelow:
		c.share *= math.Pow(1+growth*(growBelow-pressure)/growBelow, steps)
	}

	if c.share < leastShare {
		c.share = 0
	}
	c.share = min(max(c.share, c.floor), 1)
	if c.share == 0 && pressure < growBelow {
		c.share = leastShare // nothing grows from nothing
	}
	return c.share
}

// Doubt returns the floor: what decides is unknown. The way up begins there.
func (c *Control) Doubt(now time.Time) float64 {
	c.at, c.share = now, c.floor
	return c.share
}
