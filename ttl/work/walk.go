package work

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/ttl/pace"
	"github.com/ttlproxy/ttlproxy/ttl/plan"
)

// How a task ends before its range does.
var (
	// errRefused: the barrier did not open; the catalog knows why.
	errRefused = errors.New("the policy or the task changed")
	// errChanged: the table is not the one the policy was declared on.
	errChanged = errors.New("the table changed")
	// errHalted: the stop file exists, or this node is on its own.
	errHalted = errors.New("this node must not delete now")
	// errStuck: the cursor did not move, and would walk the same rows for ever.
	errStuck = errors.New("the cursor does not advance")
	// errKeyless: a row cannot be deleted, and nothing names it.
	errKeyless = errors.New("a row cannot be deleted, and the table has no key by which to skip it")
)

// table is the user's table as a walk sees it. Its deletes go through the barrier and leave a
// checkpoint.
type table interface {
	blockEnd(ctx context.Context, r plan.Range, rows int) (tables.Key, error)
	blockRows(ctx context.Context, r plan.Range) (int, error)
	expired(ctx context.Context, r plan.Range) ([]found, error)
	dueAmong(ctx context.Context, r plan.Range, keys []tables.Key) ([]tables.Key, error)
	page(ctx context.Context, r plan.Range, rows int) ([]found, error)
	dateOf(ctx context.Context, key tables.Key) (time.Time, error)
	kept(ctx context.Context) (undeletable, error)
	keyOf(entry tables.Key) tables.Key
	deleteRange(ctx context.Context, r plan.Range, c checkpoint) (int64, error)
	deleteKeys(ctx context.Context, keys []tables.Key, c checkpoint) (int64, error)
	deleteFree(ctx context.Context, keys []tables.Key, c checkpoint) (deleted int64, locked []tables.Key, err error)
	deleteSome(ctx context.Context, rows int, c checkpoint) (int64, error)
	deleteAlong(ctx context.Context, keys []tables.Key, c checkpoint, b bounds) (taken, error)
	deleteBelow(ctx context.Context, key tables.Key, c checkpoint, b bounds) (taken, error)
	move(ctx context.Context, c checkpoint) error
	resume(batch uint64)

	expiries
}

const (
	// listed is the longest list of keys in one DELETE, whatever the settings: beyond it both
	// servers prefer other plans.
	listed = 1000
	// sparseShare is the due share of a block below which its rows are deleted by key: a range
	// DELETE locks, and waits for, every row it looks at.
	sparseShare = 0.05
	denseShare  = 0.2
	// moveEvery is how often progress through rows that stay is checkpointed.
	moveEvery = time.Second
)

// walk goes from a task's cursor to the end of its range, a block at a time.
//
//	         ┌────────────── block ──────────────┐
//	at ──────┤ find its end by key, n rows       ├── end ──────── to
//	         │ much is due: one range DELETE     │
//	         │ little is:   keys, DELETE by key  │
//	         │ locked rows: keys SKIP LOCKED     │
//	         │ poison rows: halve until alone,   │
//	         │ and from then on skip them        │
//	         └───────────────────────────────────┘
//
// Rows that were locked are retried when the range is done.
type walk struct {
	table    table
	policy   uint64
	way      plan.Way
	key      tables.Columns // by which rows are named
	at, to   tables.Key
	size     *pace.BatchSize
	throttle pace.Throttle
	share    *share // of what the run may delete; nil for any number
	poison   func(ctx context.Context, key tables.Key, expired time.Time, err error) error
	resting  *resting // rows that were poison before and are not retried yet
	tried    int      // rows of the task that were found to be poison

	pageRows, listRows int // keys read, and named, by one statement
	most               int // rows that one DELETE may delete, once somebody has said so; 0 for any number
	ownBatch           int // TTL_DELETE_BATCH_SIZE of the table
	// named: every row to delete is named by key. Among rows that stay, a range would look for the
	// children of each of them, and wait for those that somebody has locked.
	named bool
	// altered is errChanged if a table that statements name is not as it was; nil if that is only this one.
	altered func(context.Context) error
	// along: rows of other tables go with those of this one, up to mostAlong with one of them.
	along     bool
	mostAlong int
	family    int // rows of this table that are tried together then
	turns     int // to be awaited for statements of the last batch

	planned int64 // rows that the DELETE which is under way may delete, and has not yet

	deleted int64         // by this walk
	took    int64         // rows read by the last step
	began   time.Time     // the last step
	idle    time.Duration // of it, waiting for the turn to delete
	told    time.Duration // of it, worked and reported to the throttle
	cut     bool          // the last step ended before its block
	sparse  bool
	round   int          // length of lists among locked or poison rows
	behind  int          // lists in a row that were left for what is behind their rows
	parked  []tables.Key // rows that were locked when the walk came by
	scanned int64        // in blocks before this one, since the last checkpoint
	block   int64        // rows of this block that no checkpoint has counted yet
	passed  left         // since the last checkpoint
	moved   time.Time
	held    *tables.Key // see checkpoint; nil but within a step
}

