package work

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/ttl/plan"
)

// serverTable is the table on the server, reached by one session and deleted from through the
// barrier.
type serverTable struct {
	policy     catalog.Policy
	session    *Session
	statements *plan.Statements
	cutoff     plan.Cutoff // of the job, as far as it says when a date expires
	barrier    *barrier
	along      *along           // nil if nothing goes along
	queue      *expiryQueue     // nil if the plan does without
	batch      uint64           // the task's batch number as last known
	clock      func() time.Time // the server's, as it has gone on since the table was prepared

	bind      func(context.Context) error // tells the catalog of another connection
	contested *contested
	halted    func() string // called before each packet: a switch that needs no catalog

	// beforePacket is a hook for tests: it runs between deciding on a batch and sending it.
	beforePacket func()
}

func (t *serverTable) blockEnd(ctx context.Context, r plan.Range, rows int) (tables.Key, error) {
	query, err := t.statements.BlockEnd(r, rows)
	if err != nil {
		return nil, err
	}
	keys, err := t.read(ctx, query, len(t.statements.Key))
	if err != nil || len(keys) == 0 {
		return nil, err
	}
	return keys[0], nil
}

// ready makes the session ready. Where other tables have a part in which rows go, it is one in which
// no trigger has created a temporary table: that would hide them from the next batch.
func (t *serverTable) ready(ctx context.Context) error {
	if t.statements.Staying.Alone() || !t.session.touched {
		return t.session.Ready(ctx)
	}
	if !t.session.tidy(ctx) {
		t.session.Close()
	}
	return t.session.reopened(ctx, func() error { return t.bind(ctx) })
}

// blockRows counts a range that is known to be shorter than a block.
func (t *serverTable) blockRows(ctx context.Context, r plan.Range) (rows int, err error) {
	query, err := t.statements.BlockRows(r)
	if err != nil {
		return 0, err
	}
	if err := t.ready(ctx); err != nil {
		return 0, err
	}
	return rows, t.session.QueryRowContext(ctx, query).Scan(&rows)
}

func (t *serverTable) expired(ctx context.Context, r plan.Range) ([]found, error) {
	query, err := t.statements.BlockKeys(r)
	if err != nil {
		return nil, err
	}
	return t.find(ctx, func() ([]plan.Found, error) {
		return t.statements.Find(ctx, t.session, query, len(t.statements.Key))
	})
}

func (t *serverTable) dueAmong(ctx context.Context, r plan.Range, keys []tables.Key) (due []tables.Key, err error) {
	for some := range t.statements.Key.Lists(keys, listed) {
		query, err := t.statements.DueAmong(r, some)
		if err != nil {
			return nil, err
		}
		more, err := t.read(ctx, query, len(t.statements.Key))
		if err != nil {
			return nil, err
		}
		due = append(due, more...)
	}
	return due, nil
}

func (t *serverTable) page(ctx context.Context, r plan.Range, rows int) ([]found, error) {
	return t.find(ctx, func() ([]plan.Found, error) { return t.statements.Page(ctx, t.session, r, rows) })
}

func (t *serverTable) find(ctx context.Context, read func() ([]plan.Found, error)) ([]found, error) {
	if err := t.ready(ctx); err != nil {
		return nil, err
	}
	rows, err := read()
	if err != nil {
		return nil, err
	}

	all := make([]found, len(rows))
	for i, row := range rows {
		all[i] = found{at: row.At, stays: row.Stays}
		if row.Stays {
			all[i].expired = t.cutoff.ExpiryOf(row.Date)
		}
	}
	return all, nil
}

// dateOf is when a row expired; zero if it is gone, or has not.
func (t *serverTable) dateOf(ctx context.Context, key tables.Key) (time.Time, error) {
	query, err := t.statements.DateOf(key)
	if err != nil {
		return time.Time{}, err
	}
	dates, err := t.read(ctx, query, 1)
	if err != nil || len(dates) == 0 {
		return time.Time{}, err
	}
	return t.cutoff.ExpiryOf(string(dates[0][0])), nil
}

