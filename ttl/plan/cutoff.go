package plan

import (
	"fmt"
	"strings"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/ddl"
)

// Cutoff is the moment before which rows of one job have expired. It is computed once, when the job
// starts, and kept.
type Cutoff struct {
	// Instant is the cutoff as a point in time, for people and for the catalog.
	Instant time.Time
	// Wall is what the TTL column is compared with: the reading of a calendar and a clock, held in
	// UTC fields. For TIMESTAMP it is UTC; for DATETIME and DATE it is the policy's zone.
	Wall time.Time
	// Kind is the type of the TTL column, Digits those of its fractions of a second.
	Kind   tables.Kind
	Digits int

	now  time.Time     // the clock it was computed from
	wall time.Time     // its reading in the zone
	kept time.Duration // by which Wall is before what the clock alone would say
}

// NewCutoff subtracts span from now, the database's clock, in zone.
//
// The subtraction is done on the wall clock (months and years clip to the end of the month: 31
// March minus one month is 28 or 29 February) and truncated to what the column can hold, as
// in `NOW(digits) - INTERVAL n unit`: whole seconds, or fractions with that many digits.
//
// A TIMESTAMP is an instant, so the length of the subtracted span is taken from the current
// instant: 90 minutes are 5400 seconds across a change of the clocks. A DATETIME or DATE carries no
// offset, and when the clocks go back the same reading occurs twice. Such a row has expired only if
// it has under every reading: by the wall clock, by elapsed time, and whichever of two equal
// readings it meant. The cutoff may thus lag by the size of the change for as long as that change
// is within the interval's edge, and is never early.
func NewCutoff(now time.Time, zone *time.Location, span ddl.Span, kind tables.Kind, digits int) (Cutoff, error) {
	if span.Months < 0 || span.Micros < 0 {
		return Cutoff{}, fmt.Errorf("interval is negative")
	}

	wallNow := wall(now.In(zone))
	wallThen := subtract(wallNow, span).Truncate(grain(digits))

	// Durations of time.Time saturate at 292 years; seconds do not. Their fraction is the same in
	// every zone.
	ago := wallNow.Unix() - wallThen.Unix()
	instant := time.Unix(now.Unix()-ago, int64(wallThen.Nanosecond())).UTC()
	c := Cutoff{Instant: instant, Wall: instant, Kind: kind, Digits: digits, now: now, wall: wallNow}
	if kind == tables.Timestamp {
		return c, nil
	}

	c.Wall = wallThen
	if w := unambiguous(instant.In(zone)); w.Before(c.Wall) {
		c.kept = c.Wall.Sub(w)
		c.Wall = w
	}

	return c, nil
}

// DueAt is a moment: whatever had expired before it is before the cutoff. It is the clock that the
// cutoff was computed from, truncated like it, less what a change of the clocks keeps for longer.
func (c Cutoff) DueAt() time.Time { return c.now.Truncate(grain(c.Digits)).Add(-c.kept) }

// grain is the smallest step of a column whose seconds have a fraction of that many digits.
func grain(digits int) time.Duration {
	step := time.Second
	for range min(digits, 6) {
		step /= 10
	}
	return step
}

// unambiguous returns the latest wall reading all of whose earlier readings happened before t,
// whichever pass of a repeated hour they were taken in.
func unambiguous(t time.Time) time.Time {
	w := wall(t)
	if _, end := t.ZoneBounds(); !end.IsZero() {
		if back := wall(end); back.Before(w) {
			return back
		}
	}
	return w
}

// wall drops the zone of t and keeps what its clock shows.
func wall(t time.Time) time.Time {
	y, mo, d := t.Date()
	h, mi, s := t.Clock()
	return time.Date(y, mo, d, h, mi, s, t.Nanosecond(), time.UTC)
}

// subtract is the servers' DATE_SUB on a naive time: months first, with the day clipped to the
// month's end, then the exact part. Results before year 1 become year 1: nothing is older.
func subtract(t time.Time, span ddl.Span) time.Time {
	const microsPerDay = 24 * 60 * 60 * 1_000_000
	if span.Months > 12*10_000 || span.Micros/microsPerDay > 366*10_000 {
		return time.Time{}
	}
	t = subtractMonths(t, int(span.Months))
	t = t.AddDate(0, 0, -int(span.Micros/microsPerDay)).Add(-time.Duration(span.Micros%microsPerDay) * time.Microsecond)
	if t.Year() < 1 {
		return time.Time{}
	}
	return t
}

func subtractMonths(t time.Time, months int) time.Time {
	if months == 0 {
		return t
	}
	y, mo, d := t.Date()
	h, mi, s := t.Clock()
	first := time.Date(y, mo-time.Month(months), 1, h, mi, s, t.Nanosecond(), time.UTC)
	last := first.AddDate(0, 1, -1).Day()
	return first.AddDate(0, 0, min(d, last)-1)
}

// Literal is the upper bound of the predicate: rows strictly before it are expired.
func (c Cutoff) Literal() string {
	if c.Kind == tables.Date {
		return c.upper().Format("'2006-01-02'")
	}
	return c.upper().Format("'" + layout(c.Digits) + "'")
}

// layout is how a DATETIME with that many digits is written.
func layout(digits int) string {
	if digits == 0 {
		return time.DateTime
	}
	return time.DateTime + "." + strings.Repeat("0", digits)
}

// upper is what Literal says, as a value of the TTL column in UTC fields.
func (c Cutoff) upper() time.Time {
	if c.Kind != tables.Date {
		return c.Wall
	}
	day := c.Wall.Truncate(24 * time.Hour)
	if day.Before(c.Wall) {
		// A DATE is its midnight: the day of the cutoff has expired unless the cutoff is that
		// midnight.
		day = day.AddDate(0, 0, 1)
	}
	return day
}

// Passed reports whether a row with this value in its TTL column has expired, as far as the cutoff
// decides.
func (c Cutoff) Passed(value string) bool {
	t, err := c.parse(value)
	return err == nil && t.Before(c.upper())
}

func (c Cutoff) parse(value string) (time.Time, error) {
	if c.Kind == tables.Date {
		return time.Parse(time.DateOnly, value)
	}
	return time.Parse(time.DateTime, value)
}

// Tell is a value of the TTL column for people. That of a TIMESTAMP, which comes in UTC, is an instant.
func (c Cutoff) Tell(value string) string {
	t, err := c.parse(value)
	if err != nil || c.Kind != tables.Timestamp {
		return value
	}
	return catalog.Moment(t)
}

// ExpiryOf is the instant at which a row with this value in its TTL column expired, to within a
// change of the clocks; zero when the value is none. Values are as the server prints them.
func (c Cutoff) ExpiryOf(value string) time.Time {
	t, err := c.parse(value)
	if err != nil {
		return time.Time{}
	}
	return c.now.Truncate(grain(c.Digits)).Add(-c.Wall.Sub(t))
}