// step does one block. done is true when the range is walked to its end.
func (w *walk) step(ctx context.Context) (done bool, err error) {
	if err := w.throttle.Wait(ctx); err != nil {
		return false, err
	}

	if w.cut {
		w.block = 0 // the rest of it is read again
	}
	w.took, w.cut = 0, false
	w.begin()
	defer w.tell()
	defer w.settle(0)
	switch w.way {
	case plan.WalkIndex:
		done, err = w.stepIndex(ctx)
	case plan.DeleteSome:
		done, err = w.stepSome(ctx)
	case plan.DrainQueue:
		done, err = w.stepQueue(ctx)
	case plan.Census:
		done, err = w.stepCensus(ctx)
	default:
		done, err = w.stepRange(ctx)
	}

	return done && !w.cut, err
}

// begin starts the clocks of a step.
func (w *walk) begin() { w.began, w.idle, w.told = time.Now(), 0, 0 }

// tell reports the time that was worked since it last did.
func (w *walk) tell() {
	worked := w.worked()
	w.throttle.Took(worked - w.told)
	w.told = worked
}

// awaitTurn waits until a DELETE of so many rows may be sent.
func (w *walk) awaitTurn(ctx context.Context, rows int) (err error) {
	w.tell()
	w.settle(0)
	asked := time.Now()
	for ; err == nil && w.turns > 0; w.turns-- {
		err = w.throttle.MaySend(ctx)
	}
	if err == nil {
		err = w.throttle.MayDelete(ctx, int64(rows))
	}
	if err == nil {
		w.planned = int64(rows)
	}
	w.idle += time.Since(asked)
	return err
}

// settle tells the throttle how many rows the last DELETE has deleted: other than were planned, none if it failed.
func (w *walk) settle(deleted int64) {
	if more := deleted - w.planned; more != 0 {
		w.throttle.Spend(0, more)
	}
	w.planned = 0
}

// worked is how long the step has lasted, without its waits for a turn.
func (w *walk) worked() time.Duration { return time.Since(w.began) - w.idle }

// long says that a step has worked, or waited for a turn, for longer than a slice of time.
func (w *walk) long() bool { return w.worked() > pace.SliceTime || w.idle > pace.SliceTime }

// enough says that a step has lasted so long that others should have their turn, and settings should be
// read again. What is left of its block, l out of all its keys, belongs to the next one, which begins at
// the last checkpoint and is smaller. Nobody comes back to rows that are retried: they may only not wait.
func (w *walk) enough(l lot, all int) bool {
	n := all - len(l.keys)
	if n == 0 || n == all || !w.long() || l.again && w.idle <= pace.SliceTime {
		return false
	}
	w.cut = true
	w.size.Cut(int(w.took) * n / all)
	return true
}

