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

		if full, least := d.Target(50*time.Millisecond), 5*time.Millisecond; full != least {
			t.Errorf("statements may take %v", full)
		}
	})
}
