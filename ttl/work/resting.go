package work

import (
	"context"
	"fmt"
	"slices"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/ttl/plan"
)

// resting are rows that could not be deleted and whose next try has not come. A walk skips them:
// retrying them would cost a block halved to its last row in every job. nil means none.
type resting struct {
	keys  []tables.Key
	known map[string]bool // the keys as text
}

// restingOf reads the resting rows of a job's table or partition. Whoever runs a job by hand has
// fixed something, or wants to know: then no row rests.
func (c *Crew) restingOf(ctx context.Context, job catalog.Job, key tables.Columns) (*resting, error) {
	if job.Trigger == catalog.TriggerManual {
		return nil, nil
	}

	texts, err := c.Store.RestingRows(ctx, job.PolicyID, job.Partition)
	if err != nil || len(texts) == 0 {
		return nil, err
	}

	keys, err := decodeKeys(texts, key)
	if err != nil {
		return nil, err
	}

	r := &resting{keys: keys, known: make(map[string]bool, len(keys))}
	for _, k := range keys {
		r.known[k.Encode()] = true
	}

	return r, nil
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
	case r == nil || len(r.keys) == 0:
		return false, nil
	case len(r.keys) > listed:
		return true, nil // likely, and too many to ask for
	}
	here, err := t.dueAmong(ctx, block, r.keys)
	return len(here) > 0, err
}

func (r *resting) has(key tables.Key) bool { return r != nil && r.known[key.Encode()] }

// StillDue says which of the rows with these keys still exist and have expired.
func StillDue(ctx context.Context, s *Session, statements *plan.Statements, texts []string) (map[string]bool, error) {
	keys, err := decodeKeys(texts, statements.Key)
	if err != nil {
		return nil, err
	}

	table, there := &serverTable{session: s, statements: statements}, map[string]bool{}
	for some := range slices.Chunk(keys, listed) {
		due, err := table.dueAmong(ctx, plan.Range{}, some)
		if err != nil {
			return nil, err
		}
		for _, key := range due {
			there[key.Encode()] = true
		}
	}

	return there, nil
}
