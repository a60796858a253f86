package ttl

import (
	"context"
	"errors"
	"time"

	"github.com/ttlproxy/ttlproxy/ttl/plan"
)

// How a task ends before its range does.
var (
	// errRefused: the barrier did not open; the catalog knows why.
	errRefused = errors.New("the policy or the task changed")
	// errChanged: the table is not the one the policy was declared on.
	errChanged = errors.New("the table changed")
	// errStuck: the cursor did not move, which would walk the same rows for ever.
	errStuck = errors.New("the cursor does not advance")
)

// table is the user's table as a walk sees it. Its deletes go through the barrier and leave a checkpoint.
type table interface {
	blockEnd(ctx context.Context, r plan.Range, rows int) (plan.Key, error)
	blockRows(ctx context.Context, r plan.Range) (int, error)
	dueKeys(ctx context.Context, r plan.Range) ([]plan.Key, error)
	page(ctx context.Context, after plan.Key, rows int) ([]plan.Key, error)
	keyOf(entry plan.Key) plan.Key
	deleteRange(ctx context.Context, r plan.Range, c checkpoint) (int64, error)
	deleteKeys(ctx context.Context, keys []plan.Key, c checkpoint) (int64, error)
	deleteUnlocked(ctx context.Context, keys []plan.Key, c checkpoint) (int64, error)
	deleteSome(ctx context.Context, rows int, c checkpoint) (int64, error)
	move(ctx context.Context, c checkpoint) error
	resume(batch uint64)
}

const (
	// listed is the longest list of keys in one DELETE, whatever is set: beyond it both servers prefer other plans.
	listed = 1000
	// sparseShare is the due share of a block below which its rows are deleted by key: a range DELETE locks, and
	// waits for, every row it looks at.
	sparseShare = 0.05
	denseShare  = 0.2
	// roundLimit is the longest list of keys deleted in the presence of locked or poison rows.
	roundLimit = 100
	// moveEvery is how often progress through rows that stay is checkpointed.
	moveEvery = time.Second
)

// walk carries one task from its cursor to the end of its range, a block at a time.
//
//	         ┌────────────── block ──────────────┐
//	at ──────┤ find its end by key, n rows       ├── end ──────── to
//	         │ much is due: one range DELETE     │
//	         │ little is:   keys, DELETE by key  │
//	         │ locked rows: keys SKIP LOCKED,    │
//	         │ poison rows: halve until alone    │
//	         └───────────────────────────────────┘
type walk struct {
	table    table
	way      plan.Way
	at, to   plan.Key
	size     *batchSize
	throttle Throttle
	poison   func(ctx context.Context, key plan.Key, err error) error

	pageRows, listRows int // keys read, and named, by one statement
	ownBatch           int // TTL_DELETE_BATCH_SIZE of the table

	deleted int64 // by this walk
	took    int64 // rows examined or deleted by the last step
	sparse  bool
	round   int   // length of lists among locked or poison rows
	scanned int64 // since the last checkpoint
	moved   time.Time
}

// step does one block. done is true when the range is walked to its end.
func (w *walk) step(ctx context.Context) (done bool, err error) {
	w.took = 0
	if err := w.throttle.Wait(ctx); err != nil {
		return false, err
	}
	switch w.way {
	case plan.WalkIndex:
		return w.stepIndex(ctx)
	case plan.DeleteSome:
		return w.stepSome(ctx)
	default:
		return w.stepRange(ctx)
	}
}

func (w *walk) stepRange(ctx context.Context) (done bool, err error) {
	rows := w.rows()
	end, err := w.table.blockEnd(ctx, plan.Range{From: w.at, To: w.to}, rows)
	if err != nil {
		return false, err
	}
	done = end == nil || end.Equal(w.to)
	if end == nil { // the last block is shorter, by how much must be asked
		end = w.to
		if rows, err = w.table.blockRows(ctx, plan.Range{From: w.at, To: end}); err != nil {
			return false, err
		}
	}
	if !done && end.Equal(w.at) {
		return false, errStuck
	}
	block := plan.Range{From: w.at, To: end}
	w.examined(rows)
	if w.sparse {
		return done, w.deleteSparse(ctx, block, rows, done)
	}
	return done, w.deleteDense(ctx, block, rows)
}

