package work

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/ttl/pace"
	"github.com/ttlproxy/ttlproxy/ttl/plan"
)

// errReplan means that the table no longer has what the job's plan needs.
var errReplan = errors.New("the plan does not fit the table any more")

// assignment is a claimed task with its job and policy as they were then. Whoever has changed them
// since is found out by the barrier, and by the fences that are named with whatever is written.
type assignment struct {
	task   catalog.Task
	job    catalog.Job
	policy catalog.Policy
}

// carry works on a claimed task until its range is done, its slice of time is over, or something
// stops it. However it ends, the task is finished, or given back with its cursor where it is.
func (w *worker) carry(ctx context.Context, task catalog.Task) error {
	w.session.only = w.session.server
	defer func() { w.session.only = "" }()

	a, err := w.assignment(ctx, task)
	var unread *doubtError
	switch {
	case errors.As(err, &unread) && a.job.Owner == w.Node():
		return w.giveBack(ctx, a, err)
	case err != nil: // the node that leads the job may understand its policy
		return w.giveUp(ctx, task, err)
	}

	if err := w.unvisited(ctx, task); err != nil {
		return w.giveBack(ctx, a, err)
	}

	if plan.Way(a.job.Plan) == plan.GoWhole {
		return w.carryWhole(ctx, a)
	}

	table, err := w.prepare(ctx, a)
	if err != nil {
		return w.giveBack(ctx, a, err)
	}

	walk, err := w.walkOf(ctx, a, table)
	if err != nil {
		return w.giveBack(ctx, a, err)
	}

	done, err := w.steps(ctx, task, walk)
	switch {
	case err != nil:
		if w.session.visited != 0 {
			w.session.Close() // what a trigger has left may be why
		}
		return w.giveBack(ctx, a, err)
	case done:
		defer w.Finished(a.job)
		return w.Store.FinishTask(ctx, task.ID, task.Fence)
	default:
		return w.giveBack(ctx, a, nil)
	}
}

// assignment reads what belongs to a task.
func (w *worker) assignment(ctx context.Context, task catalog.Task) (a assignment, err error) {
	defer w.Metrics.spent(phasePrepare, time.Now())
	a.task = task
	if a.job, err = w.Store.Job(ctx, task.JobID); err != nil {
		return a, err
	}
	if a.policy, err = w.Store.PolicyByID(ctx, a.job.PolicyID); err == nil && a.policy.Unread != "" {
		err = &doubtError{Why: a.policy.Unread}
	}
	return a, err
}

// Blocks start small: the first one tells how fast this table is. It is as large where statements are to be short: of a
// small table, for which somebody may be waiting, it is the only one.
const (
	firstBlock   = 1000
	largestBlock = 20_000
)

// sizeFor keeps what a worker has learnt about a table from one of its tasks to the next.
func (w *worker) sizeFor(policy uint64) *pace.BatchSize {
	if w.size == nil || w.sizeOf != policy {
		w.size, w.sizeOf = pace.NewBatchSize(firstBlock, largestBlock, w.Limits().Target), policy
	}
	return w.size
}

// prepare reads what is needed to carry out a task. On a busy server each query waits its turn, so
// there are few: whether the table is still the remembered one is left to the barrier, which has to
// check anyway.
func (w *worker) prepare(ctx context.Context, a assignment) (*serverTable, error) {
	defer w.Metrics.spent(phasePrepare, time.Now())
	task, job, policy := a.task, a.job, a.policy

	now, err := w.Store.Clock(ctx)
	if err != nil {
		return nil, err
	}
	read := time.Now()
	if err := w.open(policy, now); err != nil {
		return nil, err
	}

	known, err := w.Tables.remembered(ctx, w.session.server, policy)
	if err != nil {
		return nil, err
	}
	if known == nil {
		return nil, errRefused // disarmed, which ended the job
	}

	layout, err := w.Tables.layouts.layout(ctx, w.session, now, job.Table, known)
	if err != nil {
		return nil, errors.Join(err, errChanged)
	}

	stay, keys, err := w.staying(ctx, policy.Terms, layout)
	if err != nil {
		return nil, err
	}

	goes, err := w.alongOf(ctx, now, stay.Along())
	if err != nil {
		return nil, err
	}

	statements := plan.StatementsOf(layout, job.Partition, policy.Rule.Column, job.CutoffLiteral, job.FloorLiteral,
		stay)
	column, _ := layout.Column(policy.Rule.Column)
	cutoff, err := plan.CutoffOf(policy.Terms, column, job.CreatedAt)
	if err != nil {
		return nil, err
	}
	identity, err := w.Tables.identityOf(ctx, now, statements.Target, known)
	if err != nil {
		return nil, err
	}
	if err := w.unimported(ctx, a, now, known, statements.Touch()); err != nil {
		return nil, err
	}
	if err := fits(plan.Way(job.Plan), statements); err != nil {
		return nil, err
	}
	queue, err := w.queueOf(ctx, a, column)
	if err != nil {
		return nil, err
	}

	return &serverTable{
		clock:  func() time.Time { return now.Add(time.Since(read)) },
		bind:   func(ctx context.Context) error { return w.bind(ctx, task) },
		policy: policy, session: w.session, statements: statements.LookingUp(), cutoff: cutoff, batch: task.Batch,
		halted: w.Stopped, beforePacket: w.BeforePacket, contested: w.contested, along: goes, queue: queue,
		barrier: &barrier{
			table: w.Store.Name("task"), job: job.ID, task: task.ID, fence: task.Fence, policy: policy.ID,
			version:  job.Version,
			guard:    w.Store.Guard(policy.ID, job.Version) + goes.condition(),
			moment:   w.moment(policy, statements, now),
			identity: identity, keys: keys, mariadb: w.Store.Server().MariaDB,
			atOnce: withoutWaitingOn(w.Store.Server()),
		},
	}, nil
}

