package plan

import (
	"context"
	"math/rand/v2"

	"github.com/ttlproxy/ttlproxy/catalog/tables"
)

// What is to be no more than a share of a table is judged by how large that is. The server's statistics may be three
// times too high, or those of before it was emptied, and the estimates that it makes of ranges, from the pages that it
// looks into, are twice too high for all but short ones. So a table is counted as far as that takes no time, and else a
// part of it is: where halves are cut off until few rows are left, each half kept as often as it weighs, what is left
// counts for as many as it was likely to be kept. Whatever the estimates are, that comes out right on average.

const (
	leafRows     = 4_000        // are counted instead of cut, as estimated
	mostLeafRows = 4 * leafRows // are counted where that was too few
)

// Counted is the estimate with no more rows than there are, as far as a bounded number of questions can tell.
func (s *Statements) Counted(ctx context.Context, q tables.Querier, e Estimate) (Estimate, error) {
	if e.Exact || e.Nothing || s.KeyIndex == "" {
		return e, nil
	}

	var err error
	if len(e.segments) == 0 {
		if e.segments, err = s.segments(ctx, q, nil, samples); err != nil {
			return e, err
		}
	}
	if min(e.Rows, total(e.segments)) <= countStale {
		if c, all, err := s.countUpTo(ctx, q, countStale); err != nil || all {
			c.Head, c.Correlated, c.segments = e.Head, e.Correlated, e.segments
			return c, err
		}
	}

	rows, err := s.countParts(ctx, q, e.segments)
	if err != nil || rows >= e.Rows {
		return e, err
	}
	if e.Expired*randomCost <= rows {
		e.Rows = rows
		return e, nil
	}
	again, err := s.estimateBySamples(ctx, q, max(rows, 1), e.segments)
	again.Head = e.Head
	return again, err
}

// countParts estimates the rows of segments from one part of each that is counted.
func (s *Statements) countParts(ctx context.Context, q tables.Querier, segments []segment) (int64, error) {
	sum := 0.0
	for i, seg := range segments {
		part, chance, err := s.part(ctx, q, seg)
		if err != nil {
			return 0, err
		}
		if i == 0 && part.From.Equal(seg.From) {
			part.From = nil // with the first key
		}
		counted, err := s.sampleRange(ctx, q, part.Range, mostLeafRows)
		if err != nil {
			return 0, err
		}
		sum += float64(counted.rows) / chance
	}
	return int64(sum), nil
}

// part is a part of a segment that is small enough to be counted, and how likely it was chosen.
func (s *Statements) part(ctx context.Context, q tables.Querier, seg segment) (segment, float64, error) {
	chance := 1.0
	for seg.rows > leafRows && !seg.done {
		parts, err := s.cut(ctx, q, seg)
		if err != nil {
			return seg, chance, err
		}
		at, weight := 0, float64(max(total(parts), 1))
		if len(parts) == 2 && rand.Float64()*weight >= float64(parts[0].rows) {
			at = 1
		}
		seg, chance = parts[at], chance*max(float64(parts[at].rows), 1)/weight
	}
	return seg, chance, nil
}
