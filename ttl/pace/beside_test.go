package pace

import (
	"testing"
	"time"
)

// TestBeside: what nobody notices grows, and what has been noticed once is not tried again soon.
func TestBeside(t *testing.T) {
	t.Parallel()
	const least, look = 0.2, 500 * time.Millisecond
	now := time.Unix(0, 0)
	run := func(b *Beside, d time.Duration, pressure float64, slow int64) (sessions float64) {
		for end := now.Add(d); now.Before(end); now = now.Add(look) {
			sessions = b.Step(now, least, pressure, 4, slow)
		}
		return sessions
	}

	b := &Beside{}
	if got := run(b, 15*time.Second, 0, 0); got != least {
		t.Errorf("at first it is %v", got)
	}
	if got := run(b, 3*time.Minute, 0, 0); got < 4 {
		t.Errorf("after three minutes of which nobody noticed anything it is %v", got)
	}
	if got := run(b, look, 1.5, 0); got != least {
		t.Errorf("under pressure it is %v", got)
	}
	if got := run(b, besideWary-time.Second, 0, 0); got != least {
		t.Errorf("what has been noticed is tried again: %v", got)
	}
	if got := run(b, time.Minute, 0, 0); got <= least {
		t.Error("what has been noticed is never tried again")
	}

	for name, c := range map[string]struct {
		pressure float64
		slow     int64
	}{"with one change of four slow": {0, 1}, "near the threshold": {0.95, 0}} {
		if got := run(&Beside{}, 10*time.Minute, c.pressure, c.slow); got != least {
			t.Errorf("%s it grows to %v", name, got)
		}
	}

	b = &Beside{}
	for range 100 {
		run(b, 15*time.Second, 0, 0)
		b.Away()
	}
	if got := run(b, look, 0, 0); got != least {
		t.Errorf("without time to see whether anybody notices it is %v", got)
	}
}
