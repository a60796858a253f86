package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/ddl"
)

// Living is the condition of the rows that have not expired under a rule, at the moment at which it
// is evaluated and in whatever session: what a view can show while those that have expired wait for
// their job. A row is hidden only if a job that began at that moment would find it expired.
func Living(t catalog.Terms, c tables.Column, floor string, now time.Time) (string, error) {
	if !t.Read() {
		return "", errUnread
	}
	if t.Span.Months > longestLife*12 || t.Span.Micros > longestLife*366*24*time.Hour.Microseconds() {
		return "", fmt.Errorf("rows live for more than %d years", longestLife)
	}
	p, err := NewPredicate(c.Name, Cutoff{Kind: c.Kind}, floor)
	if err != nil {
		return "", err
	}

	k := movingCutoff{span: t.Span, zone: t.Timing.Zone, kind: c.Kind, digits: c.Digits, now: now}
	cutoff, err := k.sql()
	return p.Living(cutoff), err
}

// longestLife bounds the years for which rows live: a Duration holds little more.
const longestLife = 200

// movingCutoff writes a [Cutoff] as an expression of the server's clock. The clock is that of UTC:
// what the zone of the reader's session is must make no difference, and whether the server knows the
// policy's zone neither.
type movingCutoff struct {
	span   ddl.Span
	zone   *time.Location
	kind   tables.Kind
	digits int
	now    time.Time
}

// clocksFor is for how many years the changes of a zone's clocks are written down. Later, rows are
// shown for as long as under any of the zone's clocks.
const clocksFor = 10

func (k movingCutoff) sql() (string, error) {
	changes := k.changes()
	least, most := k.offsets(changes)
	byMonth := k.span.Months > 0

	switch {
	case k.kind == tables.Timestamp && byMonth && least != most:
		return seconds("LEAST(" + k.before(least, -least) + ", " + k.before(most, -most) + ")"), nil
	case k.kind == tables.Timestamp:
		return seconds(k.before(least, -least)), nil
	case least == most:
		return k.before(least, 0), nil
	case byMonth: // each month has another length: what holds under either clock is at most an hour late
		return "LEAST(" + k.before(least, 0) + ", " + k.before(most, least-most) + ")", nil
	default:
		return k.piecewise(changes, k.before(least, 0))
	}
}

// before is the clock at an offset, less the span, and then moved.
func (k movingCutoff) before(offset, move time.Duration) string {
	exact := time.Duration(k.span.Micros) * time.Microsecond
	if k.span.Months == 0 {
		return k.clock() + shift(k.down(offset+move-exact))
	}
	return k.clock() + shift(offset) + fmt.Sprintf(" - INTERVAL %d MONTH", k.span.Months) + shift(k.down(move-exact))
}

func (k movingCutoff) clock() string { return fmt.Sprintf("UTC_TIMESTAMP(%d)", k.digits) }

// shift is what moves an expression by some time.
func shift(by time.Duration) string {
	sign := "+"
	if by < 0 {
		sign, by = "-", -by
	}
	switch {
	case by == 0:
		return ""
	case by%time.Second == 0:
		return fmt.Sprintf(" %s INTERVAL %d SECOND", sign, by/time.Second)
	default:
		return fmt.Sprintf(" %s INTERVAL %d MICROSECOND", sign, by/time.Microsecond)
	}
}

// seconds is the number of seconds that a reading of UTC stands for.
func seconds(reading string) string {
	return "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', " + reading + ") * 0.000001"
}

// changes are when the zone's clocks change, from when on that matters now.
func (k movingCutoff) changes() (all []time.Time) {
	back := time.Duration(k.span.Months)*31*24*time.Hour + time.Duration(k.span.Micros)*time.Microsecond
	from := k.now.Add(-back - 48*time.Hour)
	for until := k.now.AddDate(clocksFor, 0, 0); ; {
		_, end := from.In(k.zone).ZoneBounds()
		if end.IsZero() || end.After(until) {
			return all
		}
		all, from = append(all, end), end
	}
}

// offsets are the least and the greatest of the zone around these changes.
func (k movingCutoff) offsets(changes []time.Time) (least, most time.Duration) {
	_, now := k.now.In(k.zone).Zone()
	all := []int{now}
	for _, at := range changes {
		_, before := at.Add(-time.Second).In(k.zone).Zone()
		_, after := at.In(k.zone).Zone()
		all = append(all, before, after)
	}
	return time.Duration(slices.Min(all)) * time.Second, time.Duration(slices.Max(all)) * time.Second
}

// piece is the cutoff until a moment.
type piece struct {
	until  time.Time
	cutoff string
}

// piecewise writes the cutoff of a span that is a length of time. Between two moments, at which the
// clocks change or a change is as old as the span, it either runs with the clock or stands still.
func (k movingCutoff) piecewise(changes []time.Time, otherwise string) (string, error) {
	var pieces []piece
	begin := k.now
	for _, end := range k.ends(changes) {
		cutoff, err := k.between(begin, end)
		if err != nil {
			return "", err
		}

		if n := len(pieces); n > 0 && pieces[n-1].cutoff == cutoff {
			pieces = pieces[:n-1]
		}
		pieces, begin = append(pieces, piece{end, cutoff}), end
	}

	var text strings.Builder
	text.WriteString("CASE")
	for _, p := range pieces {
		text.WriteString(" WHEN " + k.clock() + " < " + stamp(p.until) + " THEN " + p.cutoff)
	}
	return text.String() + " ELSE " + otherwise + " END", nil
}

// ends are those of the pieces, in order.
func (k movingCutoff) ends(changes []time.Time) (all []time.Time) {
	span := time.Duration(k.span.Micros) * time.Microsecond
	for _, at := range changes {
		_, before := at.Add(-time.Second).In(k.zone).Zone()
		_, after := at.In(k.zone).Zone()
		gap := time.Duration(before-after) * time.Second
		all = append(all, at, at.Add(span), at.Add(span-gap), at.Add(span+gap))
	}

	until := k.now.AddDate(clocksFor, 0, 0)
	all = slices.DeleteFunc(all, func(t time.Time) bool { return !t.After(k.now) || t.After(until) })
	slices.SortFunc(all, time.Time.Compare)
	return slices.CompactFunc(all, time.Time.Equal)
}

// between is the cutoff between two such moments.
func (k movingCutoff) between(begin, end time.Time) (string, error) {
	first, err := NewCutoff(begin, k.zone, k.span, k.kind, 6)
	if err != nil {
		return "", err
	}
	middle := begin.Add(end.Sub(begin) / 2).Truncate(time.Microsecond)
	later, err := NewCutoff(middle, k.zone, k.span, k.kind, 6)
	if err != nil {
		return "", err
	}

	if later.Wall.Equal(first.Wall) {
		return stamp(first.Wall), nil
	}
	return k.clock() + shift(k.down(first.Wall.Sub(wall(begin.UTC())))), nil
}

// down truncates as the cutoff is.
func (k movingCutoff) down(by time.Duration) time.Duration {
	rest := by % grain(k.digits)
	if rest < 0 {
		rest += grain(k.digits)
	}
	return by - rest
}

// stamp is the literal of a reading.
func stamp(t time.Time) string { return t.UTC().Format("TIMESTAMP'2006-01-02 15:04:05.000000'") }
