package work

import (
	"context"
	"errors"

	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/ttl/family"
)

// deleteFamilies deletes the rows of a lot with all that depend on them: as many rows at a time as
// take no more than mostAlong others with them, and before a single one with more, those others in
// parts; or that one stays, if the server cascades. A row is left if it, or one that depends on it, is
// locked or cannot be deleted.
func (w *walk) deleteFamilies(ctx context.Context, l lot) error {
	vain := 0 // how often nothing was found below a row that had too many
	for all := len(l.keys); len(l.keys) > 0 && !w.enough(l, all); {
		size, b, err := w.roomAlong(ctx, w.next(l, w.family))
		if err != nil {
			return err
		}

		keys, c := w.part(l, size)
		done, err := w.takeAlong(ctx, size+b.along, func() (taken, error) {
			return w.table.deleteAlong(ctx, keys, c, b)
		})
		tooMany := errors.Is(err, family.ErrTooMany)
		if tooMany && size == 1 {
			var gone bool
			gone, err = w.deleteParts(ctx, keys[0], b)
			switch {
			case err == nil && w.cut:
				return nil
			case err == nil && (gone || vain < vainLimit):
				if vain++; gone {
					vain = 0
				}
				continue
			case err == nil:
				err = errObstinate
			}
		}

		switch {
		case err == nil:
			w.behind = 0
			w.family = min(2*w.family, w.fitting(size, done.rows))
			w.park(done.locked)
			w.arrived(c, done.rows)
		case size <= poisonRound && classify(err) == poison && w.weary():
			w.family = poisonRound
			err = w.passUntried(ctx, keys, c)
		case errors.Is(err, errBehind) && w.behind == behindLimit:
			return err
		case size > 1 && (tooMany || isolates(err)):
			w.family = size / 2
			continue
		case isolates(err) && classify(err) == locked:
			if errors.Is(err, errBehind) {
				w.behind++
			}
			w.park(keys)
			c.skipped += int64(len(keys))
			err = w.goOn(ctx, c)
		case isolates(err):
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

// fitting is how many rows may go together, as far as the last ones tell, with as many others each as
// they had: one that has more is not to spoil the next batch.
func (w *walk) fitting(size int, rows int64) int {
	along := int(rows) - size
	if along <= 0 {
		return listed
	}
	return min(max(size*w.mostAlong*9/10/along, 1), listed)
}

// isolates says that an error is about one of the rows, or one that depends on it.
func isolates(err error) bool {
	c := classify(err)
	return (c == locked || c == poison) && !errors.Is(err, errElsewhere)
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

// vainLimit is how often that may be in a row: somebody may have deleted them meanwhile.
const vainLimit = 3

// deleteParts deletes what depends on a row that has too many to take along, a part at a time, until
// those are few, or none, or others should have their turn; gone says that there were some. If the run
// may not delete that many, it asks before it begins.
func (w *walk) deleteParts(ctx context.Context, key tables.Key, b bounds) (gone bool, err error) {
	for {
		if b.scarce {
			return gone, errBound
		}
		c := w.within(w.at, 0, 1)
		done, err := w.takeAlong(ctx, b.along, func() (taken, error) { return w.table.deleteBelow(ctx, key, c, b) })
		if err != nil {
			return gone, err
		}
		w.arrived(c, done.rows)

		gone = gone || done.rows > 0
		w.cut = w.long()
		if w.cut || done.rows < int64(b.along+1)/2 {
			return gone, nil
		}
		if _, b, err = w.roomAlong(ctx, 1); err != nil {
			return gone, err
		}
	}
}

// takeAlong sends a batch of so many rows at most when it is its turn, and makes the next one wait for the statements
// of this.
func (w *walk) takeAlong(ctx context.Context, rows int, send func() (taken, error)) (taken, error) {
	if err := w.awaitTurn(ctx, rows); err != nil {
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
