package panics_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ttlproxy/ttlproxy/panics"
)

// crash panics with a stack that names it.
func crash() error { panic("seven") }

func TestCaught(t *testing.T) {
	t.Parallel()

	err := panics.Caught(crash)
	e, ok := errors.AsType[*panics.Error](err)
	if !ok || e.Value != "seven" || !strings.Contains(string(e.Stack), "crash") {
		t.Errorf("got %v", err)
	}

	ordinary := errors.New("an error")
	if err := panics.Caught(func() error { return ordinary }); !errors.Is(err, ordinary) {
		t.Errorf("an error became %v", err)
	}
}

func TestGroupPassesPanicsOn(t *testing.T) {
	t.Parallel()

	ended := false
	err := panics.Caught(func() error {
		g, ctx := panics.WithContext(t.Context())
		g.Go(crash)
		g.Go(func() error {
			<-ctx.Done()
			time.Sleep(10 * time.Millisecond)
			ended = true
			return nil
		})
		err := g.Wait()
		t.Error("the one who waits has heard nothing of it")
		return err
	})
	if !ended {
		t.Error("not all functions were waited for")
	}

	e, ok := errors.AsType[*panics.Error](err)
	if !ok || !strings.Contains(string(e.Stack), "crash") {
		t.Fatalf("got %v; want the panic, and where it was", err)
	}
}

func TestGroupReturnsErrors(t *testing.T) {
	t.Parallel()

	failed := errors.New("failed")
	g, _ := panics.WithContext(t.Context())
	g.Go(func() error { return failed })
	g.Go(func() error { return nil })
	if err := g.Wait(); !errors.Is(err, failed) {
		t.Errorf("got %v", err)
	}
}

func TestKeep(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var rests []time.Duration
		tell := func(_ *panics.Error, rest time.Duration) { rests = append(rests, rest) }
		run := 0
		failed := errors.New("failed")
		err := panics.Keep(t.Context(), tell, func(context.Context) error {
			switch run++; run {
			case 1, 2, 3, 5:
				return crash()
			case 4:
				time.Sleep(time.Hour)
				return crash()
			default:
				return failed
			}
		})
		if !errors.Is(err, failed) {
			t.Errorf("got %v; want the error of the part", err)
		}

		want := []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, time.Second, 2 * time.Second}
		if len(rests) != len(want) {
			t.Fatalf("told %v, want %v", rests, want)
		}
		for i := range want {
			if rests[i] != want[i] {
				t.Errorf("rested %v, want %v", rests, want)
			}
		}
	})
}

func TestKeepRestsNoLongerThanAMinuteAndEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()

		longest, told := time.Duration(0), 0
		err := panics.Keep(ctx, func(_ *panics.Error, rest time.Duration) {
			longest, told = max(longest, rest), told+1
		}, func(context.Context) error { return crash() })
		if err != nil || ctx.Err() == nil {
			t.Errorf("got %v", err)
		}
		if longest != time.Minute || told < 60 || told > 70 {
			t.Errorf("told %d times in an hour, at most %v apart; want about 65, a minute apart", told, longest)
		}
	})
}