// staying is which rows stay, and the condition that the foreign keys by which that was decided are
// still all that point at the table. The others, under whose rules none may point there, are looked
// for by the ticker.
func (w *worker) staying(
	ctx context.Context, t catalog.Terms, l *tables.Layout,
) (s plan.Staying, keys string, err error) {
	if t.Read() && t.Options.ForeignKeys == "" {
		return s, "", nil
	}

	c, err := tables.ReadChildren(ctx, w.session, l.Schema, l.Table)
	if err != nil {
		return s, "", err
	}

	s, why, err := plan.ReadStaying(ctx, w.session, t, l, c)
	if why != "" {
		err = &doubtError{Why: why}
	}

	return s, c.Unchanged(l.Schema, l.Table), err
}

// closedError says that no job of the table may run now, and until when.
type closedError struct{ why string }

func (e *closedError) Error() string { return e.why }

// open checks the windows once more: they may have been changed since the job was allowed to run.
func (w *worker) open(p catalog.Policy, now time.Time) error {
	if why := p.Terms.Timing.Closed(now, w.Limits().Window); why != "" {
		return &closedError{why}
	}
	return nil
}

// moment is the condition that the server's zone is that of the policy, and that no window has closed.
func (w *worker) moment(p catalog.Policy, s *plan.Statements, now time.Time) string {
	return zoneGuard(p.Rule, s.Expired.Kind) + windowGuard(p, now, w.Limits().Window)
}

// windowGuard is the condition, as SQL, that neither window has closed since that moment: only the ticker ends jobs by
// the clock, and may have something else to do.
func windowGuard(p catalog.Policy, now time.Time, global *ddl.Window) string {
	closes := p.Terms.Timing.Closes(now, global)
	if closes.IsZero() {
		return ""
	}
	return " AND UTC_TIMESTAMP(6) < '" + closes.UTC().Format(time.DateTime) + "'"
}

// fits checks that the indexes of the plan are there.
func fits(way plan.Way, s *plan.Statements) error {
	switch {
	case way == plan.WalkIndex && (s.TimeIndex == "" || s.KeyIndex == ""):
		return errReplan
	case (way == plan.WalkRange || way == plan.Census || way == plan.DrainQueue) && s.KeyIndex == "":
		return errReplan
	default:
		return nil
	}
}

func (w *worker) walkOf(ctx context.Context, a assignment, table *serverTable) (*walk, error) {
	task, job := a.task, a.job
	r, err := rangeOf(task)
	if err != nil {
		return nil, err
	}

	rest, err := w.restingIn(ctx, job, table.statements.Key)
	if err != nil {
		return nil, err
	}

	poison := func(ctx context.Context, key tables.Key, expired time.Time, cause error) error {
		return w.poisoned(ctx, job, key, expired, cause)
	}
	throttle := w.throttleOf(a.policy, table.clock)

	metered := &metered{table: table, metrics: w.Metrics, rows: w.Metrics.of(job.Table)}
	walk := newWalk(metered, plan.Way(job.Plan), r, w.sizeFor(job.PolicyID), w.Queue.Throttle(job.ID, throttle), poison)
	walk.policy, walk.key = job.PolicyID, table.statements.Key
	walk.ownBatch, walk.resting, walk.share = int(a.policy.Terms.Options.BatchSize), rest, newShare(w.Store, task)
	walk.tried = int(task.Counts.Failed)
	walk.named, walk.along = !table.statements.Staying.Alone(), table.along != nil
	if walk.named {
		walk.altered = table.altered
	}
	walk.sparse = w.Rates.Rationed() // then no DELETE goes to find out whether there is something to delete

	return walk, nil
}