// allowed is how many rows the next DELETE may delete, whatever limits it.
func (w *walk) allowed() int {
	_, rows := w.throttle.Rows()
	if w.most > 0 {
		rows = min(rows, w.most)
	}
	return rows
}

// list is how many keys the next DELETE may name.
func (w *walk) list() int { return min(w.listRows, listed, w.allowed()) }

// next is how many of the keys of a lot, and of so many, the next DELETE may name.
func (w *walk) next(l lot, most int) int { return w.key.Fit(l.keys[:min(len(l.keys), most, w.list())]) }

func (w *walk) stepRange(ctx context.Context) (done bool, err error) {
	rows := w.rows()
	end, err := w.table.blockEnd(ctx, plan.Range{From: w.at, To: w.to}, rows)
	if err != nil {
		return false, err
	}

	done = end == nil || end.Equal(w.to)
	if end == nil { // the last block is shorter; by how much has to be asked
		end = w.to
		if rows, err = w.table.blockRows(ctx, plan.Range{From: w.at, To: end}); err != nil {
			return false, err
		}
	}

	if !done && end.Equal(w.at) {
		return false, errStuck
	}

	block := plan.Range{From: w.at, To: end}
	w.read(rows)
	w.examined(rows)
	rest, err := w.resting.in(ctx, w.table, block)
	if err != nil {
		return false, err
	}

	tight, err := w.share.tight(ctx, rows)
	if err != nil {
		return false, err
	}

	choosy := w.named || rest || tight || rows > w.allowed() || w.most > 0 // somebody may put more rows into the range
	if w.sparse || choosy {
		return done, w.deleteSparse(ctx, block, rows, choosy, done)
	}

	return done, w.deleteDense(ctx, block, rows)
}

// deleteDense deletes a block by its range.
func (w *walk) deleteDense(ctx context.Context, block plan.Range, rows int) error {
	if err := w.awaitTurn(ctx, rows); err != nil {
		return err
	}
	began := w.worked()
	c := w.checkpoint(block.To)
	deleted, err := w.table.deleteRange(ctx, block, c)
	if err != nil {
		return w.roundabout(ctx, block, err)
	}
	w.size.Took(rows, w.worked()-began)
	w.sparse = float64(deleted) < sparseShare*float64(rows)
	w.arrived(c, deleted)
	return nil
}

// deleteSparse reads the due keys of a block and deletes them by key, or by range if they are many
// and none has to be left out.
func (w *walk) deleteSparse(ctx context.Context, block plan.Range, rows int, choosy, last bool) error {
	began := w.worked()
	l, err := w.due(ctx, block)
	if err != nil {
		return err
	}
	if !choosy && float64(len(l.keys)) > denseShare*float64(rows) {
		return w.deleteDense(ctx, block, rows)
	}

	w.sparse = w.sparse || float64(len(l.keys)) < sparseShare*float64(rows)
	if len(l.keys) == 0 {
		w.size.Took(rows, w.worked()-began)
		return w.pass(ctx, l, last)
	}
	if _, err := w.deleteListed(ctx, l); err != nil {
		return w.roundabout(ctx, block, err)
	}
	if !w.cut {
		w.size.Took(rows, w.worked()-began)
	}

	return nil
}

// due reads what has to be deleted from a block.
func (w *walk) due(ctx context.Context, block plan.Range) (lot, error) {
	rows, err := w.table.expired(ctx, block)
	if err != nil {
		return lot{}, err
	}
	return w.lotOf(ctx, rows, itself, block.To)
}

// pass moves past a block in which nothing has to be deleted, with a checkpoint now and then.
func (w *walk) pass(ctx context.Context, l lot, last bool) error {
	w.at = l.end
	w.passed = w.passed.and(l.left[0])
	if !last && time.Since(w.moved) < moveEvery {
		return nil
	}
	return w.goOn(ctx, w.checkpoint(l.end))
}

