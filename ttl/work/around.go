package work

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/ttl/plan"
)

var (
	// errBehind: the rows are free, but something that is deleted or written with them is not: an
	// entry of another index, what a trigger writes to.
	errBehind = errors.New("what would be deleted with these rows is locked")
	// errWaited is errBehind on a server that said so only after a wait.
	errWaited = fmt.Errorf("after waiting: %w", errBehind)
	// errElsewhere: no row is to blame. Somebody has locked a table, or what decides on all of its rows.
	errElsewhere = errors.New("a table or a policy is locked, and none of the rows")
)

const (
	// poisonRound is the longest list that is tried after a poison row was met.
	poisonRound = 100
	// poisonLimit is how many rows of a task are found out to be poison. Beyond that, lists in which
	// there is one are left to the next job, for which the others are known by then.
	poisonLimit = 500
	// behindLimit is how many successive lists may be left because of what is behind their rows. If
	// there are more, the cause is not the rows.
	behindLimit = 3
	// parkedLimit is the most locked rows that the same job retries.
	parkedLimit = 10_000
)

// revisits are the pauses before rows are retried that were locked when the walk came by: an
// application that locks a row for the length of a statement has released it by then.
var revisits = []time.Duration{0, 100 * time.Millisecond, 200 * time.Millisecond}

// roundabout repeats a block after an error that says something about its rows.
func (w *walk) roundabout(ctx context.Context, block plan.Range, cause error) error {
	if !w.mayGoRound(cause) {
		return cause
	}
	block.From = w.at // a part of it may be done
	l, err := w.due(ctx, block)
	if err != nil {
		return err
	}
	if len(l.keys) == 0 {
		return w.pass(ctx, l, true)
	}
	return w.carefully(ctx, l)
}

// mayGoRound says that an error is about some of the rows, and those have not been gone round yet, as
// rows that take others along always are.
func (w *walk) mayGoRound(err error) bool { return isolates(err) && !w.along }

// carefully deletes the rows of a lot that nobody has locked and nothing objects to, in lists that
// get shorter until each culprit stands alone. Locked rows need no search: the server passes over
// them. Nothing is waited for twice.
func (w *walk) carefully(ctx context.Context, l lot) error {
	if w.along {
		return w.deleteFamilies(ctx, l)
	}
	for all := len(l.keys); len(l.keys) > 0 && !w.enough(l, all); {
		size, err := w.room(ctx, w.next(l, w.round))
		if err != nil {
			return err
		}

		keys, c := w.part(l, size)
		err = w.deleteFree(ctx, keys, c)
		switch {
		case err == nil:
			w.round, w.behind = min(2*w.round, listed), 0
		case errors.Is(err, errBehind) && w.behind == behindLimit:
			return err
		case errors.Is(err, errWaited), errors.Is(err, errBehind) && size == 1:
			err = w.passBehind(ctx, keys, c)
		case errors.Is(err, errBehind):
			w.round = size / 2
			continue
		case classify(err) == poison && size > poisonRound:
			w.round = poisonRound
			continue
		case classify(err) == poison && w.weary():
			w.round = poisonRound
			err = w.passUntried(ctx, keys, c)
		case classify(err) == poison && size > 1:
			w.round = size / 2
			continue
		case classify(err) == poison:
			err = w.passPoison(ctx, keys[0], c, err)
		}

		if err == nil {
			l, err = w.rest(ctx, l, size)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// deleteFree deletes those of the rows that are not locked and remembers the others.
func (w *walk) deleteFree(ctx context.Context, keys []tables.Key, c checkpoint) error {
	return w.deletePart(ctx, keys, c, func(ctx context.Context, keys []tables.Key, c checkpoint) (int64, error) {
		deleted, locked, err := w.table.deleteFree(ctx, keys, c)
		w.park(locked)
		return deleted, err
	})
}

// weary says that enough rows of the task were found to be poison.
func (w *walk) weary() bool { return w.tried >= poisonLimit }

// rest is a lot without its first n keys, and without rows to which the walk has become too weary
// meanwhile.
func (w *walk) rest(ctx context.Context, l lot, n int) (lot, error) {
	l = l.from(n)
	if l.sifted || l.again || !w.weary() || len(l.keys) == 0 {
		return l, nil
	}
	l, err := w.leaveResting(ctx, l)
	if err == nil && len(l.keys) == 0 {
		err = w.pass(ctx, l, true)
	}
	return l, err
}

// passPoison reports a row that cannot be deleted and continues after it.
func (w *walk) passPoison(ctx context.Context, key tables.Key, c checkpoint, cause error) error {
	expired, err := w.table.dateOf(ctx, key)
	if err != nil {
		return err
	}
	if err := w.poison(ctx, key, expired, cause); err != nil {
		return err
	}
	w.tried++
	c.failed = 1
	c.stuck = c.stuck.and(undeletable{1, expired})
	return w.goOn(ctx, c)
}

// passUntried continues after rows one of which is poison, nobody knows which, unless it was before.
func (w *walk) passUntried(ctx context.Context, keys []tables.Key, c checkpoint) error {
	known, err := w.resting.among(ctx, keys, true)
	if err != nil {
		return err
	}
	for _, key := range keys {
		if expired, poison := known[key.Encode()]; poison {
			c.leave(left{1, undeletable{1, expired}})
		} else {
			c.skipped++
		}
	}
	return w.goOn(ctx, c)
}

// passBehind continues after rows that are themselves free, but whose deletion would have to wait.
// One of them is the culprit, nobody knows which: the next lists are shorter.
func (w *walk) passBehind(ctx context.Context, keys []tables.Key, c checkpoint) error {
	w.behind++
	w.round = max(min(len(keys), poisonRound)/10, 1)
	c.skipped += int64(len(keys))
	return w.goOn(ctx, c)
}

func (w *walk) goOn(ctx context.Context, c checkpoint) error {
	if err := w.table.move(ctx, c); err != nil {
		return err
	}
	w.arrived(c, 0)
	return nil
}

// revisit retries the rows that were locked. They count as skipped: whatever stops it, the numbers
// are right.
func (w *walk) revisit(ctx context.Context, pauses []time.Duration) {
	for _, pause := range pauses {
		if len(w.parked) == 0 {
			return
		}
		Wait(ctx, pause)
		if ctx.Err() != nil || w.again(ctx) != nil {
			return
		}
	}
}

func (w *walk) again(ctx context.Context) error {
	if err := w.throttle.Wait(ctx); err != nil {
		return err
	}
	keys := w.parked
	w.parked = nil
	w.begin()
	defer w.tell()
	return w.carefully(ctx, lot{
		keys: keys, cursors: slices.Repeat([]tables.Key{w.at}, len(keys)), left: make([]left, len(keys)+1),
		end: w.at, again: true,
	})
}
