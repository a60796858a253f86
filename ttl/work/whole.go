package work

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/ttl/pace"
	"github.com/ttlproxy/ttlproxy/ttl/plan"
)

// carryWhole carries out a task whose partition leaves its table whole.
func (w *worker) carryWhole(ctx context.Context, a assignment) error {
	done, err := w.whole(ctx, a)
	switch {
	case errors.Is(err, errHalted), errors.Is(err, pace.ErrCalled), errors.Is(err, errTaken),
		errors.Is(err, errWritten):
		return w.giveBack(ctx, a, nil)
	case err != nil:
		return w.giveBack(ctx, a, err)
	case done:
		defer w.Finished(a.job)
		return w.Store.FinishTask(ctx, a.task.ID, a.task.Fence)
	default:
		return w.giveBack(ctx, a, nil)
	}
}

// whole lets a partition go, unless it has gone: a node before this one may have died when it had
// sent everything.
func (w *worker) whole(ctx context.Context, a assignment) (done bool, err error) {
	if gone, err := w.departed(ctx, a); gone || err != nil {
		return gone, err
	}
	if err := w.waitForSignals(ctx, a); err != nil {
		return false, err
	}

	d, err := w.prepareWhole(ctx, a)
	if err != nil {
		return false, err
	}
	if why := w.session.users(ctx, d.mariadb, a.job.Table, d.lockWait); why != "" {
		return false, w.waits(ctx, d, why)
	}
	if counted, err := w.count(ctx, a, d); !counted || err != nil {
		return false, err
	}
	if d.rows == 0 && d.whole.How == ddl.PartitionTruncate {
		return w.emptied(ctx, d)
	}

	taken, err := w.mayGo(ctx, a, d)
	if taken {
		defer w.session.Close()
	}
	if !taken || err != nil {
		return false, err
	}
	return w.depart(ctx, a, d)
}

// depart lets a partition go as the worker whose turn it is, which lasts until everybody can see what came of it.
func (w *worker) depart(ctx context.Context, a assignment, d *departure) (done bool, err error) {
	began, duty := time.Now(), w.Duty.Of(d.policy)
	defer func() { duty.Took(time.Since(began)) }()

	turn := w.session.id
	if err := w.makeSide(ctx, d); err != nil {
		return false, err
	}
	if err := w.makeReady(ctx, a, d); err != nil {
		return false, errors.Join(err, w.dropSide(ctx, d))
	}

	if w.BeforePacket != nil {
		w.BeforePacket()
	}
	cause := errHalted
	if w.Stopped() == "" && w.session.id == turn {
		cause = w.leave(ctx, d)
	}
	gone, err := w.departed(ctx, a)
	if gone {
		w.countGone(a, d)
	}
	if gone || err != nil {
		return gone, err
	}
	return false, errors.Join(w.stayed(ctx, d, cause), w.dropSide(ctx, d))
}

// emptied is what is left to do of a partition without a row: nothing. But if it has been emptied and nobody has
// noted that, the table is looked at now, while it is seen that nothing has been put there.
func (w *worker) emptied(ctx context.Context, d *departure) (done bool, err error) {
	if err := w.session.QueryRowContext(ctx, "SELECT COALESCE("+d.identity+", FALSE)").Scan(&done); err != nil {
		return false, fmt.Errorf("compare partition %s: %w", d.Partition, err)
	}
	if !done {
		return false, errChanged
	}
	return true, nil
}