// deleteListed deletes the keys of a lot in lists of bounded length, and returns the rest.
func (w *walk) deleteListed(ctx context.Context, l lot) (lot, error) {
	if w.along {
		return lot{}, w.deleteFamilies(ctx, l)
	}
	for all := len(l.keys); len(l.keys) > 0 && !w.enough(l, all); {
		size, err := w.room(ctx, w.next(l, listed))
		if err != nil {
			return l, err
		}
		keys, c := w.part(l, size)
		if err := w.deletePart(ctx, keys, c, w.table.deleteKeys); err != nil {
			return l, err
		}
		l = l.from(size)
	}
	return l, nil
}

// part is a list of the first of a lot's keys, and the checkpoint behind them. With the last list
// the block is done.
func (w *walk) part(l lot, size int) ([]tables.Key, checkpoint) {
	c := w.within(l.cursors[size-1], size, len(l.keys))
	upTo := size
	if size == len(l.keys) {
		c.cursor, upTo = l.end, size+1
	}
	for _, left := range l.left[:upTo] {
		c.leave(left)
	}
	if l.again {
		c.again = int64(size)
	}
	if l.entries != nil {
		c.entries = l.entries[:size]
	}
	return l.keys[:size], c
}

// room is how many of n rows may be deleted, at least one.
func (w *walk) room(ctx context.Context, rows int) (int, error) {
	room, err := w.share.room(ctx, rows)
	if err == nil && room == 0 {
		err = errBound
	}
	return room, err
}

type deleteFunc func(ctx context.Context, keys []tables.Key, c checkpoint) (int64, error)

func (w *walk) deletePart(ctx context.Context, keys []tables.Key, c checkpoint, remove deleteFunc) error {
	if err := w.awaitTurn(ctx, len(keys)); err != nil {
		return err
	}
	c.chosen = int64(len(keys))
	deleted, err := remove(ctx, keys, c)
	if err != nil {
		return err
	}
	w.arrived(c, deleted)
	return nil
}

// stepIndex deletes the oldest due rows, found by the index on time.
func (w *walk) stepIndex(ctx context.Context) (done bool, err error) {
	rows := max(min(w.rows(), w.pageRows), 1)
	entries, err := w.table.page(ctx, plan.Range{From: w.at, To: w.to}, rows)
	if err != nil {
		return false, err
	}

	w.read(len(entries))
	if len(entries) == 0 {
		return true, w.passAll(ctx)
	}

	end := entries[len(entries)-1]
	if end.at.Equal(w.at) {
		return false, errStuck
	}

	done = len(entries) < rows
	if err := w.deleteEntries(ctx, entries, done); err != nil {
		return false, err
	}
	if !w.cut {
		w.size.Took(len(entries), w.worked())
	}

	return done, nil
}

// passAll leaves a checkpoint behind all that was read, if there is none yet: the last page was full, and nothing in it
// had to be deleted.
func (w *walk) passAll(ctx context.Context) error {
	if w.examined(0); w.scanned == 0 {
		return nil
	}
	return w.goOn(ctx, w.checkpoint(w.at))
}

// deleteEntries deletes the rows behind entries of the index on time.
func (w *walk) deleteEntries(ctx context.Context, entries []found, last bool) error {
	for part := range slices.Chunk(entries, w.list()) {
		w.examined(len(part))
		l, err := w.lotOf(ctx, part, w.table.keyOf, part[len(part)-1].at)
		if err != nil {
			return err
		}
		if len(l.keys) == 0 {
			if err := w.pass(ctx, l, last); err != nil {
				return err
			}
			continue
		}

		rest, err := w.deleteListed(ctx, l)
		if w.mayGoRound(err) {
			err = w.carefully(ctx, rest)
		}
		if err != nil || w.cut {
			return err
		}
	}
	return nil
}

