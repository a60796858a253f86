package ttl

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/ttl/pace"
)

// crew keeps as many workers as the settings say, and wakes them when there is work.
func (e *Engine) crew(ctx context.Context, work <-chan struct{}) error {
	g, ctx := errgroup.WithContext(ctx)
	seats := make(chan struct{}, maxWorkers) // taken by workers at work
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
			continue
		case <-work:
		}
		for len(seats) < e.gang.Wanted() && !e.rush.on.Load() {
			seats <- struct{}{}
			g.Go(func() error {
				defer func() { <-seats }()
				e.work(ctx, seats)
				return nil
			})
		}
	}

	return g.Wait()
}

// maxWorkers is the most that ttl_scan_worker_count allows.
const maxWorkers = 256

// worker claims tasks and carries them through, one after the other, with one session of its own.
type worker struct {
	*Engine
	session *session
	size    *pace.BatchSize // of the table worked on last
	sizeOf  uint64
	rests   *resting // of the job worked on last
	restsOf uint64
	seats   <-chan struct{} // taken by this node's workers
}

// spare reports that this node has more workers at work than it wants.
func (w *worker) spare() bool { return len(w.seats) > w.gang.Wanted() }

// work runs one worker until there is nothing left to claim, or until it is one too many.
func (e *Engine) work(ctx context.Context, seats <-chan struct{}) {
	w := &worker{Engine: e, session: e.sessions.borrow(), seats: seats}
	defer func() { e.sessions.handBack(w.session) }()

	for ctx.Err() == nil && e.stopped() == "" && !w.spare() && !e.rush.on.Load() {
		task, err := w.claim(ctx)
		if err != nil {
			if !errors.Is(err, catalog.ErrNoTask) && ctx.Err() == nil {
				e.log.LogAttrs(ctx, slog.LevelWarn, "no task could be claimed", slog.Any("err", err))
			}
			return
		}

		e.metrics.working(1)
		e.metrics.claimed.Inc()
		err = w.carry(ctx, task)
		e.metrics.working(-1)

		if errors.Is(err, catalog.ErrFence) {
			e.metrics.leaseLost(leaseTask)
		}
		if err != nil && ctx.Err() == nil && !settled(err) {
			e.log.LogAttrs(ctx, slog.LevelWarn, "task is put back", slog.Uint64("job", task.JobID),
				slog.Uint64("task", task.ID), slog.Any("err", err))
			wait(ctx, time.Second)
		}
	}
}

func (w *worker) claim(ctx context.Context) (catalog.Task, error) {
	defer w.metrics.spent(phaseClaim, time.Now())

	l := w.limits.Load()
	if w.session.settings != l.revision {
		w.session.close() // so that its server is looked at anew: other settings may find reasons to hold there
		w.session.settings = l.revision
	}
	if err := w.session.ready(ctx); err != nil {
		return catalog.Task{}, err
	}

	claim := catalog.Claim{
		Node: w.node.Load(), Connection: w.session.id, Server: w.session.server,
		Settings: l.revision,
	}
	if l.countsTasks {
		claim.Limit = l.runningTasks
	}

	order := w.queue.Order()
	first := order[:min(len(order), firstAsked)]
	for _, claim.Jobs = range [][]uint64{first, order[len(first):]} {
		if len(claim.Jobs) == 0 {
			break
		}

		task, err := w.store.ClaimTask(ctx, claim)
		if err == nil {
			w.queue.Serve(task.JobID)
		}
		if !errors.Is(err, catalog.ErrNoTask) {
			return task, err
		}
	}

	return catalog.Task{}, catalog.ErrNoTask
}

// firstAsked are the jobs that a worker asks for before all others: the server sorts each list by
// its order.
const firstAsked = 32
