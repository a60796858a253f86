package plan

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/ttlproxy/ttlproxy/catalog"
)

// lookAhead counts or estimates what becomes due on each of the next days: the rows below that
// day's cutoff that are not below the one before.
func (v *preview) lookAhead(ctx context.Context) error {
	from := v.now.Expired.Cutoff
	days := make([]*Statements, previewDays)
	for i := range days {
		_, s, err := v.after(i + 1)
		if err != nil {
			return err
		}
		from, s.Expired.Floor = s.Expired.Cutoff, from
		days[i] = s
	}

	due, err := v.dueEachDay(ctx, days)
	for i := range due {
		due[i].Until = catalog.Moment(v.Now.AddDate(0, 0, i+1))
	}

	v.days = due
	return err
}

// dueEachDay counts each day's rows by the index on time, and samples the days that have too many
// for that.
func (v *preview) dueEachDay(ctx context.Context, days []*Statements) ([]Day, error) {
	due, all := make([]Day, len(days)), true
	for i, s := range days {
		if s.TimeIndex == "" {
			all = false
			break
		}

		n, counted, err := s.countDue(ctx, v.q)
		if err != nil {
			return nil, err
		}

		due[i], all = Day{Rows: n, Exact: counted}, all && counted
	}

	if all {
		return due, nil
	}

	sampled, err := v.sampleDays(ctx, days)
	for i, d := range sampled {
		if !due[i].Exact {
			due[i] = Day{Rows: max(d.Rows, due[i].Rows), Exact: d.Exact}
		}
	}

	return due, err
}

// sampleDays looks at the same rows for all days: at every row of a small table, else at a few
// along the key.
func (v *preview) sampleDays(ctx context.Context, days []*Statements) ([]Day, error) {
	segments, limit := []segment{{rows: v.due.Rows}}, 2*countRows
	if !v.due.Exact && v.now.KeyIndex != "" {
		var err error
		if segments, err = v.now.segments(ctx, v.q, v.due.segments, samples); err != nil {
			return nil, err
		}
		limit = sampleRows
	}

	due, weight := make([]float64, len(days)), float64(max(total(segments), 1))
	for _, seg := range segments {
		share := float64(seg.rows) / weight
		if err := v.sampleDaysOf(ctx, seg.Range, limit, days,
			func(day int, part float64) { due[day] += share * part }); err != nil {
			return nil, err
		}
	}

	all := make([]Day, len(days))
	for i := range all {
		all[i] = Day{Rows: int64(math.Round(due[i] * float64(v.due.Rows))), Exact: v.due.Exact}
	}

	return all, nil
}

// sampleDaysOf says what share of the first rows of a range becomes due on each day.
func (v *preview) sampleDaysOf(ctx context.Context, r Range, limit int, days []*Statements,
	each func(day int, part float64),
) error {
	from, err := v.now.sampled(r, limit)
	if err != nil {
		return err
	}

	sums, counts, into := make([]string, len(days)), make([]float64, len(days)), []any{new(float64)}
	for i, s := range days {
		sums[i] = "COALESCE(SUM(" + s.sampledDue() + "), 0)"
		into = append(into, &counts[i])
	}

	if err := v.q.QueryRowContext(ctx, "SELECT COUNT(*), "+strings.Join(sums, ", ")+from).Scan(into...); err != nil {
		return fmt.Errorf("sample days: %w", err)
	}

	rows := max(*into[0].(*float64), 1)
	for i, n := range counts {
		each(i, n/rows)
	}

	return nil
}
