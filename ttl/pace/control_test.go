package pace

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// plant is a server in virtual time: how a share of our speed, and the load of others, show in the
// pressure.
type plant struct {
	name  string
	noise float64 // standard deviation of what is measured, as a part of it
	most  float64 // coefficient of variation that a steady load may have
	step  func(load, share float64) float64
}

// plants are servers that answer at once, slowly, late, and all at a time.
func plants() []plant {
	slow, full, queue := 0.0, 0.0, 0.0
	var late [4]float64
	return []plant{
		{"quick", 0, 0.02, func(load, share float64) float64 { return load + share }},
		{"noisy", 0.15, 0.2, func(load, share float64) float64 { return load + share }},
		{"sensitive", 0.05, 0.2, func(load, share float64) float64 { return load + 20*share }},
		{"slow", 0.05, 0.2, func(load, share float64) float64 {
			slow += (load + 2*share - slow) * 0.25 // two seconds until it shows
			return slow
		}},
		{"late", 0.05, 0.2, func(load, share float64) float64 {
			copy(late[:], late[1:])
			late[3] = load + share
			return late[0]
		}},
		{"steep", 0.05, 0.2, func(load, share float64) float64 {
			return 0.2 / max(1-load-0.8*share, 0.02) // waiting time in a queue
		}},
		{"gathering", 0.02, 0.25, func(load, share float64) float64 {
			queue = max(queue+0.2*(load+share-1), 0) // a replica that applies less than comes
			ahead := queue + 2/0.5*(queue-full)      // see package signal
			if full = queue; queue > 1 {
				ahead = max(ahead, 1)
			}
			return max(ahead, 0)
		}},
	}
}

// TestControl: a step of the load is answered within a second, no steady load makes the share swing,
// and when the load goes the speed comes back.
func TestControl(t *testing.T) {
	t.Parallel()
	for _, p := range plants() {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			c, now, random := NewControl(0.01), time.Unix(0, 0), rand.New(rand.NewPCG(1, 2))
			share := 1.0
			run := func(load float64, d time.Duration) (shares []float64) {
				for end := now.Add(d); now.Before(end); now = now.Add(controlStep) {
					pressure := p.step(load, share) * (1 + p.noise*random.NormFloat64())
					share = c.Step(now, pressure)
					shares = append(shares, share)
				}
				return shares
			}

			if idle := run(0, time.Minute); idle[len(idle)-1] < 0.04 {
				t.Errorf("the share is %.2f without any load", idle[len(idle)-1])
			}

			run(0.4, 3*time.Minute)
			if cv := swing(run(0.4, 3*time.Minute)); cv > p.most {
				t.Errorf("the share swings by %.2f under a steady load, at most %.2f is right", cv, p.most)
			}

			before := share
			run(5, 10*time.Second)
			if share > max(before/20, 0.011) {
				t.Errorf("the share is %.3f under a load five times the threshold, and was %.3f", share, before)
			}

			if back := run(0, time.Minute); back[len(back)-1] < before/2 {
				t.Errorf("a minute after the load has gone the share is %.3f, and was %.3f", back[len(back)-1], before)
			}
		})
	}
}

// TestControlBacksOff: three quarters of the speed are gone one second after the signal shows a
// load, and all that may go ten seconds later.
func TestControlBacksOff(t *testing.T) {
	t.Parallel()
	c, now := NewControl(0.01), time.Unix(0, 0)
	c.Step(now, 0)
	for range 2 {
		now = now.Add(controlStep)
		c.Step(now, 2)
	}
	if c.share > 0.25 {
		t.Errorf("a second later the share is %v", c.share)
	}

	for range 20 {
		now = now.Add(controlStep)
		c.Step(now, 1.5)
	}
	if c.share != 0.01 {
		t.Errorf("at last the share is %v, not the floor", c.share)
	}
}

// TestControlOfLiars: a signal that says the same whatever we do neither stops us for good nor lets
// us run away, and what holds everything is obeyed at once.
func TestControlOfLiars(t *testing.T) {
	t.Parallel()
	c, now := NewControl(0.02), time.Unix(0, 0)
	say := func(pressure float64) (share float64) {
		for range 100 {
			now = now.Add(controlStep)
			share = c.Step(now, pressure)
		}
		return share
	}

	if share := say(3); share != 0.02 {
		t.Errorf("under constant pressure the share is %v, not the floor", share)
	}
	if share := say(0); share != 1 {
		t.Errorf("without pressure the share is %v", share)
	}
	if share := say(math.NaN()); share != 1 {
		t.Errorf("with nonsense the share is %v, and was 1", share)
	}

	now = now.Add(controlStep)
	if share := c.Step(now, math.Inf(1)); share != 0 {
		t.Errorf("the share is %v although nothing may be deleted", share)
	}
	if share := NewControl(1).Step(now, math.Inf(1)); share != 0 {
		t.Errorf("what holds leaves %v where signals may do nothing", share)
	}
	now = now.Add(controlStep)
	if share := c.Step(now, 0); share > 0.03 {
		t.Errorf("after that the share is %v, and should grow from the floor", share)
	}

	say(0)
	if share := c.Doubt(now); share != 0.02 {
		t.Errorf("in doubt the share is %v", share)
	}

	say(0)
	now = now.Add(time.Hour) // nobody has looked
	if share := c.Step(now, 2); share < 0.2 {
		t.Errorf("one look after an hour takes the share to %v", share)
	}
}

// TestControlBehindABound: what shows soon after the share in force has been bounded is no reason to go slower once
// the bound has gone; what shows later is, and is answered from the share in force.
func TestControlBehindABound(t *testing.T) {
	t.Parallel()
	c, now := NewControl(0.01), time.Unix(0, 0)
	step := func(pressure float64, d time.Duration) (share float64) {
		for end := now.Add(d); now.Before(end); now = now.Add(controlStep) {
			share = c.Step(now, pressure)
		}
		return share
	}

	step(0, time.Second)
	c.Bound(now, 0.05)
	if share := step(3, settles-controlStep); share != 1 {
		t.Errorf("soon after the bound the share behind it is %v", share)
	}
	step(0.5, 10*time.Second)
	c.Bound(now, 1)
	if share := step(0.5, controlStep); share != 1 {
		t.Errorf("without the bound the share is %v", share)
	}

	c.Bound(now, 0.05)
	if share := step(0.5, 10*time.Second); share != 1 {
		t.Errorf("behind the bound the share is %v", share)
	}
	if share := step(30, settles); share != 1 {
		t.Errorf("after a stall the share behind the bound is %v", share)
	}
	if share := step(2, controlStep); share != 0.025 {
		t.Errorf("under pressure that lasts the share is %v, and not half of that in force", share)
	}
}

// swing is the coefficient of variation.
func swing(all []float64) float64 {
	mean, squares := 0.0, 0.0
	for _, v := range all {
		mean += v / float64(len(all))
	}
	for _, v := range all {
		squares += (v - mean) * (v - mean) / float64(len(all))
	}
	return math.Sqrt(squares) / mean
}
