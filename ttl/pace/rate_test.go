package pace

import (
	"context"
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
