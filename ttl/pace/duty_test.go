package pace

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// dutyCase is a share and what it should come to in a minute.
type dutyCase struct {
	share          float64
	all, workers   int // that there are, and that are worth having
	busy, mostBusy time.Duration
}

// TestDuty: however many workers there are, they spend no more than their share of the time, and
// without a limit all of it.
func TestDuty(t *testing.T) {
	t.Parallel()
	for _, c := range []dutyCase{
		{1, 4, 4, 239 * time.Second, 241 * time.Second},
		{0.5, 4, 2, 119 * time.Second, 121 * time.Second},
		{0.4, 4, 2, 94 * time.Second, 97 * time.Second},
		{0.25, 2, 1, 29 * time.Second, 31 * time.Second},
		{0.01, 4, 1, 2300 * time.Millisecond, 2500 * time.Millisecond},
		{0, 4, 1, 0, 0},
	} {
		t.Run(fmt.Sprint(c.share), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { spend(t, c) })
		})
	}
}

// TestStopBehindARate: what a rate lets go after everything has been stopped is not sent, nor searched for, and costs
// nothing of the rate.
func TestStopBehindARate(t *testing.T) {
	t.Parallel()
	for name, may := range map[string]func(Throttle, context.Context) error{
		"search":    Throttle.Wait,
		"statement": Throttle.MaySend,
		"DELETE":    func(t Throttle, ctx context.Context) error { return t.MayDelete(ctx, 1) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				d, r := NewDuty(nil), NewRates(nil)
				r.Set(1, Limit{"rows", 0.1}, 1)
				all := All{d.Of(1), r}
				if err := all.MayDelete(t.Context(), 1); err != nil {
					t.Fatal(err)
				}
				all.Spend(10, 0)

				began := time.Now()
				const stopped, ended = 9500 * time.Millisecond, 10300 * time.Millisecond // what is owed has been paid by 10 s
				time.AfterFunc(stopped, func() { d.Set(0, "a signal") })
				time.AfterFunc(ended, func() { d.Set(1, "") })
				if err := may(all, t.Context()); err != nil {
					t.Fatal(err)
				}
				if took := time.Since(began); took < ended || took > ended+2*stopLook {
					t.Errorf("it goes after %v, want %v", took, ended)
				}
			})
		})
	}
}

// spend lets as many workers as are worth having work for a minute.
func spend(t *testing.T, c dutyCase) {
	t.Helper()
	d := NewDuty(nil)
	d.Set(c.share, "a test")
	if n := d.Workers(c.all); n != c.workers {
		t.Errorf("of %d workers %d are worth having, want %d", c.all, n, c.workers)
	}

	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var batches atomic.Int64
	var g sync.WaitGroup
	for range c.workers {
		g.Go(func() {
			for d.MaySend(ctx) == nil {
				time.Sleep(50 * time.Millisecond)
				d.Took(50 * time.Millisecond)
				batches.Add(1)
			}
		})
	}
	g.Wait()

	if busy := time.Duration(batches.Load()) * 50 * time.Millisecond; busy < c.busy || busy > c.mostBusy {
		t.Errorf("%d workers were busy for %v of a minute, want %v to %v", c.workers, busy, c.busy, c.mostBusy)
	}
}

// TestDutyChanges: a worker that waits learns within a moment that it may go on, and one that works
// learns with its next batch that it may not.
func TestDutyChanges(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := NewDuty(nil)
		d.Workers(1)
		d.Took(time.Hour) // without a limit nothing is owed

		d.Set(0, "a file")
		began := time.Now()
		go func() {
			time.Sleep(10 * time.Second)
			d.Set(1, "")
		}()
		if err := d.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		if waited := time.Since(began); waited < 10*time.Second || waited > 10*time.Second+stopLook {
			t.Errorf("it waited %v", waited)
		}

		d.Set(0.1, "a load")
		d.Took(100 * time.Millisecond)
		began = time.Now()
		if err := d.MaySend(t.Context()); err != nil {
			t.Fatal(err)
		}
		if waited := time.Since(began); waited < 900*time.Millisecond || waited > 1100*time.Millisecond {
			t.Errorf("a tenth of a second's work was paid off after %v", waited)
		}
		if d.Reason() != "a load" {
			t.Errorf("the reason is %q", d.Reason())
		}

		if full, least := d.Target(0, 50*time.Millisecond), 2*time.Millisecond; full != least {
			t.Errorf("statements may take %v", full)
		}
	})
}