// deleteDense deletes a block by its range.
func (w *walk) deleteDense(ctx context.Context, block plan.Range, rows int) error {
	began := time.Now()
	deleted, err := w.table.deleteRange(ctx, block, w.checkpoint(block.To))
	if err != nil {
		return w.roundabout(ctx, block, err)
	}
	w.size.took(rows, time.Since(began))
	w.sparse = float64(deleted) < sparseShare*float64(rows)
	w.arrived(block.To, deleted)
	return nil
}

// deleteSparse reads the keys that are due in a block and deletes them by key, or by range when they are many.
func (w *walk) deleteSparse(ctx context.Context, block plan.Range, rows int, last bool) error {
	began := time.Now()
	keys, err := w.table.dueKeys(ctx, block)
	if err != nil {
		return err
	}
	if float64(len(keys)) > denseShare*float64(rows) {
		return w.deleteDense(ctx, block, rows)
	}
	if len(keys) == 0 {
		w.size.took(rows, time.Since(began))
		return w.pass(ctx, block.To, last)
	}
	if err := w.deleteListed(ctx, keys, keys, block.To); err != nil {
		return w.roundabout(ctx, block, err)
	}
	w.size.took(rows, time.Since(began))
	return nil
}

// pass moves over a block in which nothing is due, with a checkpoint now and then.
func (w *walk) pass(ctx context.Context, end plan.Key, last bool) error {
	w.at = end
	if !last && time.Since(w.moved) < moveEvery {
		return nil
	}
	if err := w.table.move(ctx, w.checkpoint(end)); err != nil {
		return err
	}
	w.arrived(end, 0)
	return nil
}

// deleteListed deletes keys in lists of bounded length. cursors are the positions of the keys, end that of the last.
func (w *walk) deleteListed(ctx context.Context, keys, cursors []plan.Key, end plan.Key) error {
	for n := 0; n < len(keys); {
		size := min(len(keys)-n, w.listRows, listed)
		at := cursors[n+size-1]
		if n+size == len(keys) {
			at = end
		}
		if err := w.deletePart(ctx, keys[n:n+size], at, w.table.deleteKeys); err != nil {
			return err
		}
		n += size
	}
	return nil
}

type deleteFunc func(ctx context.Context, keys []plan.Key, c checkpoint) (int64, error)

func (w *walk) deletePart(ctx context.Context, keys []plan.Key, at plan.Key, remove deleteFunc) error {
	c := w.checkpoint(at)
	c.chosen = int64(len(keys))
	deleted, err := remove(ctx, keys, c)
	if err != nil {
		return err
	}
	w.arrived(at, deleted)
	return nil
}

// roundabout takes a block again after an error that says something about its rows.
func (w *walk) roundabout(ctx context.Context, block plan.Range, cause error) error {
	c := classify(cause)
	if c != locked && c != poison {
		return cause
	}
	block.From = w.at // a part of it may be done
	keys, err := w.table.dueKeys(ctx, block)
	if err != nil {
		return err
	}
	if len(keys) == 0 {
		return w.pass(ctx, block.To, true)
	}
	if c == locked {
		w.size.failed()
	}
	return w.carefully(ctx, keys, keys, block.To)
}

// carefully deletes what nobody holds and nothing objects to of the keys, in lists that get shorter until each culprit
// stands alone. Short lists also keep the servers from reading the whole table instead, and waiting for everybody in it.
// cursors are the positions of the keys, end that of the last.
func (w *walk) carefully(ctx context.Context, keys, cursors []plan.Key, end plan.Key) error {
	for n := 0; n < len(keys); {
		size := min(len(keys)-n, w.round)
		at := cursors[n+size-1]
		if n+size == len(keys) {
			at = end
		}
		err := w.deletePart(ctx, keys[n:n+size], at, w.table.deleteUnlocked)
		c := classify(err)
		switch {
		case err == nil:
			w.round = min(2*w.round, roundLimit)
		case c != locked && c != poison:
			return err
		case size > 1:
			w.round = size / 2
			continue
		case c == locked:
			return err // not the row: somebody is changing the table
		default:
			if err := w.leave(ctx, keys[n], at, err); err != nil {
				return err
			}
		}
		n += size
	}
	return nil
}

