package plan

import (
	"context"
	"slices"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog/tables"
)

// segment is a range of existing keys with the optimizer's estimate of its rows.
type segment struct {
	Range
	rows int64
	done bool // cannot be divided
}

// finer is how many times smaller than a fair share segments are cut before they are joined to
// shares, so that the shares come out within a quarter of each other even where the estimates are
// coarse.
const finer = 4

// Split divides the table into at most n ranges of about equally many rows, without reading it: the
// heaviest segment is cut at the existing key nearest to its middle, as long as it outweighs the
// finest share; then neighbours are joined. Each cut costs at most two reads of one row and two
// estimates; those that an estimate has already made are reused. An empty table has no ranges, and
// one that is to stay whole is asked only for its last key.
//
// The last range ends at the present last key: rows inserted after it belong to the next job.
func (s *Statements) Split(ctx context.Context, q tables.Querier, e Estimate, n int) ([]Range, error) {
	if n <= 1 {
		return s.undivided(ctx, q)
	}
	segments, err := s.segments(ctx, q, e.segments, n*finer)
	if err != nil || len(segments) == 0 {
		return nil, err
	}
	segments[0].From = nil // whatever is in front of the first key
	return join(segments, n), nil
}

// SplitByTime divides the due entries of the index on time into at most n stretches of about the same
// time each. The last is open: it ends where entries are due no more.
func (s *Statements) SplitByTime(ctx context.Context, q tables.Querier, e Estimate, n int) ([]Range, error) {
	const layout = "2006-01-02 15:04:05.999999"
	first, err := time.Parse(layout, e.Head)
	if n <= 1 || err != nil {
		return []Range{{}}, nil //nolint:nilerr // a DATE, which has no finer parts
	}

	entry := "SELECT " + s.Walk.Select() + s.byTime() + " WHERE " + s.dueByTime()
	newest, err := QueryKey(ctx, q, entry+" ORDER BY "+s.byDate().ReverseOrder()+" LIMIT 1", len(s.Walk))
	if err != nil || newest == nil && s.Staying.None() {
		return nil, err
	}
	if newest == nil {
		return []Range{{}}, nil // in which those are counted that stay
	}
	last, err := time.Parse(layout, string(newest[0]))
	if err != nil {
		return []Range{{}}, nil //nolint:nilerr // an odd date
	}

	var ranges []Range
	var from tables.Key
	for i := 1; i < n; i++ {
		at := first.Add(last.Sub(first) / time.Duration(n) * time.Duration(i))
		to, err := QueryKey(ctx, q, entry+" AND "+s.Expired.Column+" >= '"+at.Format(layout)+"' ORDER BY "+
			s.byDate().Order()+" LIMIT 1", len(s.Walk))
		if err != nil {
			return nil, err
		}
		if to != nil && !to.Equal(from) {
			ranges, from = append(ranges, Range{from, to}), to
		}
	}

	return append(ranges, Range{From: from}), nil
}

// undivided is one range for all that there is.
func (s *Statements) undivided(ctx context.Context, q tables.Querier) ([]Range, error) {
	last, err := s.edge(ctx, q, true)
	if err != nil || last == nil {
		return nil, err
	}
	return []Range{{To: last}}, nil
}

// segments cuts the table into about n segments of similar weight, in key order, starting from
// those that are already known.
func (s *Statements) segments(ctx context.Context, q tables.Querier, known []segment, n int) ([]segment, error) {
	segments := slices.Clone(known)
	if len(segments) == 0 {
		var err error
		if segments, err = s.whole(ctx, q); err != nil || segments == nil {
			return nil, err
		}
	}

	for budget := 4*n + 64; budget > 0; budget-- {
		i := heaviest(segments)
		if i < 0 || segments[i].rows <= max(total(segments)/int64(n), 1) && len(segments) >= n {
			break
		}

		parts, err := s.cut(ctx, q, segments[i])
		if err != nil {
			return nil, err
		}

		segments = slices.Replace(segments, i, i+1, parts...)
	}

	return segments, nil
}

// whole is the table from its first key to its last, as one segment; none when it is empty.
func (s *Statements) whole(ctx context.Context, q tables.Querier) ([]segment, error) {
	first, err := s.edge(ctx, q, false)
	if err != nil || first == nil {
		return nil, err
	}
	last, err := s.edge(ctx, q, true)
	if err != nil || last == nil {
		return nil, err
	}
	return s.weigh(ctx, q, Range{first, last})
}

// cut divides a segment in two at a key near its middle. A segment that cannot be divided comes
// back marked.
func (s *Statements) cut(ctx context.Context, q tables.Querier, seg segment) ([]segment, error) {
	guess := s.Key.MidKey(seg.From, seg.To)
	if guess == nil {
		seg.done = true
		return []segment{seg}, nil
	}

	at, err := s.nearest(ctx, q, seg.Range, guess)
	if err != nil {
		return nil, err
	}
	if at == nil {
		seg.done = true
		return []segment{seg}, nil
	}

	return s.weigh(ctx, q, Range{seg.From, at}, Range{at, seg.To})
}

// nearest is the first existing key at or after the guess, or the last one before it when the first
// is the segment's own end. nil when the segment holds nothing but its end.
func (s *Statements) nearest(ctx context.Context, q tables.Querier, r Range, guess tables.Key) (tables.Key, error) {
	where, err := s.within(r)
	if err != nil {
		return nil, err
	}

	prefix := s.Key[:len(guess)]
	above, err := prefix.From(guess)
	if err != nil {
		return nil, err
	}

	at, err := QueryKey(ctx, q, "SELECT "+s.Key.Select()+s.byKey()+" WHERE "+where+" AND ("+above+") ORDER BY "+
		s.Key.Order()+" LIMIT 1", len(s.Key))
	if err != nil || at != nil && !at.Equal(r.To) {
		return at, err
	}

	below, err := prefix.Bound(guess, "<", "<")
	if err != nil {
		return nil, err
	}

	at, err = QueryKey(ctx, q, "SELECT "+s.Key.Select()+s.byKey()+" WHERE "+where+" AND ("+below+") ORDER BY "+
		s.Key.ReverseOrder()+" LIMIT 1", len(s.Key))
	if at.Equal(r.To) {
		return nil, err // the collation sorts the guess beyond the segment
	}

	return at, err
}

func heaviest(segments []segment) int {
	best := -1
	for i, seg := range segments {
		if !seg.done && (best < 0 || seg.rows > segments[best].rows) {
			best = i
		}
	}
	return best
}

func total(segments []segment) int64 {
	var sum int64
	for _, seg := range segments {
		sum += seg.rows
	}
	return sum
}

// join combines neighbouring segments into n shares: a share is closed where adding the next
// segment would take it further from its fair end than stopping before it.
func join(segments []segment, n int) []Range {
	var ranges []Range
	all, sum := total(segments), int64(0)
	start := segments[0].From
	for i, seg := range segments {
		sum += seg.rows
		fair := all * int64(len(ranges)+1) / int64(n)
		next := int64(0)
		if i+1 < len(segments) {
			next = segments[i+1].rows
		}
		if i+1 == len(segments) || sum+next/2 >= fair && len(ranges)+1 < n {
			ranges = append(ranges, Range{start, seg.To})
			start = seg.To
		}
	}

	return ranges
}