// throttleOf is what holds a policy's rows back. The rates come last of all: what they allow must be sent at once.
func (w *worker) throttleOf(p catalog.Policy, clock func() time.Time) pace.Throttle {
	duty := w.Duty.Of(p.ID)
	if p.Terms.Options.DeleteRate == nil {
		return pace.All{duty, w.Rates}
	}
	return pace.All{duty, w.tableRates.Of(p.ID, w.ownRate(p, clock)), w.Rates}
}

// ownRate is this node's share of TTL_DELETE_RATE at each moment.
func (w *worker) ownRate(p catalog.Policy, clock func() time.Time) func() float64 {
	rates, zone := p.Terms.Options.DeleteRate, p.Terms.Timing.Zone
	return func() float64 { return w.Limits().Share(rates.At(clock(), zone)) }
}

// restingIn keeps a table's resting rows from one of the job's tasks to the next.
func (w *worker) restingIn(ctx context.Context, job catalog.Job, key tables.Columns) (*resting, error) {
	if w.restsOf == job.ID {
		return w.rests, nil
	}
	rests, err := w.restingOf(ctx, job, key)
	if err == nil {
		w.rests, w.restsOf = rests, job.ID
	}
	return rests, err
}

// rangeOf is what is left of a task's range.
func rangeOf(task catalog.Task) (plan.Range, error) {
	at := task.Cursor
	if at == "" {
		at = task.RangeStart
	}
	from, err := tables.DecodeKey(at)
	if err != nil {
		return plan.Range{}, err
	}
	to, err := tables.DecodeKey(task.RangeEnd)
	return plan.Range{From: from, To: to}, err
}

// poisoned records a row that cannot be deleted, with the reason.
func (w *worker) poisoned(
	ctx context.Context, job catalog.Job, key tables.Key, expired time.Time, cause error,
) error {
	number, reason := 0, cause.Error()
	if my, ok := errors.AsType[*mysql.MySQLError](cause); ok {
		number, reason = int(my.Number), my.Message
	}
	return w.Store.RecordRowError(ctx, catalog.RowError{
		PolicyID: job.PolicyID, Table: job.Table, Partition: job.Partition, Key: key.Encode(), Number: number,
		Reason: reason, ExpiredAt: expired,
	})
}

// steps walks block by block, until the range is done, or others should have their turn.
func (w *worker) steps(ctx context.Context, task catalog.Task, walk *walk) (done bool, err error) {
	slice, tries := pace.NewSlice(walk.deleted), 0
	for ctx.Err() == nil && w.Stopped() == "" {
		if slice.Over(walk.deleted) {
			if w.spare() || w.Queue.Others(task.JobID) {
				walk.revisit(ctx, revisits[:1])
				return false, nil
			}
			slice = pace.NewSlice(walk.deleted)
		}

		done, err = w.step(ctx, task, walk, &tries)
		switch {
		case errors.Is(err, pace.ErrCalled):
			walk.revisit(ctx, revisits[:1])
			return false, nil
		case errors.Is(err, errHalted):
			return false, nil
		case err != nil:
			return false, err
		case done:
			walk.revisit(ctx, revisits)
			return true, nil
		}
	}

	return false, nil
}

// step walks a block. After errors that say that nothing happened it is repeated, after pauses that grow with the
// tries; if an answer never came, it is looked up in the task.
func (w *worker) step(ctx context.Context, task catalog.Task, walk *walk, tries *int) (done bool, err error) {
	l := w.Limits()
	walk.adopt(l, w.Duty.Target(walk.policy, l.Target))
	done, err = walk.step(ctx)
	w.Gang.Done(walk.took)

	if err == nil || errors.Is(err, errHalted) || errors.Is(err, pace.ErrCalled) {
		*tries = 0
		return done, err
	}

	*tries++
	return false, w.recover(ctx, task, walk, err, *tries)
}

const maxTries = 10

