package pace

import (
	"context"
	"sync"
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
				e, bits, sends := d.Errand(7, r, time.Time{}), 0, 0
				for end := time.Now().Add(time.Minute); time.Now().Before(end); {
					if !e.MaySearch(t.Context()) {
						time.Sleep(time.Millisecond)
						continue
					}
					time.Sleep(20 * time.Millisecond)
					if bits++; e.MaySend(t.Context()) {
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

// TestErrandBesideWorkers: workers that wait take each moment in which nothing is owed, and yet an errand gets on, and
// no more is done than the share.
func TestErrandBesideWorkers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := NewDuty(nil)
		d.Workers(4)
		d.Set(0.02, "a test")
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()

		var worked time.Duration
		var g sync.WaitGroup
		g.Go(func() {
			for d.Wait(ctx) == nil {
				time.Sleep(2 * time.Millisecond)
				d.Took(2 * time.Millisecond)
				worked += 2 * time.Millisecond
			}
		})
		bits := 0
		for ctx.Err() == nil {
			if e := d.Errand(7, NewRates(nil), time.Now().Add(100*time.Millisecond)); e.MaySearch(ctx) {
				time.Sleep(20 * time.Millisecond)
				e.Took(20 * time.Millisecond)
				bits++
			}
			time.Sleep(time.Second)
		}
		g.Wait()
		if bits < 20 || worked < time.Second {
			t.Errorf("there were %d bits of an errand, and workers have worked for %v", bits, worked)
		}
		if all := worked + time.Duration(bits)*20*time.Millisecond; all > 5*time.Second {
			t.Errorf("it took %v in a minute, want 4.8 s", all)
		}
	})
}

// TestBehind: workers that do all that the share allows are not behind; they are when somebody has done much more, and
// when nothing may be done.
func TestBehind(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := NewDuty(nil)
		d.Workers(4)
		d.Set(0.9, "a test")
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var g sync.WaitGroup
		for range 4 {
			g.Go(func() {
				for d.Wait(ctx) == nil {
					time.Sleep(50 * time.Millisecond)
					d.Took(50 * time.Millisecond)
				}
			})
		}
		for ctx.Err() == nil {
			if time.Sleep(7 * time.Millisecond); d.Behind(7) {
				t.Fatal("workers are behind")
			}
		}
		g.Wait()

		d.Took(time.Second)
		if !d.Behind(7) {
			t.Error("nobody is behind after somebody has worked for a second")
		}
		time.Sleep(time.Second)
		if d.Set(0, "a test"); !d.Behind(7) {
			t.Error("nobody is behind although nothing may be done")
		}
	})
}