// prepareWhole reads everything anew on which it depends that a partition may go, in an order in
// which no change can hide: the table's identity first.
func (w *worker) prepareWhole(ctx context.Context, a assignment) (*departure, error) {
	defer w.Metrics.spent(phasePrepare, time.Now())
	job, policy := a.job, a.policy

	now, err := w.enterWhole(ctx, a)
	if err != nil {
		return nil, err
	}
	read := time.Now()

	known, err := w.Tables.remembered(ctx, w.session.server, policy)
	if err != nil {
		return nil, err
	}
	if known == nil {
		return nil, errRefused
	}

	target := tables.Target{Schema: job.Table.Schema, Table: job.Table.Name, Partition: job.Partition}
	identity, err := w.Tables.identityOf(ctx, now, target, known)
	if err != nil {
		return nil, err
	}

	facts, err := tables.ReadFacts(ctx, w.session, job.Table.Schema, job.Table.Name)
	if err != nil {
		return nil, errors.Join(err, errChanged)
	}
	if !facts.CreatedAt().Equal(known.Table().CreateTime) {
		return nil, errChanged
	}

	stay, why, err := plan.ReadStaying(ctx, w.session, policy.Terms, &facts.Layout, facts.Children)
	if err == nil && why != "" {
		err = &doubtError{Why: why}
	}
	if err != nil {
		return nil, err
	}

	whole, err := plan.ReadWhole(ctx, w.session, w.Store, policy, facts, stay, now)
	if err != nil {
		return nil, err
	}
	s := plan.StatementsOf(&facts.Layout, job.Partition, policy.Rule.Column, job.CutoffLiteral, job.FloorLiteral, stay)
	if err := w.unimported(ctx, a, now, known, s.Touch()); err != nil {
		return nil, err
	}
	if why := whole.Why(facts, job.Partition, s.Expired); why != "" {
		return nil, fmt.Errorf("%w: %s", errReplan, why)
	}

	bound := ""
	if p, found := facts.Partition(job.Partition); found && len(p.Below) <= longestBound {
		bound = p.Below
	}

	d := w.departureOf(a, s, whole, bound, identity, now)
	d.clock = func() time.Time { return now.Add(time.Since(read)) }
	d.believed, _ = facts.Partition(job.Partition)
	place, _ := known.At(job.Partition)
	d.fromID = place.TableID
	return d, w.watchImports(ctx, d)
}

// enterWhole makes the session ready, one in which no trigger has hidden a table, if partitions of the
// policy's table may go at all now.
func (w *worker) enterWhole(ctx context.Context, a assignment) (now time.Time, err error) {
	if now, err = w.Store.Clock(ctx); err != nil {
		return now, err
	}
	if err := w.open(a.policy, now); err != nil {
		return now, err
	}
	if why, err := w.Store.Rests(ctx, a.policy.ID, now); err != nil || why != "" {
		return now, cmp.Or(err, error(&doubtError{Why: why}))
	}

	if !w.session.tidy(ctx) {
		w.session.Close()
	}
	return now, w.session.reopened(ctx, func() error { return w.bind(ctx, a.task) })
}

// watchImports has the guard notice rows that are imported while others are counted: MySQL looks at none of them, and
// the file that they came in keeps its id, but the table in it gets another. Where an index tells of all rows, it is
// asked once more instead.
func (w *worker) watchImports(ctx context.Context, d *departure) error {
	if d.mariadb || d.statements.TimeIndex != "" {
		return nil
	}
	condition, err := w.session.unimported(ctx, d.fromID)
	if my, answered := errors.AsType[*mysql.MySQLError](err); answered && !passes(err) {
		return w.refusedBy(ctx, d, "InnoDB's id of it cannot be read: "+my.Message)
	}
	if err != nil {
		return fmt.Errorf("read the id of partition %s: %w", d.Partition, err)
	}
	d.contents = condition
	return nil
}

// unimported is the condition, as SQL, that a file of MySQL's has the table in it that it has now.
func (s *Session) unimported(ctx context.Context, space uint64) (condition string, err error) {
	now, id := fmt.Sprintf("(SELECT COALESCE(MAX(table_id), 0) FROM information_schema.innodb_tables WHERE space = %d)",
		space), uint64(0)
	err = s.QueryRowContext(ctx, "SELECT "+now).Scan(&id)
	return fmt.Sprintf(" AND %s = %d", now, id), err
}