func (t *serverTable) kept(ctx context.Context) (u undeletable, err error) {
	if t.statements.Staying.None() {
		return u, nil
	}
	if err := t.ready(ctx); err != nil {
		return u, err
	}
	var date string
	err = t.session.QueryRowContext(ctx, t.statements.Kept()).Scan(&u.rows, &date)
	u.oldest = t.cutoff.ExpiryOf(date)
	return u, err
}

func (t *serverTable) keyOf(entry tables.Key) tables.Key { return t.statements.KeyOf(entry) }

func (t *serverTable) read(ctx context.Context, query string, columns int) ([]tables.Key, error) {
	if err := t.ready(ctx); err != nil {
		return nil, err
	}
	return plan.QueryKeys(ctx, t.session, query, columns)
}

func (t *serverTable) deleteRange(ctx context.Context, r plan.Range, c checkpoint) (int64, error) {
	packet, err := t.packet(r, c)
	if err != nil {
		return 0, err
	}
	return t.send(ctx, packet)
}

// packet is the batch that deletes a range.
func (t *serverTable) packet(r plan.Range, c checkpoint) (packet, error) {
	p, statements := t.barrier.open(t.batch), t.statements
	if t.locksFirst() {
		lock, err := statements.LockRange(r)
		if err != nil {
			return p, err
		}
		p, statements = p.locking(lock), statements.Forcing(t.barrier.mariadb)
	}
	del, err := statements.DeleteRange(r, t.barrier.inside(t.batch))
	return t.barrier.close(p, t.batch, del, c), err
}

// locksFirst says that the rows of a batch are all locked before one of them is deleted: on MySQL,
// where a DELETE would wait with everything that it has deleted locked, and where batches have
// lately met locks.
func (t *serverTable) locksFirst() bool {
	return t.barrier.waits() || t.contested.lately(t.policy.ID)
}

func (t *serverTable) deleteKeys(ctx context.Context, keys []tables.Key, c checkpoint) (int64, error) {
	packet, err := t.packetOfKeys(keys, c)
	if err != nil {
		return 0, err
	}
	return t.send(ctx, packet)
}

// packetOfKeys is the batch that deletes what keys name.
func (t *serverTable) packetOfKeys(keys []tables.Key, c checkpoint) (packet, error) {
	p, statements := t.barrier.open(t.batch), t.statements
	if t.locksFirst() {
		lock, err := statements.LockKeys(keys)
		if err != nil {
			return p, err
		}
		p, statements = p.locking(lock), statements.Forcing(t.barrier.mariadb)
	}
	del, err := statements.DeleteKeys(keys, t.barrier.inside(t.batch))
	if err != nil {
		return p, err
	}
	return t.unqueueing(t.barrier.close(p, t.batch, del, c), keys, c)
}

func (t *serverTable) deleteSome(ctx context.Context, rows int, c checkpoint) (int64, error) {
	p := t.barrier.open(t.batch)
	if t.barrier.waits() {
		p = p.locking(t.statements.LockSome(rows))
	}
	del := t.statements.DeleteSome(rows, t.barrier.inside(t.batch))
	return t.send(ctx, t.barrier.close(p, t.batch, del, c))
}

func (t *serverTable) send(ctx context.Context, p packet) (int64, error) {
	if err := t.ready(ctx); err != nil {
		return 0, err
	}
	if t.beforePacket != nil {
		t.beforePacket()
	}
	if t.halted != nil && t.halted() != "" {
		return 0, errHalted
	}

	found, err := t.session.packet(ctx, p.statements...)
	if err != nil {
		t.session.visit(t.policy.ID)
		if classify(err) == locked {
			t.contested.meet(t.policy.ID)
		}
		return 0, err
	}

	return t.judge(p, found)
}

// judge reads the answers of a packet and keeps count of the batches.
func (t *serverTable) judge(p packet, found []int64) (int64, error) {
	how, deleted, err := p.judge(found)
	if deleted > 0 {
		t.session.visit(t.policy.ID)
	}

	switch {
	case err != nil:
		return 0, err
	case how == refused:
		return 0, errRefused
	case how == changed:
		t.batch++ // entering was committed
		return 0, errChanged
	default:
		t.batch++
		return deleted, nil
	}
}