// stepSome deletes due rows of a table without a key, as many as fit in a batch.
func (w *walk) stepSome(ctx context.Context) (done bool, err error) {
	rows, err := w.room(ctx, min(w.rows(), w.allowed()))
	if err != nil {
		return false, err
	}
	if err := w.awaitTurn(ctx, rows); err != nil {
		return false, err
	}

	c := w.checkpoint(nil)
	deleted, err := w.table.deleteSome(ctx, rows, c)
	if err != nil && classify(err) == poison {
		return false, fmt.Errorf("%w: %w", errKeyless, err)
	}
	if err != nil {
		return false, err
	}

	w.size.Took(rows, w.worked())
	w.arrived(c, deleted)
	if deleted < int64(rows) {
		return true, w.countKept(ctx)
	}
	return false, nil
}

// countKept counts the rows that stay in a table without a key, when all others have gone.
func (w *walk) countKept(ctx context.Context) error {
	if !w.named {
		return nil
	}
	stuck, err := w.table.kept(ctx)
	if err != nil {
		return err
	}
	return w.table.move(ctx, checkpoint{stuck: stuck, whole: true})
}

// rows is the size of the next block: what fits the target time, and a second of the throttle's
// budget.
func (w *walk) rows() int {
	budget, _ := w.throttle.Rows()
	return max(min(w.size.Next(), budget), 1)
}

// checkpoint is the one behind the block.
func (w *walk) checkpoint(at tables.Key) checkpoint { return w.within(at, 1, 1) }

// within is a checkpoint behind n of the keys that are left of the block, out of all. So much of the
// block counts as examined: if it is cut, the rest is read, and counted, with the next one.
func (w *walk) within(at tables.Key, n, all int) checkpoint {
	c := checkpoint{cursor: at, scanned: w.scanned + w.block*int64(n)/int64(all), held: w.held}
	c.leave(w.passed)
	return c
}

func (w *walk) arrived(c checkpoint, deleted int64) {
	w.block -= c.scanned - w.scanned
	w.at, w.scanned, w.passed, w.moved = c.cursor, 0, left{}, time.Now()
	w.deleted += deleted
	w.share.spent(deleted)
	w.settle(deleted)
}

// newWalk begins at the cursor of a task.
func newWalk(t table, way plan.Way, r plan.Range, size *pace.BatchSize, throttle pace.Throttle,
	poison func(context.Context, tables.Key, time.Time, error) error,
) *walk {
	return &walk{
		table: t, way: way, at: r.From, to: r.To, size: size, throttle: throttle, poison: poison,
		round: listed, family: listed, pageRows: listed, listRows: listed, mostAlong: listed, moved: time.Now(),
	}
}

// resume continues from a checkpoint that the server has, after an answer that never came.
func (w *walk) resume(at tables.Key, batch uint64) {
	w.at, w.scanned, w.block, w.passed, w.held = at, 0, 0, left{}, nil
	w.table.resume(batch)
}

// adopt takes over changed settings, and the time that a statement should take now.
func (w *walk) adopt(l *Limits, target time.Duration) {
	block := largestBlock
	if l.ScanMost > 0 {
		block = min(block, l.ScanMost)
	}
	w.size.Bound(block, target)
	w.pageRows, w.listRows, w.most, w.mostAlong = l.ScanBatch, l.DeleteBatch, l.DeleteMost, l.MaxChildren
	if w.ownBatch > 0 {
		w.listRows, w.most = w.ownBatch, w.ownBatch
	}
	if w.named && w.most == 0 {
		w.listRows = listed // there is no range that deletes more at a time
	}
}

// read pays for rows that are looked at, whatever becomes of them.
func (w *walk) read(rows int) {
	w.throttle.Spend(int64(rows), 0)
	w.took += int64(rows)
}

// examined counts the rows of the next block, once the cursor is behind them. The block before was passed.
func (w *walk) examined(rows int) {
	w.scanned += w.block
	w.block = int64(rows)
}
