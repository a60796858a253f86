package pace

import "time"

// Beside is how much of one session's time all deletion together has while an application is at work: at first so
// little that nobody notices. Where nobody does for a while, it grows, because another server has more room; what has
// been noticed once is not tried again for some minutes. It is not for Control to find out: that looks at averages,
// and by the time they have grown one statement in a hundred has long been waiting.
type Beside struct {
	grown      float64   // how many times as much as at first
	quiet      time.Time // nobody has noticed anything since then
	warned     time.Time // when somebody did last
	made, slow int64     // changes of the probe since quiet
}

const (
	// besideAfter is how long nobody must have noticed anything for it to grow.
	besideAfter = 20 * time.Second
	besideGrows = 1.5
	// besideProbes are those that have to have been made meanwhile, and besideSlow the part of them that may be slow.
	besideProbes = 100
	besideSlow   = 0.02
	// besideWary is for how long it does not grow after somebody has noticed.
	besideWary = 5 * time.Minute
)

// Step takes the pressure that there is beside the application, and how many changes of a probe were made since the
// last step and how many of them were slow; it returns the sessions' time, of which there is least at first.
func (b *Beside) Step(now time.Time, least, pressure float64, made, slow int64) (sessions float64) {
	if b.quiet.IsZero() {
		b.quiet = now
	}
	b.made, b.slow = b.made+made, b.slow+slow

	often := float64(b.slow) > max(besideSlow*float64(b.made), besideSlow*besideProbes)
	switch {
	case pressure > shrinkAbove || often:
		if b.grown > 1 {
			b.warned = now
		}
		b.grown = 1
		b.rest(now)
	case pressure >= growBelow:
		b.rest(now)
	case now.Sub(b.quiet) >= besideAfter && b.made >= besideProbes:
		if b.warned.IsZero() || now.Sub(b.warned) >= besideWary {
			b.grown = min(max(b.grown, 1)*besideGrows, mostGrown)
		}
		b.rest(now)
	}
	return least * max(b.grown, 1)
}

// mostGrown is more than any number of workers has.
const mostGrown = 1e4

// Away says that the application is not at work: what is seen then says nothing.
func (b *Beside) Away() { b.quiet, b.made, b.slow = time.Time{}, 0, 0 }

func (b *Beside) rest(now time.Time) { b.quiet, b.made, b.slow = now, 0, 0 }
