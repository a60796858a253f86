package signal

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestSteady: who was at work without a pause has ended as soon as he does hardly anything for a moment; who works at
// intervals, does little, or has come back once, has not.
func TestSteady(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const step = 50 * time.Millisecond
		s, count := &steady{}, 0.0
		works := func(d time.Duration, perSecond float64) {
			for range d / step {
				time.Sleep(step)
				if count += perSecond * step.Seconds(); s.falls(count) {
					t.Error("who is at work has ended")
				}
			}
		}
		// ends is after what time somebody who does ten a second from now on has ended.
		ends := func() (after time.Duration) {
			for after < 5*time.Second {
				time.Sleep(step)
				count += 10 * step.Seconds()
				if after += step; s.falls(count) {
					s.fallen = time.Now()
					return after
				}
			}
			return 0
		}

		if after := ends(); after != 0 {
			t.Errorf("nobody has ended after %s", after)
		}
		works(time.Second, 500)
		if after := ends(); after != 0 {
			t.Errorf("who was at work for a second has ended after %s", after)
		}
		works(2*time.Second, 50)
		if after := ends(); after != 0 {
			t.Errorf("who did fifty a second has ended after %s", after)
		}
		works(2*time.Second, 500)
		if after := ends(); after != quietFor {
			t.Errorf("who was at work all the time has ended after %s, want %s", after, quietFor)
		}

		time.Sleep(5 * time.Second)
		for range 10 {
			works(time.Second, 500)
			for range 2 * quietFor / step {
				time.Sleep(step)
				if s.falls(count) {
					t.Error("who pauses has ended")
				}
			}
		}
		if after := ends(); after != 0 {
			t.Errorf("who pauses has ended after %s", after)
		}

		works(2*time.Second, 500)
		ends()
		time.Sleep(5 * time.Second)
		works(2*time.Second, 500)
		if after := ends(); after != quietFor {
			t.Errorf("who came back after some seconds has ended after %s", after)
		}

		time.Sleep(5 * time.Second)
		works(2*time.Second, 500)
		for !s.falls(count) {
			time.Sleep(step)
		}
		s.fallen = time.Now()
		works(2*time.Second, 500) // he had not
		if after := ends(); after != 0 {
			t.Errorf("who came back at once has ended after %s", after)
		}
		time.Sleep(steadyWary)
		works(2*time.Second, 500)
		time.Sleep(quietFor + 2*step)
		if count += 4; s.falls(count) {
			t.Error("who was hardly looked at has ended")
		}
		works(2*time.Second, 500)
		if after := ends(); after != quietFor {
			t.Errorf("a minute later he has ended after %s", after)
		}
	})
}
