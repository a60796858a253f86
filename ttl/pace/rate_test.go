package pace

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog/setting"
)

func TestRates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewRates(func(string, time.Duration) {})
		r.Set(0, Limit{setting.DeleteRowsLimit, 100}, 0)
		began, rows := time.Now(), int64(0)
		for time.Since(began) < time.Minute {
			if err := r.MaySend(t.Context()); err != nil {
				t.Fatal(err)
			}
			_, batch := r.Rows()
			r.Spend(1000, int64(batch))
			rows += int64(batch)
		}

		if rows < 5900 || rows > 6200 {
			t.Errorf("%d rows in a minute, want about 6000", rows)
		}

		r.Set(2, Limit{}, 0)
		began, statements := time.Now(), 0
		for ; time.Since(began) < 10*time.Second; statements++ {
			if err := r.MaySend(t.Context()); err != nil {
				t.Fatal(err)
			}
			asked := time.Now()
			if err := r.Wait(t.Context()); err != nil || time.Since(asked) > 0 {
				t.Fatalf("looking for rows waited %v for DELETEs, %v", time.Since(asked), err)
			}
		}

		if statements < 19 || statements > 22 {
			t.Errorf("%d statements in ten seconds, want about 20", statements)
		}
	})
}

func TestRaisedLimitIsFeltSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewRates(func(string, time.Duration) {})
		r.Set(0, Limit{setting.DeleteRowsLimit, 1}, 0)
		r.Spend(0, 3600) // an hour's worth
		time.AfterFunc(5*time.Second, func() { r.Set(0, Limit{}, 0) })
		began := time.Now()

		if err := r.MaySend(t.Context()); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took > 7*time.Second {
			t.Errorf("waited %v after the limit was lifted at 5s", took)
		}

		r.Set(0, Limit{setting.DeleteRowsLimit, 1}, 0)
		r.Spend(0, 3600)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()

		if err := r.MaySend(ctx); err == nil {
			t.Error("Wait returned before its debt was paid")
		}
	})
}

// TestRatesOfManyWorkers: workers that wait together for what is owed do not go on all at once. What a DELETE may take
// counts while it is under way; what it has not taken does not any more.
func TestRatesOfManyWorkers(t *testing.T) {
	for name, part := range map[string]int64{"full": 1, "half": 2, "none": 100} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := NewRates(nil)
				r.Set(0, Limit{setting.DeleteRowsLimit, 1000}, 0)
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				var mu sync.Mutex
				perSecond, all := map[time.Duration]int64{}, int64(0)
				began := time.Now()
				var workers sync.WaitGroup
				for range 64 {
					workers.Go(func() {
						for {
							_, batch := r.Rows()
							if All([]Throttle{r}).MayDelete(ctx, int64(batch)) != nil {
								return
							}
							time.Sleep(50 * time.Millisecond) // the statement
							deleted := int64(batch) / part
							r.Spend(0, deleted-int64(batch))
							mu.Lock()
							perSecond[time.Since(began).Truncate(time.Second)] += deleted
							all += deleted
							mu.Unlock()
						}
					})
				}
				workers.Wait()

				for second, n := range perSecond {
					if n > 1200 {
						t.Errorf("%d rows in the second after %v, want at most about 1000", n, second)
					}
				}
				if part == 1 && all < 9000 {
					t.Errorf("%d rows in ten seconds, want about 10000", all)
				}
			})
		})
	}
}

// TestRateIsGivenBack: what one of several throttles has let go, and another has not, counts for none.
func TestRateIsGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		own, all := NewRates(nil), NewRates(nil)
		own.Set(0, Limit{setting.DeleteRowsLimit, 1}, 0)
		all.Set(0, Limit{setting.DeleteRowsLimit, 1}, 0)
		all.Spend(0, 100)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := (All{own, all}).MayDelete(ctx, 100); err == nil {
			t.Fatal("it did not wait for what is owed")
		}

		began := time.Now()
		if err := own.MaySend(t.Context()); err != nil || time.Since(began) > 0 {
			t.Errorf("waited %v for a DELETE that was never sent, %v", time.Since(began), err)
		}
	})
}

// TestCalledWorkerGivesBack: who is called away when his DELETE may be sent has deleted nothing.
func TestCalledWorkerGivesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, q := NewRates(nil), NewQueue()
		r.Set(0, Limit{setting.DeleteRowsLimit, 1}, 0)
		gone, leave := context.WithCancel(t.Context())
		leave()
		if err := r.MayDelete(gone, 100); err == nil {
			t.Error("it may delete although it has left")
		}

		q.calls[2] = true
		if err := q.Throttle(1, r).MayDelete(t.Context(), 100); !errors.Is(err, ErrCalled) {
			t.Errorf("got %v, want %v", err, ErrCalled)
		}
		q.calls[2] = true
		if err := q.Throttle(1, deaf{r}).MayDelete(t.Context(), 100); !errors.Is(err, ErrCalled) {
			t.Errorf("got %v, want %v", err, ErrCalled)
		}

		began := time.Now()
		if err := r.MaySend(t.Context()); err != nil || time.Since(began) > 0 {
			t.Errorf("waited %v for DELETEs that were never sent, %v", time.Since(began), err)
		}
	})
}

// deaf is let go before it has heard that it is called.
type deaf struct{ *Rates }

func (d deaf) MayDelete(ctx context.Context, rows int64) error {
	return d.Rates.MayDelete(context.WithoutCancel(ctx), rows)
}

// TestSlowRates: less than a row a second is a limit as well.
func TestSlowRates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewRates(nil)
		r.Set(0, Limit{setting.ClusterRowsLimit, 0.4}, 0)
		began := time.Now()
		for range 11 {
			if err := r.MayDelete(t.Context(), 1); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(began).Round(time.Second); took != 25*time.Second {
			t.Errorf("ten rows took %v, want 25s", took)
		}
		if _, rows := r.Rows(); rows != 1 {
			t.Errorf("got %d rows at a time, want 1", rows)
		}
		r.take()
		if got := r.Reason(); got != "ttl_cluster_rows_limit of 0.4 per second" {
			t.Errorf("got %q", got)
		}
	})
}
