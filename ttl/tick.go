package ttl

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
)

const (
	schedulerLease = "scheduler"
	leaseFor       = 15 * time.Second
	leaseEvery     = 5 * time.Second
	limitsEvery    = 3 * time.Second
)

// ticker is the state of the loop that looks at the catalog once per tick.
type ticker struct {
	*Engine
	session    *session
	leads      bool
	leaseAt    time.Time
	limitsAt   time.Time
	retryStart map[uint64]time.Time // policies whose job could not be started
	lookedAt   map[uint64]time.Time // jobs whose holds were looked at
}

// ticks looks after jobs: the leader of the cluster starts those that are due, every node leads those it owns, and
// wakes its crew when there is work.
func (e *Engine) ticks(ctx context.Context, work chan<- struct{}) error {
	t := &ticker{Engine: e, session: &session{db: e.db, admit: e.cfg.Admit, setup: e.cfg.afterOpen}, retryStart: map[uint64]time.Time{}, lookedAt: map[uint64]time.Time{}}
	defer t.session.close()
	failing := false
	for ctx.Err() == nil {
		err := t.tick(ctx, work)
		if err != nil && ctx.Err() == nil && !failing {
			e.log.LogAttrs(ctx, slog.LevelWarn, "engine cannot look after jobs", slog.Any("err", err))
		}
		failing = err != nil
		wait(ctx, e.cfg.Tick)
	}
	return nil
}

func (t *ticker) tick(ctx context.Context, work chan<- struct{}) error {
	if time.Since(t.limitsAt) > limitsEvery {
		if err := t.readLimits(ctx); err != nil {
			return err
		}
		t.limitsAt = time.Now()
	}
	t.metrics.measure(time.Now(), t.rates, t.limits.Load().target)
	if err := t.lead(ctx); err != nil {
		return err
	}
	jobs, err := t.store.Jobs(ctx)
	if err != nil {
		return err
	}
	if t.leads {
		if err := t.schedule(ctx, jobs); err != nil {
			return err
		}
	}
	t.forget(jobs)
	for _, job := range jobs {
		if err := t.manage(ctx, job); err != nil && !settled(err) {
			t.log.LogAttrs(ctx, slog.LevelWarn, "job is not looked after", slog.Uint64("job", job.ID), slog.Any("err", err))
		}
		if job.State == catalog.JobRunning && job.TasksFinished < job.Tasks {
			wake(work)
		}
	}
	return nil
}

// settled are errors that say somebody else has dealt with the thing.
func settled(err error) bool {
	return errors.Is(err, catalog.ErrFence) || errors.Is(err, catalog.ErrNoJob) || errors.Is(err, catalog.ErrMove) ||
		errors.Is(err, catalog.ErrStopped) || errors.Is(err, catalog.ErrJobOpen) || errors.Is(err, catalog.ErrNoPolicy) ||
		errors.Is(err, catalog.ErrPolicyChanged)
}

// wake tells the crew that there may be work; once is enough.
func wake(work chan<- struct{}) {
	select {
	case work <- struct{}{}:
	default:
	}
}

// lead takes or keeps the right to start jobs.
func (t *ticker) lead(ctx context.Context) error {
	if time.Since(t.leaseAt) < leaseEvery {
		return nil
	}
	_, err := t.store.Acquire(ctx, schedulerLease, t.node.Load(), leaseFor)
	if err != nil && !errors.Is(err, catalog.ErrLeaseHeld) {
		t.leads = false
		return err
	}
	t.leads, t.leaseAt = err == nil, time.Now()
	return nil
}

// schedule starts what is due.
func (t *ticker) schedule(ctx context.Context, jobs []catalog.Job) error {
	if t.stopped() != "" {
		return nil
	}
	pause, err := t.store.GlobalPause(ctx)
	if err != nil {
		return err
	}
	now, err := t.store.Clock(ctx)
	if err != nil {
		return err
	}
	if pause.Held || paused(pause.Pause, now) {
		return nil
	}
	policies, err := t.store.Policies(ctx)
	if err != nil {
		return err
	}
	ran, err := t.runs(ctx)
	if err != nil {
		return err
	}
	open := map[uint64]bool{}
	for _, job := range jobs {
		open[job.PolicyID] = true
	}
	for _, p := range policies {
		trigger, by, isDue := due(now, p, ran[p.ID])
		if !isDue || open[p.ID] || time.Now().Before(t.retryStart[p.ID]) {
			continue
		}
		if err := t.start(ctx, p, start{now: now, trigger: trigger, by: by, ran: ran[p.ID]}); err != nil && !settled(err) {
			t.retryStart[p.ID] = time.Now().Add(10 * time.Second)
			t.log.LogAttrs(ctx, slog.LevelWarn, "job could not be started", slog.String("schema", p.Table.Schema), slog.String("table", p.Table.Name), slog.Any("err", err))
		}
	}
	return nil
}

// runs are the schedules by policy.
func (t *ticker) runs(ctx context.Context) (map[uint64][]catalog.Schedule, error) {
	all, err := t.store.Schedules(ctx)
	if err != nil {
		return nil, err
	}
	ran := map[uint64][]catalog.Schedule{}
	for _, s := range all {
		ran[s.PolicyID] = append(ran[s.PolicyID], s)
	}
	return ran, nil
}
