package work

import (
	"context"
	"errors"

	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/ttl/family"
	"github.com/ttlproxy/ttlproxy/ttl/pace"
)

// deleteFamilies deletes the rows of a lot with all that depend on them: as many rows at a time as
// take no more than mostAlong others with them, and before a single one with more, those others in
// parts. A row is left if it, or one that depends on it, is locked or cannot be deleted.
func (w *walk) deleteFamilies(ctx context.Context, l lot) error {
	for all := len(l.keys); len(l.keys) > 0 && !w.enough(all-len(l.keys), all); {
		size, b, err := w.roomAlong(ctx, min(len(l.keys), w.family, w.list()))
		if err != nil {
			return err
		}

		keys, c := w.part(l, size)
		done, err := w.takeAlong(ctx, func() (taken, error) { return w.table.deleteAlong(ctx, keys, c, b) })
		tooMany := errors.Is(err, family.ErrTooMany)
		if tooMany && size == 1 {
			if err = w.deleteBelow(ctx, keys[0], b); err == nil && w.worked() > pace.SliceTime {
				w.cut = true // others should have their turn
				return nil
			}
			if err == nil {
				continue
			}
		}

		switch {
		case err == nil:
			w.family = min(2*w.family, listed)
			w.park(done.locked)
			w.arrived(c.cursor, done.rows)
		case size > 1 && (tooMany || w.isolates(err)):
			w.family = size / 2
			continue
		case classify(err) == locked:
			w.park(keys)
			c.skipped += int64(len(keys))
			err = w.goOn(ctx, c)
		case w.isolates(err):
			err = w.passPoison(ctx, keys[0], c, err)
		}

		if err != nil {
			return err
		}

		l = l.from(size)
	}
	return nil
}

// isolates says that an error is about one of the rows, or one that depends on it.
func (*walk) isolates(err error) bool {
	c := classify(err)
	return c == locked || c == poison || errors.Is(err, family.ErrCircle) || errors.Is(err, errObstinate)
}

// roomAlong is how many of n rows may be deleted now with others, and how many those may be.
func (w *walk) roomAlong(ctx context.Context, rows int) (size int, b bounds, err error) {
	b = bounds{along: w.mostAlong, listed: listed}
	if w.most > 0 {
		b.listed = min(b.listed, w.most)
	}

	room, err := w.room(ctx, rows+b.along)
	if err != nil || room >= rows+b.along {
		return rows, b, err
	}

	// What the run may still delete decides: one row, with what is left.
	b.along, b.scarce = room-1, true
	return 1, b, nil
}

// deleteBelow deletes a part of what depends on a row that has too many to take along. If the run may
// not delete that many, it asks before it begins.
func (w *walk) deleteBelow(ctx context.Context, key tables.Key, b bounds) error {
	if b.scarce {
		return errBound
	}
	done, err := w.takeAlong(ctx, func() (taken, error) {
		return w.table.deleteBelow(ctx, key, w.checkpoint(w.at), b)
	})
	if err != nil {
		return err
	}
	w.arrived(w.at, done.rows)
	return nil
}

// takeAlong sends a batch when it is its turn, and makes the next one wait for the statements of this.
func (w *walk) takeAlong(ctx context.Context, send func() (taken, error)) (taken, error) {
	if err := w.awaitTurn(ctx); err != nil {
		return taken{}, err
	}
	done, err := send()
	w.turns = max(done.statements-1, 0)
	return done, err
}

// park remembers rows that were locked.
func (w *walk) park(keys []tables.Key) {
	w.parked = append(w.parked, keys[:min(len(keys), parkedLimit-len(w.parked))]...)
}
