package pace

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
)

func running(id uint64, trigger catalog.Trigger) catalog.Job {
	return catalog.Job{ID: id, State: catalog.JobRunning, Tasks: 4, Trigger: trigger}
}

// TestCalls: a job that a person has asked for calls one worker, once, and only until it has had a turn.
func TestCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewQueue()
		long := running(1, catalog.TriggerSchedule)
		q.Set([]catalog.Job{long}, nil)

		ended := make(chan error, 2)
		for range 2 { // workers
			go func() {
				ended <- q.UnlessCalled(t.Context(), long.ID, func(ctx context.Context) error {
					<-ctx.Done()
					return ctx.Err()
				})
			}()
		}
		synctest.Wait()

		waits := func(what string, workers int) {
			t.Helper()
			synctest.Wait()
			if left := len(q.rests); left != workers {
				t.Fatalf("%d workers wait after %s, want %d", left, what, workers)
			}
		}

		q.Add([]catalog.Job{running(2, catalog.TriggerSchedule)})
		waits("a scheduled job", 2)
		replanned := running(3, catalog.TriggerManual)
		replanned.TriggeredBy = catalog.Replanner
		q.Add([]catalog.Job{replanned})
		waits("a job that is planned anew", 2)

		asked := running(4, catalog.TriggerManual)
		q.Add([]catalog.Job{asked})
		waits("a job that somebody has asked for", 1)
		if err := <-ended; !errors.Is(err, ErrCalled) {
			t.Errorf("got %v, want %v", err, ErrCalled)
		}
		q.Set([]catalog.Job{long, asked}, nil)
		waits("the next look at the same job", 1)

		q.Set([]catalog.Job{long}, nil)
		approval := running(5, catalog.TriggerManual)
		approval.State = catalog.JobNeedsApproval
		q.Set([]catalog.Job{long, approval}, nil)
		waits("a job that may not run", 1)
		q.Set([]catalog.Job{long, running(5, catalog.TriggerManual)}, nil)
		waits("its approval", 0)
		<-ended

		if q.answer(long.ID) {
			t.Error("a call is answered twice")
		}
		if q.Add([]catalog.Job{running(6, catalog.TriggerManual)}); q.answer(6) {
			t.Error("a job calls its own worker")
		}
		if q.Serve(6); q.answer(long.ID) {
			t.Error("a job calls although a free worker has it")
		}
	})
}

// TestCallsAreHeardLater: a worker that begins to wait when it is called already waits for nothing.
func TestCallsAreHeardLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewQueue()
		q.Set([]catalog.Job{running(1, catalog.TriggerSchedule), running(2, catalog.TriggerManual)}, nil)
		slow := NewRates(nil)
		slow.Set(1, Limit{}, 0)
		throttle := q.Throttle(1, slow)

		began := time.Now()
		if err := throttle.MaySend(t.Context()); !errors.Is(err, ErrCalled) || time.Since(began) > 0 {
			t.Errorf("got %v after %v, want %v at once", err, time.Since(began), ErrCalled)
		}
		for range 2 {
			if err := throttle.MaySend(t.Context()); err != nil {
				t.Error(err)
			}
		}
		if took := time.Since(began); took < time.Second {
			t.Errorf("%v for three statements, want the rate to hold", took)
		}
	})
}

// TestLongTurns: a job that has just had a long turn comes after one that has waited for less than that.
func TestLongTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewQueue()
		q.Set([]catalog.Job{running(1, catalog.TriggerSchedule)}, nil)
		q.Serve(1)
		time.Sleep(SliceTime)
		q.Add([]catalog.Job{running(2, catalog.TriggerSchedule)})
		time.Sleep(SliceTime)
		q.Serve(1)
		time.Sleep(time.Millisecond)
		if order := q.Order(); order[0] != 2 {
			t.Errorf("got %v, want the job that has had no turn first", order)
		}
	})
}

// TestBegins: who waits for work hears of it when there is some where none was, once, however it came.
func TestBegins(t *testing.T) {
	t.Parallel()
	q := NewQueue()
	told := func(what string, want bool) {
		t.Helper()
		select {
		case <-q.Begins():
			if !want {
				t.Errorf("%s is told", what)
			}
		default:
			if want {
				t.Errorf("%s is not told", what)
			}
		}
	}

	first, second := running(1, catalog.TriggerSchedule), running(2, catalog.TriggerSchedule)
	waits, done := running(3, catalog.TriggerSchedule), running(4, catalog.TriggerSchedule)
	waits.State, done.TasksFinished = catalog.JobNeedsApproval, done.Tasks

	q.Set([]catalog.Job{waits, done}, nil)
	told("a job that has no work", false)
	q.Add([]catalog.Job{first})
	told("the first job", true)
	q.Add([]catalog.Job{second})
	q.Set([]catalog.Job{first, second}, nil)
	told("one more", false)
	q.Set([]catalog.Job{waits}, nil)
	q.Set([]catalog.Job{second}, nil)
	told("a job of another node", true)
}