// deleteFree skips locked rows: it locks those of the keys that are free and deletes them, in one
// transaction of two packets. wait_timeout ends the transaction should we never send the second. It
// returns the locked keys.
func (t *serverTable) deleteFree(ctx context.Context, keys []tables.Key,
	c checkpoint,
) (deleted int64, locked []tables.Key, err error) {
	if err := t.ready(ctx); err != nil {
		return 0, nil, err
	}
	if t.halted != nil && t.halted() != "" {
		return 0, nil, errHalted
	}

	opened, found, err := t.enter(ctx)
	if err != nil {
		return 0, nil, err
	}

	free, locked, err := t.lockFree(ctx, keys)
	if err != nil {
		t.session.rollback(ctx)
		return 0, nil, err
	}

	c.skipped += int64(len(locked))
	c.chosen = int64(len(keys) - len(locked))
	del, err := t.statements.Forcing(t.barrier.mariadb).DeleteKeys(free, t.barrier.inside(t.batch))
	if err != nil {
		t.session.rollback(ctx)
		return 0, nil, err
	}
	if t.beforePacket != nil {
		t.beforePacket()
	}

	whole := t.barrier.close(opened, t.batch, del, c)
	rest, err := t.session.packet(ctx, whole.after(opened)...)
	if err != nil {
		t.session.visit(t.policy.ID)
		return 0, nil, t.behind(err)
	}

	deleted, err = t.judge(whole, append(found, rest...))
	return deleted, locked, err
}

// enter begins a transaction behind the barrier. It asks for no row of the table.
func (t *serverTable) enter(ctx context.Context) (opened packet, found []int64, err error) {
	opened = t.barrier.open(t.batch)
	found, err = t.session.packet(ctx, opened.statements...)
	if err == nil && found[opened.enter] == 0 {
		t.session.rollback(ctx)
		err = errRefused
	}
	return opened, found, elsewhere(err)
}

// elsewhere marks an error of a statement that waits for no row.
func elsewhere(err error) error {
	if classify(err) != locked {
		return err
	}
	return fmt.Errorf("%w: %w", errElsewhere, err)
}

// behind finds out what is locked when all rows are ours.
func (t *serverTable) behind(err error) error {
	switch {
	case classify(err) != locked:
		return err
	case t.barrier.waits():
		return fmt.Errorf("%w: %w", errWaited, err)
	default:
		return fmt.Errorf("%w: %w", errBehind, err)
	}
}

// lockFree locks those of the rows that nobody else has locked, and says which of the others are
// still due.
func (t *serverTable) lockFree(ctx context.Context, keys []tables.Key) (free, locked []tables.Key, err error) {
	lock, err := t.statements.UnlockedKeys(keys)
	if err != nil {
		return nil, nil, err
	}
	if free, err = plan.QueryKeys(ctx, t.session, lock, len(t.statements.Key)); err != nil || len(free) == len(keys) {
		return free, nil, elsewhere(err)
	}

	ours := make(map[string]bool, len(free))
	for _, key := range free {
		ours[key.Encode()] = true
	}

	others := slices.DeleteFunc(slices.Clone(keys), func(key tables.Key) bool { return ours[key.Encode()] })
	due, err := t.statements.DueAmong(plan.Range{}, others)
	if err != nil {
		return nil, nil, err
	}

	locked, err = plan.QueryKeys(ctx, t.session, due, len(t.statements.Key))
	return free, locked, elsewhere(err)
}

// move checkpoints without deleting.
func (t *serverTable) move(ctx context.Context, c checkpoint) error {
	if err := t.ready(ctx); err != nil {
		return err
	}
	found, err := t.session.packet(ctx, t.barrier.move(t.batch, c))
	if err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	if found[0] == 0 {
		return errRefused
	}
	return nil
}

func (t *serverTable) resume(batch uint64) { t.batch = batch }
