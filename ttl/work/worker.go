package work

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/panics"
	"github.com/ttlproxy/ttlproxy/ttl/pace"
)

// Store is what workers ask of the catalog, and tell it.
type Store interface {
	Clock(ctx context.Context) (time.Time, error)
	Server() catalog.Server
	Name(table string) string
	Guard(policy, version uint64) string

	ClaimTask(ctx context.Context, c catalog.Claim) (catalog.Task, error)
	BindTask(ctx context.Context, id, fence, connection uint64, server string) error
	Task(ctx context.Context, id uint64) (catalog.Task, error)
	Allow(ctx context.Context, task catalog.Task, want uint64) (*uint64, error)
	ReleaseTask(ctx context.Context, id, fence uint64, text string) error
	FinishTask(ctx context.Context, id, fence uint64) error
	OwnTasks(ctx context.Context, node uint64) ([]catalog.Task, error)

	Job(ctx context.Context, id uint64) (catalog.Job, error)
	SetJobState(ctx context.Context, id, fence uint64, next catalog.JobState, w catalog.Waits) error
	FinishJob(ctx context.Context, id, fence uint64, end catalog.JobState, reason string) error
	Ask(ctx context.Context, actor string, job catalog.Job, reason string) error

	PolicyByID(ctx context.Context, id uint64) (catalog.Policy, error)
	RequestRun(ctx context.Context, actor string, policy uint64) (asked time.Time, err error)
	Departure(ctx context.Context, policy uint64, partition string) (catalog.Departure, error)
	Rests(ctx context.Context, policy uint64, now time.Time) (why string, err error)
	TurnStore
	Departures(ctx context.Context, policy uint64) ([]catalog.Departure, error)
	EndDeparture(ctx context.Context, d catalog.Departure) error
	WithdrawDeparture(ctx context.Context, d catalog.Departure) error
	SettleDepartures(ctx context.Context, policy uint64) error
	AfterDeparture(t catalog.Table, partition string) (createTime, id string)
	InnoDBID(t catalog.Table) string
	SizeOf(t catalog.Table, partition string) string

	AnnounceSide(ctx context.Context, d catalog.Departure, from uint64) error
	SideStore

	AlongStore
	GuardAlong(others []catalog.Table, policies []catalog.Policy) string

	ExpiryQueue(ctx context.Context, policy uint64, partition string) (catalog.ExpiryQueue, error)
	RestingRows(ctx context.Context, policy uint64, partition string, most int) (map[string]time.Time, error)
	RestingAmong(
		ctx context.Context, policy uint64, partition string, keys []string, all bool,
	) (map[string]time.Time, error)
	RecordRowError(ctx context.Context, e catalog.RowError) error
}

// worker claims tasks and carries them through, one after the other, with one session of its own.
type worker struct {
	*Crew
	session *Session
	size    *pace.BatchSize // of the table worked on last
	sizeOf  uint64
	rests   *resting // of the job worked on last
	restsOf uint64
}

// Work runs one worker until there is nothing left to claim, or until it is one too many.
func (c *Crew) Work(ctx context.Context) {
	w := &worker{Crew: c, session: c.Sessions.borrow()}
	defer func() { c.Sessions.handBack(w.session) }()

	for ctx.Err() == nil && c.Stopped() == "" && !w.spare() && !c.Starting() {
		task, err := w.claim(ctx)
		if err != nil {
			if !errors.Is(err, catalog.ErrNoTask) && ctx.Err() == nil {
				c.Log.LogAttrs(ctx, slog.LevelWarn, "no task could be claimed", slog.Any("err", err))
			}
			return
		}

		c.Metrics.claimed.Inc()
		err = w.work(ctx, task)
		c.Queue.Serve(task.JobID)

		if errors.Is(err, catalog.ErrFence) {
			c.Lost()
		}
		if err != nil && ctx.Err() == nil && !catalog.Overtaken(err) {
			c.Log.LogAttrs(ctx, slog.LevelWarn, "task is put back", slog.Uint64("job", task.JobID),
				slog.Uint64("task", task.ID), slog.Any("err", err))
			_ = c.linger(ctx, 0, time.Second)
		}
	}
}

// work carries a task through. A session with which something has panicked serves nobody else: nobody knows how far its
// transaction is.
func (w *worker) work(ctx context.Context, task catalog.Task) error {
	w.atWork.take(task)
	w.Metrics.working(1)
	err := panics.Caught(func() error { return w.carry(ctx, task) })
	w.Metrics.working(-1)
	w.atWork.drop(task)

	if bug, ok := errors.AsType[*panics.Error](err); ok {
		w.session.Close()
		bug.Value = fmt.Sprintf("job %d: %v", task.JobID, bug.Value)
		panic(bug)
	}
	return err
}

func (w *worker) claim(ctx context.Context) (catalog.Task, error) {
	defer w.Metrics.spent(phaseClaim, time.Now())

	l := w.Limits()
	if w.session.settings != l.Revision {
		w.session.Close() // so that its server is looked at anew: other settings may find reasons to pause there
		w.session.settings = l.Revision
	}
	if err := w.session.Ready(ctx); err != nil {
		return catalog.Task{}, err
	}

	claim := catalog.Claim{
		Node: w.Node(), Connection: w.session.id, Server: w.session.server,
		Settings: l.Revision,
	}
	if l.CountsTasks {
		claim.Limit = l.RunningTasks
	}

	order := w.Queue.Order()
	first := order[:min(len(order), firstAsked)]
	for _, claim.Jobs = range [][]uint64{first, order[len(first):]} {
		if len(claim.Jobs) == 0 {
			break
		}

		task, err := w.Store.ClaimTask(ctx, claim)
		if err == nil {
			w.Queue.Serve(task.JobID)
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
