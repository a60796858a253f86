package pace

import (
	"context"
	"errors"
)

// ErrCalled ends the wait of a worker that has been called to another job.
var ErrCalled = errors.New("a job that somebody has asked for has had no turn yet")

// call calls one worker to each job that a person has asked for and that has had no turn yet: whoever waits for
// a small table waits neither for the slice of another, nor until a limit lets rows of that one go.
//
//	asked for ── called ──┬── a worker waits, or is about to send the next batch: it leaves its task
//	                      └── a free one has taken it up meanwhile
func (q *Queue) call() {
	for _, j := range q.jobs {
		_, called := q.calls[j.ID]
		_, served := q.served[j.ID]
		if j.AskedFor() && hasWork(j) && !called && !served {
			q.calls[j.ID] = true
		}
	}

	for r := range q.rests {
		if q.answer(r.job) {
			delete(q.rests, r)
			r.end(ErrCalled)
		}
	}
}

// answer answers a call, if there is one that the worker of this job has not made itself.
func (q *Queue) answer(job uint64) bool {
	for id, open := range q.calls {
		if open && id != job {
			q.calls[id] = false
			return true
		}
	}
	return false
}

// rest is a wait of a worker that has a job.
type rest struct {
	job uint64
	end context.CancelCauseFunc
}

// UnlessCalled waits, as the worker that has a job, or returns ErrCalled as soon as that should leave it for
// another one, of which it is the next turn.
func (q *Queue) UnlessCalled(ctx context.Context, job uint64, wait func(context.Context) error) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)

	r := &rest{job, end}
	q.rest(r)
	err := wait(ctx)
	q.rested(r)

	if errors.Is(context.Cause(ctx), ErrCalled) {
		return ErrCalled
	}
	return err
}

func (q *Queue) rest(r *rest) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.rests[r] = true
	if q.answer(r.job) {
		r.end(ErrCalled)
	}
}

func (q *Queue) rested(r *rest) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.rests, r)
}

// Throttle is that of a job's worker, whose waits end when it is called.
func (q *Queue) Throttle(job uint64, t Throttle) Throttle { return callable{t, q, job} }

type callable struct {
	Throttle
	queue *Queue
	job   uint64
}

func (c callable) Wait(ctx context.Context) error {
	return c.queue.UnlessCalled(ctx, c.job, c.Throttle.Wait)
}

func (c callable) MaySend(ctx context.Context) error {
	return c.queue.UnlessCalled(ctx, c.job, c.Throttle.MaySend)
}

func (c callable) MayDelete(ctx context.Context, rows int64) error {
	may := false
	err := c.queue.UnlessCalled(ctx, c.job, func(ctx context.Context) error {
		err := c.Throttle.MayDelete(ctx, rows)
		may = err == nil
		return err
	})
	if err != nil && may {
		c.GiveBack(rows)
	}
	return err
}