// leave reports a row that cannot be deleted and goes on behind it.
func (w *walk) leave(ctx context.Context, key, at plan.Key, cause error) error {
	if err := w.poison(ctx, key, cause); err != nil {
		return err
	}
	c := w.checkpoint(at)
	c.failed = 1
	if err := w.table.move(ctx, c); err != nil {
		return err
	}
	w.arrived(at, 0)
	return nil
}

// stepIndex deletes the oldest due rows, found by the index on time.
func (w *walk) stepIndex(ctx context.Context) (done bool, err error) {
	rows := max(min(w.rows(), w.pageRows), 1)
	began := time.Now()
	entries, err := w.table.page(ctx, w.at, rows)
	if err != nil {
		return false, err
	}
	w.examined(len(entries))
	if len(entries) == 0 {
		return true, nil
	}
	end := entries[len(entries)-1]
	if end.Equal(w.at) {
		return false, errStuck
	}
	done = len(entries) < rows
	if err := w.deleteEntries(ctx, entries); err != nil {
		return false, err
	}
	w.size.took(len(entries), time.Since(began))
	return done, nil
}

// deleteEntries deletes the rows behind entries of the index on time.
func (w *walk) deleteEntries(ctx context.Context, entries []plan.Key) error {
	for len(entries) > 0 {
		part := entries[:min(len(entries), w.listRows, listed)]
		keys := make([]plan.Key, len(part))
		for i, entry := range part {
			keys[i] = w.table.keyOf(entry)
		}
		at := part[len(part)-1]
		err := w.deletePart(ctx, keys, at, w.table.deleteKeys)
		if c := classify(err); err != nil && (c == locked || c == poison) {
			err = w.carefully(ctx, keys, part, at)
		}
		if err != nil {
			return err
		}
		entries = entries[len(part):]
	}
	return nil
}

// stepSome deletes due rows of a table without a key, as many as fit a batch.
func (w *walk) stepSome(ctx context.Context) (done bool, err error) {
	rows := w.rows()
	began := time.Now()
	deleted, err := w.table.deleteSome(ctx, rows, w.checkpoint(nil))
	if err != nil {
		return false, err
	}
	w.size.took(rows, time.Since(began))
	w.arrived(nil, deleted)
	return deleted < int64(rows), nil
}

// rows is the size of the next block: what fits the target time, and a second of the throttle's budget.
func (w *walk) rows() int { return max(min(w.size.next(), w.throttle.Rows()), 1) }

func (w *walk) checkpoint(at plan.Key) checkpoint { return checkpoint{cursor: at, scanned: w.scanned} }

func (w *walk) arrived(at plan.Key, deleted int64) {
	w.at, w.scanned, w.moved = at, 0, time.Now()
	w.deleted += deleted
	w.throttle.Spend(0, deleted)
}

// newWalk begins at the cursor of a task.
func newWalk(t table, way plan.Way, r plan.Range, size *batchSize, throttle Throttle, poison func(context.Context, plan.Key, error) error) *walk {
	return &walk{
		table: t, way: way, at: r.From, to: r.To, size: size, throttle: throttle, poison: poison,
		round: roundLimit, pageRows: listed, listRows: listed, moved: time.Now(),
	}
}

// resume goes on from a checkpoint the server has, after an answer that never came.
func (w *walk) resume(at plan.Key, batch uint64) {
	w.at, w.scanned = at, 0
	w.table.resume(batch)
}

// limits takes changed settings over.
func (w *walk) limits(l *limits) {
	w.size.limits(largestBlock, l.target)
	w.pageRows, w.listRows = l.scanBatch, l.deleteBatch
	if w.ownBatch > 0 {
		w.listRows = w.ownBatch
	}
}

func (w *walk) examined(rows int) {
	w.throttle.Spend(int64(rows), 0)
	w.scanned += int64(rows)
	w.took += int64(rows)
}