// workAt works so many tenths of a second at the speed that a throttle allows, and says how long it took.
func workAt(t *testing.T, of Throttle, times int) time.Duration {
	t.Helper()
	began := time.Now()
	for range times {
		if err := of.MaySend(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(100 * time.Millisecond)
		of.Took(100 * time.Millisecond)
	}
	return time.Since(began)
}

// TestOwnFloor: a table with a floor has that share while all have less, costs the others nothing, and
// follows them above it; what nothing may delete, it does not delete either.
func TestOwnFloor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := NewDuty(nil)
		d.SetFloors(map[uint64]float64{7: 0.2})
		d.Set(0.01, "load")
		own, other := d.Of(7), d.Of(8)

		if took := workAt(t, own, 20); took < 9*time.Second || took > 11*time.Second || own.Reason() != "load" {
			t.Errorf("at a fifth of its speed two seconds of work take %v, %q", took, own.Reason())
		}
		if took := workAt(t, other, 1); took > 200*time.Millisecond {
			t.Errorf("another table pays for it: %v", took)
		}
		if took := workAt(t, other, 1); took < 9*time.Second {
			t.Errorf("another table goes as fast: %v", took)
		}
		if d.Workers(10) != 2 || d.Target(7, time.Second) != 40*time.Millisecond {
			t.Errorf("it has %d workers, and statements of %v", d.Workers(10), d.Target(7, time.Second))
		}

		d.Workers(1)
		d.Set(0.5, "load")
		workAt(t, own, 20)
		if took := workAt(t, own, 20); took > 5*time.Second {
			t.Errorf("where all have half of their speed two seconds of work take %v", took)
		}

		d.Set(0, "nobody knows")
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := own.MaySend(ctx); err == nil || d.Workers(10) != 1 {
			t.Errorf("it goes on although nothing may: %v", err)
		}

		d.SetFloors(nil)
		d.Workers(1)
		d.Set(0.01, "load")
		workAt(t, own, 2)
		if took := workAt(t, own, 1); took < 5*time.Second {
			t.Errorf("without its floor it goes as fast: %v", took)
		}
	})
}

// TestUrgent: what is urgent goes at full speed however small the share is, and costs the others
// nothing; what nothing may delete, it does not delete either.
func TestUrgent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := NewDuty(nil)
		d.SetFloors(map[uint64]float64{7: 1})
		d.Set(0.01, "load")
		urgent, other := d.Of(7), d.Of(8)

		began := time.Now()
		if took := workAt(t, urgent, 100); took != 10*time.Second || urgent.Reason() != "" {
			t.Errorf("what is urgent takes %v instead of 10 s, %q", took, urgent.Reason())
		}
		if d.Workers(4) != 4 || d.Target(7, time.Second) != time.Second || d.Target(8, time.Second) == time.Second {
			t.Errorf("it has %d workers, and statements of %v", d.Workers(4), d.Target(7, time.Second))
		}

		if err := other.MaySend(t.Context()); err != nil || time.Since(began) != 10*time.Second {
			t.Errorf("another table pays for it: %v (%v)", time.Since(began), err)
		}
		other.Took(100 * time.Millisecond)
		if err := other.MaySend(t.Context()); err != nil || time.Since(began) < 12*time.Second || other.Reason() != "load" {
			t.Errorf("another table goes as fast: %v (%v)", time.Since(began), err)
		}

		d.Set(0, "nobody knows")
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := urgent.MaySend(ctx); err == nil || urgent.Reason() != "nobody knows" || d.Workers(4) != 1 {
			t.Errorf("what is urgent goes on although nothing may: %v, %q", err, urgent.Reason())
		}
	})
}
