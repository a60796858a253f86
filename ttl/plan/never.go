package plan

import (
	"context"
	"fmt"
	"strconv"

	"github.com/ttlproxy/ttlproxy/catalog/tables"
)

// neverCounted is how many rows that never expire are counted by the index on time, of each kind.
const neverCounted = 1000

// neverExpire finds out by the index on time how many rows have no date, or one that counts as
// none. A few are counted; for more the optimizer estimates.
func (s *Statements) neverExpire(ctx context.Context, q tables.Querier, e *Estimate) error {
	all := true // are counted
	for _, kind := range []struct {
		rows  *int64
		where string
		can   bool
	}{
		{&e.Null, s.Expired.Column + " IS NULL", s.Walk[0].Nullable},
		{&e.Implausible, s.Expired.Implausible(), true},
	} {
		if !kind.can {
			continue
		}

		counted, err := s.weighTime(ctx, q, kind.where, kind.rows)
		if err != nil {
			return err
		}

		all = all && counted
	}

	if 3*(e.Null+e.Implausible) < e.Rows {
		return nil
	}

	return s.weighOthers(ctx, q, e, all)
}

// weighOthers estimates the rows that do have a date, when the others are many. InnoDB never
// estimates a range above half of the table, so when most rows have none, the others show it; and
// what it says of the whole table may be out of date.
func (s *Statements) weighOthers(ctx context.Context, q tables.Querier, e *Estimate, counted bool) error {
	var dated int64
	whole, err := s.weighTime(ctx, q, s.Expired.Column+" >= "+s.Expired.Floor, &dated)
	if err != nil {
		return err
	}

	never := e.Null + e.Implausible
	switch {
	case counted && whole:
		e.Rows = never + dated
	case !counted && e.Rows-dated > never && e.Null >= e.Implausible:
		e.Null = e.Rows - dated - e.Implausible
	case !counted && e.Rows-dated > never:
		e.Implausible = e.Rows - dated - e.Null
	default:
		e.Rows = max(e.Rows, never+dated)
	}

	return nil
}

// weighTime counts the entries of a range of the index on time or, when there are many, asks for
// the optimizer's estimate.
func (s *Statements) weighTime(
	ctx context.Context, q tables.Querier, where string, rows *int64,
) (counted bool, err error) {
	err = q.QueryRowContext(ctx, "SELECT COUNT(*) FROM (SELECT 1"+s.byTime()+" WHERE "+where+
		" LIMIT "+strconv.Itoa(neverCounted)+") AS entries").Scan(rows)
	if err != nil {
		return false, fmt.Errorf("count %s: %w", where, err)
	}
	if *rows < neverCounted {
		return true, nil
	}
	estimated, err := s.timeRows(ctx, q, where)
	*rows = max(*rows, estimated)
	return false, err
}