// recover decides whether a failed step can be repeated.
func (w *worker) recover(ctx context.Context, task catalog.Task, walk *walk, cause error, tries int) error {
	if errors.Is(cause, errRefused) || errors.Is(cause, errChanged) || errors.Is(cause, errStuck) ||
		errors.Is(cause, errBound) || tries > maxTries {
		return cause
	}

	switch classify(cause) {
	case notExecuted, locked:
	case maybeExecuted:
		w.session.Close()
	case replan, never:
		return walk.unfitting(ctx, cause)
	default:
		return cause
	}

	walk.size.Failed()
	if err := w.backOff(ctx, task, tries); err != nil {
		return err
	}

	if err := w.session.reopened(ctx, func() error { return w.bind(ctx, task) }); err != nil {
		return err
	}

	return w.reload(ctx, task, walk)
}

// unfitting is what follows from an error that says that statements do not fit what they name. If that is
// another table than the policy's, which has gone or was altered since, nothing is wrong with the job's
// plan: its statements are written anew.
func (w *walk) unfitting(ctx context.Context, cause error) error {
	if w.altered != nil {
		if err := w.altered(ctx); err != nil {
			return errors.Join(err, cause)
		}
	}
	if classify(cause) == replan {
		return errors.Join(errReplan, cause)
	}
	return cause
}

// unvisited opens another session where triggers of another policy's table may have run in this
// one.
func (w *worker) unvisited(ctx context.Context, task catalog.Task) error {
	if w.session.visited == 0 || w.session.visited == task.PolicyID {
		return nil
	}
	w.session.Close()
	return w.session.reopened(ctx, func() error { return w.bind(ctx, task) })
}

func (w *worker) bind(ctx context.Context, task catalog.Task) error {
	return w.Store.BindTask(ctx, task.ID, task.Fence, w.session.id, w.session.server)
}

// reload continues from the last checkpoint that the server has.
func (w *worker) reload(ctx context.Context, task catalog.Task, walk *walk) error {
	now, err := w.Store.Task(ctx, task.ID)
	if err != nil {
		return err
	}
	if now.Fence != task.Fence {
		return errRefused
	}

	r, err := rangeOf(now)
	if err != nil {
		return err
	}

	walk.resume(r.From, now.Batch)
	walk.share.resume(now)
	return nil
}

// backOff pauses before another try.
func (w *worker) backOff(ctx context.Context, task catalog.Task, tries int) error {
	defer w.Metrics.spent(phaseRetry, time.Now())
	return w.linger(ctx, task.JobID, backoff(tries))
}

func backoff(tries int) time.Duration {
	return min(50*time.Millisecond<<min(tries, 7), 5*time.Second)
}

// giveUp returns a task whose job could not be read.
func (w *worker) giveUp(ctx context.Context, task catalog.Task, cause error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), giveBackFor)
	defer cancel()
	released := w.Store.ReleaseTask(ctx, task.ID, task.Fence, reasonOf(cause))
	if errors.Is(cause, context.Canceled) || catalog.Overtaken(cause) {
		return released
	}
	return cause
}

// giveBackFor bounds how long it takes to return a task, even when everything is to end.
const giveBackFor = 10 * time.Second

// reasonOf is what a returned task says of why.
func reasonOf(cause error) string {
	if cause == nil || errors.Is(cause, context.Canceled) {
		return ""
	}
	return cause.Error()
}

// giveBack returns an unfinished task, and deals with what stopped it.
func (w *worker) giveBack(ctx context.Context, a assignment, cause error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), giveBackFor)
	defer cancel()

	cause = discreet(cause)
	why := reasonOf(cause)
	if errors.Is(cause, errBound) {
		err := w.overBound(ctx, a.task)
		if err == nil || catalog.Overtaken(err) {
			return err
		}
		cause = err
	}

	var doubt *doubtError
	var closed *closedError
	released := w.Store.ReleaseTask(ctx, a.task.ID, a.task.Fence, why)
	switch {
	case cause == nil || errors.Is(cause, context.Canceled) || catalog.Overtaken(cause):
		return released
	case errors.Is(cause, errRefused):
		return errors.Join(released, w.refused(ctx, a))
	case errors.As(cause, &closed):
		return w.setState(ctx, a.job, catalog.JobWaitingWindow, catalog.Waits{Why: closed.why})
	case errors.Is(cause, errChanged):
		return w.changed(ctx, a)
	case errors.Is(cause, errReplan):
		return w.replan(ctx, a.job, cause)
	case errors.As(cause, &doubt):
		return w.setState(ctx, a.job, catalog.JobPaused, catalog.Waits(*doubt))
	case classify(cause) == replan: // nothing was planned yet; another table may have the name
		return errors.Join(cause, w.changed(ctx, a))
	case classify(cause) == pause:
		return w.setState(ctx, a.job, catalog.JobPaused, catalog.Waits{Why: pauseReason(cause, w.Account, a.job.Table)})
	case classify(cause) == never || errors.Is(cause, errStuck) || errors.Is(cause, errKeyless):
		return w.failed(ctx, a.job, cause.Error())
	default:
		return cause
	}
}

