package work

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/ttl/plan"
)

// resting are rows that could not be deleted and whose next try has not come. A walk skips them:
// retrying them would cost a block halved to its last row in every job. A few are kept in memory,
// many are looked up for the rows that a walk has come to. nil means none.
type resting struct {
	keys  []tables.Key
	known map[string]time.Time // the keys as text, and when their rows expired
	many  bool                 // these are not all of them
	ask   restingFunc
}

// restingFunc says which of some rows rest or, if it is about all, could not be deleted at some time.
type restingFunc func(ctx context.Context, keys []tables.Key, all bool) (map[string]time.Time, error)

// restingOf reads the resting rows of a job's table or partition. Whoever runs a job by hand has
// fixed something, or wants to know: then no row rests.
func (c *Crew) restingOf(ctx context.Context, job catalog.Job, key tables.Columns) (*resting, error) {
	r := &resting{known: map[string]time.Time{}}
	r.ask = func(ctx context.Context, keys []tables.Key, all bool) (map[string]time.Time, error) {
		texts := make([]string, len(keys))
		for i, k := range keys {
			texts[i] = k.Encode()
		}
		return c.Store.RestingAmong(ctx, job.PolicyID, job.Partition, texts, all)
	}
	if job.Trigger == catalog.TriggerManual {
		return r, nil
	}

	known, err := c.Store.RestingRows(ctx, job.PolicyID, job.Partition, listed+1)
	if err != nil {
		return nil, err
	}
	if r.many = len(known) > listed; r.many {
		return r, nil
	}

	r.known = known
	r.keys, err = decodeKeys(slices.Collect(maps.Keys(known)), key)
	return r, err
}

// decodeKeys reads keys of error rows, leaving out those that no row can have because the primary
// key has changed.
func decodeKeys(texts []string, key tables.Columns) ([]tables.Key, error) {
	var keys []tables.Key
	for _, text := range texts {
		k, err := tables.DecodeKey(text)
		if err != nil {
			return nil, fmt.Errorf("error rows: %w", err)
		}
		if _, err := key.In([]tables.Key{k}); err == nil {
			keys = append(keys, k)
		}
	}
	return keys, nil
}

// in reports whether some of the rows are in a block.
func (r *resting) in(ctx context.Context, t table, block plan.Range) (bool, error) {
	switch {
	case r == nil:
		return false, nil
	case r.many:
		return true, nil // likely, and too many to ask for
	case len(r.keys) == 0:
		return false, nil
	}
	here, err := t.dueAmong(ctx, block, r.keys)
	return len(here) > 0, err
}

// among says which rows with these keys rest, perhaps among others. If it is about all, they are those
// that could not be deleted at some time, whether their next try has come or not.
func (r *resting) among(ctx context.Context, keys []tables.Key, all bool) (map[string]time.Time, error) {
	switch {
	case r == nil:
		return nil, nil
	case all || r.many:
		return r.ask(ctx, keys, all)
	default:
		return r.known, nil
	}
}

// StillDue says which of the rows with these keys still exist and have expired.
func StillDue(ctx context.Context, s *Session, statements *plan.Statements, texts []string) (map[string]bool, error) {
	keys, err := decodeKeys(texts, statements.Key)
	if err != nil {
		return nil, err
	}

	table, there := &serverTable{session: s, statements: statements}, map[string]bool{}
	due, err := table.dueAmong(ctx, plan.Range{}, keys)
	if err != nil {
		return nil, err
	}
	for _, key := range due {
		there[key.Encode()] = true
	}

	return there, nil
}
