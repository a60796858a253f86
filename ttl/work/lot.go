package work

import (
	"context"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/ttl/plan"
)

// found is a row that has expired, as a walk comes by.
type found struct {
	at      tables.Key // its key, or its entry in the index on time
	stays   bool       // see [plan.Staying]
	expired time.Time  // when, of a row that stays
}

// left are rows that a walk leaves alone.
type left struct {
	resting int64
	stuck   undeletable // the resting ones, and those that stay
}

func (l left) and(more left) left {
	return left{l.resting + more.resting, l.stuck.and(more.stuck)}
}

// lot is the part of a block that is deleted by key.
type lot struct {
	keys    []tables.Key
	cursors []tables.Key // the positions of the keys
	left    []left       // before each key, and behind the last
	entries []plan.Entry // of the keys in the expiry queue; nil if they do not come from there
	end     tables.Key   // of the block
	again   bool         // the keys count as skipped already
	sifted  bool         // the keys are of rows that were never poison
}

// from is the lot without its first n keys.
func (l lot) from(n int) lot {
	l.keys, l.cursors, l.left = l.keys[n:], l.cursors[n:], l.left[n:]
	if l.entries != nil {
		l.entries = l.entries[n:]
	}
	return l
}

// without is the lot without the keys of rows that rest.
func (l lot) without(resting map[string]time.Time) lot {
	some := lot{left: l.left[:1:1], end: l.end, again: l.again}
	if l.entries != nil {
		some.entries = []plan.Entry{}
	}
	for i, key := range l.keys {
		if expired, rests := resting[key.Encode()]; rests {
			last := len(some.left) - 1
			some.left[last] = some.left[last].and(left{1, undeletable{1, expired}}).and(l.left[i+1])
			continue
		}
		some.keys, some.cursors = append(some.keys, key), append(some.cursors, l.cursors[i])
		some.left = append(some.left, l.left[i+1])
		if l.entries != nil {
			some.entries = append(some.entries, l.entries[i])
		}
	}
	return some
}

// lotOf picks what is to be deleted out of expired rows.
func (w *walk) lotOf(
	ctx context.Context, rows []found, keyOf func(tables.Key) tables.Key, end tables.Key,
) (lot, error) {
	l := lot{left: make([]left, 1, len(rows)+1), end: end}
	for _, row := range rows {
		if row.stays {
			before := &l.left[len(l.keys)]
			*before = before.and(left{stuck: undeletable{1, row.expired}})
			continue
		}
		l.keys, l.cursors, l.left = append(l.keys, keyOf(row.at)), append(l.cursors, row.at), append(l.left, left{})
	}
	return w.leaveResting(ctx, l)
}

// leaveResting is the lot without the rows that rest. Once the walk is weary those are all that were
// ever poison: whatever else is in a list with one of them would be left.
func (w *walk) leaveResting(ctx context.Context, l lot) (lot, error) {
	resting, err := w.resting.among(ctx, l.keys, w.weary())
	if err != nil {
		return lot{}, err
	}
	if len(resting) > 0 {
		l = l.without(resting)
	}
	l.sifted = w.weary()
	return l, nil
}

func itself(key tables.Key) tables.Key { return key }