// longestBound is the longest that the catalog has room for.
const longestBound = 1024

// waitForSignals waits before anything is found out about a partition that would be old by then.
func (w *worker) waitForSignals(ctx context.Context, a assignment) error {
	now, err := w.Store.Clock(ctx)
	if err != nil {
		return err
	}
	read := time.Now()
	clock := func() time.Time { return now.Add(time.Since(read)) }
	return w.Queue.Throttle(a.job.ID, w.throttleOf(a.policy, clock)).Wait(ctx)
}

// mayGo waits until signals and rates allow a statement, until the run may delete so many rows, and until it is this
// worker's turn, if that may come. For the rates it is one row: it costs the server no more.
func (w *worker) mayGo(ctx context.Context, a assignment, d *departure) (taken bool, err error) {
	throttle := w.Queue.Throttle(a.job.ID, w.throttleOf(a.policy, d.clock))
	if err := throttle.Wait(ctx); err != nil {
		return false, err
	}
	if err := throttle.MaySend(ctx); err != nil {
		return false, err
	}
	throttle.Spend(1, 1)
	if err := w.reserve(ctx, a, d); err != nil {
		return false, err
	}

	for {
		taken, err := w.turn(ctx, a, d)
		if !taken || err != nil || !w.Duty.Behind(d.policy) {
			return taken, err
		}
		w.session.Close() // others have gone meanwhile, or signals have changed: it is somebody else's turn
		if err := throttle.Wait(ctx); err != nil {
			return false, err
		}
	}
}

// errTaken: others have asked for what the run had left, after this task was given its part and before it used it.
var errTaken = errors.New("other tasks of the run have taken what this one was given")

// asksAgain is how often a task whose part was taken asks at once for another one. Who is given it uses it with the
// next statement: if it was taken each time, others have got on, and the task has its turn later.
const asksAgain = 5

// makeReady makes the departure ready. Only the run knows whether what goes is too much for it: the others may have
// taken what the task was given long ago, before it was its turn.
func (w *worker) makeReady(ctx context.Context, a assignment, d *departure) error {
	for range asksAgain {
		if err := w.tryReady(ctx, a, d); !errors.Is(err, errTaken) {
			return err
		}
		err := newShare(w.Store, a.task).anew().all(ctx, d.reserved)
		if errors.Is(err, errBound) && d.reserved > d.rows {
			return errTaken // they may fit, if they are counted
		}
		if err != nil {
			return err
		}
	}
	return errTaken
}

// tryReady makes the departure ready, behind all guards of a batch.
func (w *worker) tryReady(ctx context.Context, a assignment, d *departure) error {
	if err := w.session.reopened(ctx, func() error { return w.bind(ctx, a.task) }); err != nil {
		return err
	}

	p := d.open(d.batch)
	statements := append(p.statements, d.ready(d.batch), "COMMIT") //nolint:gocritic // p ends here
	found, err := w.session.packet(ctx, statements...)
	switch {
	case err != nil:
		return err
	case found[p.enter] == 0:
		return errRefused
	case found[len(p.statements)] == 0:
		return errTaken
	}
	return nil
}

// leave sends the packet that lets the partition go. Judgement and DDL come under the same locks: on
// the table, so that it stays what it is, and on the departures, which whoever changes anything must
// write first. If the sender is frozen and the packet ends by an error, the server ends the session,
// and with it the locks, after a second.
func (w *worker) leave(ctx context.Context, d *departure) error {
	defer w.Metrics.spent(phaseWhole, time.Now())
	return attempt{
		session: w.session, metrics: w.Metrics, mariadb: d.mariadb, wait: d.lockWait, packet: d.packet,
		goesOn: func(ctx context.Context) error { return w.goesOn(ctx, d) },
	}.make(ctx)
}

