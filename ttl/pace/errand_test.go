package pace

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestErrand: whoever does not wait gets the share that whoever waits gets, and does what he may do at a rate.
func TestErrand(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		set         func(*Duty, *Rates)
		bits, sends int // in a minute, of 20 ms and 100 rows each
	}{
		"no limit":      {func(*Duty, *Rates) {}, 3000, 3000},
		"a tenth":       {func(d *Duty, _ *Rates) { d.Set(0.1, "a test") }, 300, 300},
		"a stop":        {func(d *Duty, _ *Rates) { d.Set(0, "a test") }, 0, 0},
		"nobody looked": {func(d *Duty, _ *Rates) { d.Rest(true) }, 0, 0},
		"a floor": {func(d *Duty, _ *Rates) {
			d.Set(0.01, "a test")
			d.SetFloors(map[uint64]float64{7: 0.5})
		}, 1500, 1500},
		"rows":       {func(_ *Duty, r *Rates) { r.Set(0, Limit{}, 1000) }, 500, 500},
		"statements": {func(_ *Duty, r *Rates) { r.Set(1, Limit{}, 0) }, 3000, 60},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				d, r := NewDuty(nil), NewRates(nil)
				c.set(d, r)
				e, bits, sends := d.Errand(7, r), 0, 0
				for end := time.Now().Add(time.Minute); time.Now().Before(end); {
					if !e.MaySearch() {
						time.Sleep(time.Millisecond)
						continue
					}
					time.Sleep(20 * time.Millisecond)
					if bits++; e.MaySend() {
						sends++
					}
					e.Spend(100)
					e.Took(20 * time.Millisecond)
				}
				if near := func(n, want int) bool { return n >= want-want/20 && n <= want+want/20+1 }; !near(bits, c.bits) ||
					!near(sends, c.sends) {
					t.Errorf("%d bits and %d statements in a minute, want %d and %d", bits, sends, c.bits, c.sends)
				}
			})
		})
	}
}
