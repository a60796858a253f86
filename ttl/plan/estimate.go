package plan

import (
	"context"

	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/ttl/family"
)

// Estimate is what is known about a table before a job, by a bounded number of cheap questions.
type Estimate struct {
	Rows        int64      // in the table or partition
	Expired     int64      // due now
	Null        int64      // no date: never expire
	Implausible int64      // zero dates and dates before the floor: never expire
	Oldest      string     // the oldest due value seen
	Newest      string     // the newest due value seen
	Head        string     // the oldest value there is, by the index on time; empty when nothing is due or nobody knows
	Exact       bool       // every row was counted, nothing is estimated
	DueExact    bool       // the rows due were counted
	Nothing     bool       // the index on time has no entry that is due
	Correlated  bool       // time runs with the key
	Edge        tables.Key // a key of the table, for EXPLAIN; nil when there is none

	segments []segment // that were sampled; Split goes on with them
}

// Share is the expired part of the table, from 0 to 1.
func (e Estimate) Share() float64 {
	if e.Rows == 0 {
		return 0
	}
	return float64(e.Expired) / float64(e.Rows)
}

// With counts what goes along with rows that are due: of each table of a forest as large a part as is
// due of its root.
func (e Estimate) With(f *family.Forest) Estimate {
	if f == nil {
		return e
	}
	more := f.Rows(e.Expired, e.Rows)
	e.Exact, e.DueExact = false, e.DueExact && e.Expired == 0
	e.Rows, e.Expired = e.Rows+f.Rows(1, 1), e.Expired+more
	return e
}

// fewRows make no majority.
const fewRows = 10

// MostNeverExpire reports whether more than half of the rows have no date, or one that is taken for
// none.
func (e Estimate) MostNeverExpire() bool {
	return e.Rows >= fewRows && 2*(e.Null+e.Implausible) > e.Rows
}

const (
	countRows = 5_000 // tables up to about this size are counted instead of sampled
	// countStale is how many rows are counted of a table that has proved to be larger than the server
	// takes it for, as after an import: samples are weighed by the same statistics.
	countStale = 200_000
	samples    = 16
)

// Estimate looks at a table: counts small ones, samples larger ones along the key, and asks an
// index on time when there is one; if that says that few rows are due, nothing else is asked, and a
// single row is read. rows is the server's own estimate of the table's size.
func (s *Statements) Estimate(ctx context.Context, q tables.Querier, rows int64) (Estimate, error) {
	head, some, err := s.head(ctx, q)
	if err != nil {
		return Estimate{}, err
	}
	if s.TimeIndex != "" && !some {
		e := Estimate{Rows: rows, Nothing: true}
		return e, s.neverExpire(ctx, q, &e)
	}

	e, few, err := s.few(ctx, q, rows)
	if err == nil && !few {
		e, err = s.look(ctx, q, rows)
	}
	if e.Head = head; e.Exact {
		e.Head = e.Oldest
	}

	return e, err
}

// few asks the index on time how many rows of a large table are due. If they are so few that the
// index is the way to them whatever their order, nothing else needs to be known. It does not know
// which of them stay.
func (s *Statements) few(ctx context.Context, q tables.Querier, rows int64) (e Estimate, few bool, err error) {
	if s.TimeIndex == "" || s.KeyIndex == "" || rows <= countRows || !s.Staying.None() {
		return e, false, nil
	}
	e.Rows = rows
	if e.Expired, err = s.timeRows(ctx, q, s.Expired.Sargable()); err != nil || e.Expired*randomCost > rows {
		return e, false, err
	}
	return e, true, s.neverExpire(ctx, q, &e)
}

// timeRows is the optimizer's estimate of the rows in a range of the index on time: no row is read.
// It is never less than one, so one may mean none, and is taken to.
func (s *Statements) timeRows(ctx context.Context, q tables.Querier, where string) (int64, error) {
	a, err := explain(ctx, q, "SELECT 1"+s.preferring(s.TimeIndex)+" WHERE "+where)
	if a.Rows == 1 {
		a.Rows = 0
	}
	return a.Rows, err
}

// headRows is how many expired rows are looked at for one that goes.
const headRows = 1000

// head reads the oldest due value from the index on time, empty if that is not known, and whether
// there are any expired rows, be it that they all stay.
func (s *Statements) head(ctx context.Context, q tables.Querier) (due string, some bool, err error) {
	if s.TimeIndex == "" {
		return "", false, nil
	}
	rows := 1
	if !s.Staying.None() {
		rows = headRows
	}

	found, err := s.Find(ctx, q, s.oldest(rows), len(s.Walk))
	if err != nil {
		return "", false, err
	}
	for _, row := range found {
		if !row.Stays {
			return string(row.At[0]), true, nil
		}
	}
	return "", len(found) > 0, nil
}