// goesOn says why nobody wants the partition to go any more.
func (w *worker) goesOn(ctx context.Context, d *departure) error {
	if ctx.Err() != nil || w.Stopped() != "" {
		return errHalted
	}
	return w.session.stillReady(ctx, w.Store.ReadyGuard(d.Departure))
}

// departed reports whether a task's partition has gone, and sees to it that this is noted.
func (w *worker) departed(ctx context.Context, a assignment) (bool, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), giveBackFor)
	defer cancel()

	d, err := w.Store.Departure(ctx, a.task.PolicyID, a.job.Partition)
	if err != nil {
		return false, err
	}
	found, err := w.Store.FindAside(ctx, d)
	switch {
	case err != nil || d.Task != a.task.ID:
		return false, err
	case found:
		return true, nil
	case d.State == catalog.DepartureTaken:
		return true, w.Store.SettleDepartures(ctx, a.task.PolicyID)
	default:
		return d.State == catalog.DepartureSettled || d.State == catalog.DepartureKept ||
			d.State == catalog.DepartureEnding, nil
	}
}

// countGone counts what has gone, for metrics.
func (w *worker) countGone(a assignment, d *departure) {
	rows := w.Metrics.of(a.job.Table)
	if !d.About {
		rows.examined.Add(float64(d.rows))
	}
	rows.deleted.Add(float64(d.rows))
	w.Metrics.deleted.Add(float64(d.rows))
}

// stayed says what follows from it that the partition is still there.
func (w *worker) stayed(ctx context.Context, d *departure, cause error) error {
	if cause == nil || errors.Is(cause, errHalted) || errors.Is(cause, errRefused) {
		return w.withdrawn(ctx, d, cause)
	}

	if used, waits := errors.AsType[*inUseError](cause); waits {
		return w.waits(ctx, d, used.why)
	}

	my, answered := errors.AsType[*mysql.MySQLError](cause)
	switch c := classify(cause); {
	case !answered || c == maybeExecuted:
		return cause
	case passes(cause):
		return w.waits(ctx, d, "somebody uses the table")
	case c == pause && my.Number != ddl.CodeTableDenied && my.Number != ddl.CodeSchemaDenied &&
		my.Number != ddl.CodeRightNeeded:
		return cause
	default:
		return w.refusedBy(ctx, d, fmt.Sprintf("the server has refused: error %d: %s", my.Number, my.Message))
	}
}

// withdrawn says what follows from it that nothing was tried: it was not sent, or the guard did not hold.
func (w *worker) withdrawn(ctx context.Context, d *departure, cause error) error {
	ctx = context.WithoutCancel(ctx)
	if cause == nil {
		now, err := w.Store.Departure(ctx, d.policy, d.Partition)
		switch {
		case err != nil:
			return err
		case now.State == catalog.DepartureBarred:
			cause = errRefused
		default:
			cause = errChanged
		}
	}
	return errors.Join(cause, w.Store.WithdrawDeparture(ctx, d.Departure))
}

// waits notes that somebody uses the table for longer than a partition waits for it.
func (w *worker) waits(ctx context.Context, d *departure, why string) error {
	d.State, d.Reason = catalog.DepartureWaits, fmt.Sprintf("partition %s cannot go while the table is used for "+
		"longer than ttl_partition_lock_wait: %s; it is tried again after a minute", d.Partition, why)
	if err := w.Store.EndDeparture(context.WithoutCancel(ctx), d.Departure); err != nil {
		return err
	}
	return &doubtError{Why: d.Reason}
}

// refusedBy notes why a partition goes by rows for a time, and has the run planned anew.
func (w *worker) refusedBy(ctx context.Context, d *departure, reason string) error {
	d.State, d.Reason = catalog.DepartureRefused, reason
	if err := w.Store.EndDeparture(context.WithoutCancel(ctx), d.Departure); err != nil {
		return err
	}
	return fmt.Errorf("%w: partition %s does not go whole: %s", errReplan, d.Partition, reason)
}