// refused pauses the job if the server's state, or its zone, kept the barrier closed. Otherwise
// whoever raised the fence knows why: perhaps a setting was changed.
func (w *worker) refused(ctx context.Context, a assignment) error {
	if err := w.ReadLimits(ctx); err != nil {
		return err
	}

	waits, err := catalog.Waits{}, w.session.Ready(ctx)
	if err == nil {
		waits.Why, err = w.pauseNow(ctx, a.task)
	} else if doubt, ok := errors.AsType[*doubtError](err); ok {
		waits, err = catalog.Waits(*doubt), nil
	}

	if err == nil && waits.Why != "" {
		err = w.setState(ctx, a.job, catalog.JobPaused, waits)
	}
	if catalog.Overtaken(err) {
		return nil
	}

	return err
}

// pauseNow says for which of the reasons that a batch itself checks nothing may be deleted now.
func (w *worker) pauseNow(ctx context.Context, task catalog.Task) (string, error) {
	if why, err := w.Sessions.Pauses(ctx, w.session); err != nil || why != "" {
		return why, err
	}

	p, err := w.Store.PolicyByID(ctx, task.PolicyID)
	if err != nil {
		return "", err
	}

	layout, err := tables.ReadLayout(ctx, w.session, p.Table.Schema, p.Table.Name)
	if err != nil {
		return "", err
	}

	c, _ := layout.Column(p.Rule.Column)
	return ZonePause(ctx, w.session, p.Rule, c.Kind)
}

// changed finds out what became of a table whose identity was not the expected one. If it is
// followed, that has ended its jobs; if nobody can tell, the job waits.
func (w *worker) changed(ctx context.Context, a assignment) error {
	p, err := w.Store.PolicyByID(ctx, a.task.PolicyID)
	if err != nil {
		return err
	}
	known, err := w.Tables.Recognize(ctx, p)
	if doubt, ok := errors.AsType[*doubtError](err); ok {
		return w.setState(ctx, a.job, catalog.JobPaused, catalog.Waits(*doubt))
	}
	if err != nil || known == nil {
		return err
	}
	w.Tables.layouts.forget()
	if why := Over(known, a.job); why != "" {
		w.Log.LogAttrs(ctx, slog.LevelInfo, "job is over", append(JobAttrs(a.job), slog.String("why", why))...)
		return w.Store.FinishJob(ctx, a.job.ID, a.job.Fence, catalog.JobCancelled, why)
	}
	return nil
}

// Over says why nothing of what a job had to delete may go: its partition is gone, or is held until a person has
// looked; empty if it may. A job whose partition goes whole knows by itself what it means that it is gone.
func Over(known tables.Incarnation, job catalog.Job) string {
	if _, there := known.At(job.Partition); !there && plan.Way(job.Plan) == plan.GoWhole {
		return ""
	}
	return known.Refuses(job.Partition)
}

// replan ends a job whose index was dropped and requests another one. If that does not fit either,
// the table is left to people.
func (w *worker) replan(ctx context.Context, job catalog.Job, cause error) error {
	w.Tables.layouts.forget()
	if job.TriggeredBy == catalog.Replanner {
		return w.failed(ctx, job, cause.Error())
	}

	w.Log.LogAttrs(ctx, slog.LevelInfo, "job is replanned", append(JobAttrs(job), slog.Any("cause", cause))...)
	if err := w.Store.FinishJob(ctx, job.ID, job.Fence, catalog.JobCancelled,
		cause.Error()+"; another job is planned"); err != nil {
		return err
	}

	_, err := w.Store.RequestRun(ctx, catalog.Replanner, job.PolicyID)
	return err
}

// failed ends a job that cannot go on.
func (w *worker) failed(ctx context.Context, job catalog.Job, reason string) error {
	w.Log.LogAttrs(ctx, slog.LevelError, "job fails", append(JobAttrs(job), slog.String("err", reason))...)
	return w.Store.FinishJob(ctx, job.ID, job.Fence, catalog.JobFailed, reason)
}

// setState makes a job wait; its owner resumes it when the reason is gone.
func (w *worker) setState(ctx context.Context, job catalog.Job, state catalog.JobState, waits catalog.Waits) error {
	if err := w.Store.SetJobState(ctx, job.ID, job.Fence, state, waits); err != nil {
		return fmt.Errorf("pause job: %w", err)
	}
	return nil
}
