package plan

import (
	"context"
	"fmt"
	"strconv"

	"github.com/ttlproxy/ttlproxy/catalog/tables"
)

// dueCounted is how many due rows are counted by the index on time.
const dueCounted = 10_000

// Survey is Estimate for people, who ask seldom and want exact answers: it reads a few thousand
// rows more, and counts whatever can be counted that way.
func (s *Statements) Survey(ctx context.Context, q tables.Querier, rows int64) (Estimate, error) {
	e, counted, err := s.count(ctx, q, rows)
	if err != nil || counted {
		return e, err
	}
	if e, err = s.look(ctx, q, rows); err != nil || s.TimeIndex == "" || e.Exact {
		return e, err
	}

	n, all, err := s.countDue(ctx, q)
	if err != nil {
		return e, err
	}
	if e.Expired = max(n, e.Expired); all {
		e.Expired, e.DueExact = n, true
	}

	e.Rows = max(e.Rows, e.Expired)
	if e.Oldest, err = s.dueEnd(ctx, q, "ASC"); err != nil {
		return e, err
	}

	e.Newest, err = s.dueEnd(ctx, q, "DESC")
	return e, err
}

// count reads the whole table, if it is small. The statistics may be stale, so the key is asked for
// its size as well.
func (s *Statements) count(ctx context.Context, q tables.Querier, rows int64) (e Estimate, counted bool, err error) {
	if s.KeyIndex != "" {
		if e.Edge, err = s.edge(ctx, q, false); err != nil {
			return e, false, err
		}
	}

	if e.Edge != nil && rows > countRows {
		last, err := s.edge(ctx, q, true)
		if err != nil {
			return e, false, err
		}

		whole, err := s.weigh(ctx, q, Range{e.Edge, last})
		if err != nil {
			return e, false, err
		}

		rows = whole[0].rows
	}

	if rows > countRows {
		return e, false, nil
	}

	m, err := s.sampleRange(ctx, q, Range{}, 2*countRows)
	if err != nil {
		return e, false, err
	}

	e.Rows, e.Expired, e.Null, e.Implausible = m.rows, m.expired, m.null, m.implausible
	e.Exact, e.DueExact, e.Oldest, e.Newest = true, true, m.oldestDue, m.newestDue
	return e, m.rows < 2*countRows, nil
}

// countDue counts the due rows by the index on time; all is false when there are more than are
// counted.
func (s *Statements) countDue(ctx context.Context, q tables.Querier) (n int64, all bool, err error) {
	err = q.QueryRowContext(ctx, "SELECT COUNT(*) FROM (SELECT 1"+s.byTime()+" WHERE "+s.dueByTime()+
		" LIMIT "+strconv.Itoa(dueCounted+1)+") AS due").Scan(&n)
	if err != nil {
		return 0, false, fmt.Errorf("count due rows: %w", err)
	}
	return n, n <= dueCounted, nil
}

// dueEnd reads the first or the last due value by the index on time; empty when nothing is due.
func (s *Statements) dueEnd(ctx context.Context, q tables.Querier, order string) (string, error) {
	found, err := QueryKey(ctx, q, "SELECT CAST("+s.Expired.Column+" AS CHAR)"+s.byTime()+" WHERE "+
		s.dueByTime()+
		" ORDER BY "+s.Expired.Column+" "+order+" LIMIT 1", 1)
	if err != nil || found == nil {
		return "", err
	}
	return string(found[0]), nil
}