func (s *Statements) look(ctx context.Context, q tables.Querier, rows int64) (Estimate, error) {
	if rows > countRows && s.KeyIndex != "" {
		return s.estimateBySamples(ctx, q, rows, nil)
	}

	e, all, err := s.countUpTo(ctx, q, 2*countRows)
	if err == nil && !all && s.KeyIndex == "" {
		return s.scale(ctx, q, e, rows)
	}
	if err == nil && !all {
		e, all, err = s.countUpTo(ctx, q, countStale)
	}
	if err != nil || all {
		return e, err
	}

	sampled, err := s.estimateBySamples(ctx, q, e.Rows, nil)
	sampled.Rows, sampled.Expired = max(sampled.Rows, e.Rows), max(sampled.Expired, e.Expired)
	return sampled, err
}

// countUpTo counts the rows at the beginning of a table, and says whether these are all.
func (s *Statements) countUpTo(ctx context.Context, q tables.Querier, rows int) (e Estimate, all bool, err error) {
	counted, err := s.sampleRange(ctx, q, Range{}, rows)
	if err != nil {
		return e, false, err
	}

	e = Estimate{
		Rows: counted.rows, Expired: counted.expired, Null: counted.null, Implausible: counted.implausible,
		Oldest: counted.oldestDue, Newest: counted.newestDue, Exact: true, DueExact: true,
	}
	if all = counted.rows < int64(rows); all {
		err = s.findEdge(ctx, q, &e)
	}
	return e, all, err
}

func (s *Statements) findEdge(ctx context.Context, q tables.Querier, e *Estimate) (err error) {
	if s.KeyIndex != "" {
		e.Edge, err = s.edge(ctx, q, false)
	}
	return err
}

// scale extrapolates what the beginning of a table without a key says to its whole size.
func (s *Statements) scale(ctx context.Context, q tables.Querier, e Estimate, rows int64) (Estimate, error) {
	factor := float64(max(rows, e.Rows)) / float64(e.Rows)
	e.Rows, e.Exact, e.DueExact = max(rows, e.Rows), false, false
	e.Expired, e.Null, e.Implausible = times(e.Expired, factor), times(e.Null, factor), times(e.Implausible, factor)
	return e, s.askTimeIndex(ctx, q, &e)
}

func times(n int64, factor float64) int64 { return int64(float64(n) * factor) }

// estimateBySamples takes the server's word for how many rows there are, unless the estimates of segments say
// otherwise; known are those that are known already.
func (s *Statements) estimateBySamples(
	ctx context.Context, q tables.Querier, rows int64, known []segment,
) (Estimate, error) {
	segments, err := s.segments(ctx, q, known, samples)
	if err != nil || len(segments) == 0 {
		return Estimate{Exact: err == nil, DueExact: err == nil}, err
	}

	e := Estimate{Rows: rows, Edge: segments[0].To, segments: segments}
	if guess := total(segments); rows < guess/4 || rows > guess {
		e.Rows = guess // the statistics are stale; the index itself knows better, and never of too few
	}

	weight := float64(max(total(segments), 1))
	var expired, null, implausible float64
	var times []string
	for i, seg := range segments {
		r := seg.Range
		if i == 0 {
			r.From = nil // with the first key
		}

		m, err := s.sampleRange(ctx, q, r, sampleRows)
		if err != nil {
			return Estimate{}, err
		}
		if m.rows == 0 {
			continue
		}

		part := float64(seg.rows) / weight / float64(m.rows)
		expired += part * float64(m.expired)
		null += part * float64(m.null)
		implausible += part * float64(m.implausible)

		if m.oldest != "" {
			times = append(times, m.oldest)
		}

		e.Newest = max(e.Newest, m.newestDue)
		if e.Oldest == "" || m.oldestDue != "" && m.oldestDue < e.Oldest {
			e.Oldest = m.oldestDue
		}
	}

	e.Expired = int64(expired * float64(e.Rows))
	e.Null = int64(null * float64(e.Rows))
	e.Implausible = int64(implausible * float64(e.Rows))
	e.Correlated = correlated(times)
	return e, s.askTimeIndex(ctx, q, &e)
}

// askTimeIndex replaces the sampled share by the optimizer's own estimate, which is sharper for few
// rows, and knows the oldest row.
func (s *Statements) askTimeIndex(ctx context.Context, q tables.Querier, e *Estimate) error {
	if s.TimeIndex == "" || !s.Staying.None() { // it has the rows that stay, too
		return nil
	}
	due, err := s.timeRows(ctx, q, s.Expired.Sargable())
	// InnoDB never estimates a range above half of the table: believe it only below a third.
	if err == nil && due < e.Rows/3 {
		e.Expired = due
	}
	return err
}

// correlated reports whether times taken along the key mostly rise, or mostly fall.
func correlated(times []string) bool {
	if len(times) < 4 {
		return false
	}
	rising := 0
	for i := 1; i < len(times); i++ {
		if times[i] >= times[i-1] {
			rising++
		}
	}
	pairs := len(times) - 1
	return rising*5 >= pairs*4 || rising*5 <= pairs
}
