package plan

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/ddl"
)

const (
	minute = int64(60_000_000)
	hour   = 60 * minute
	day    = 24 * hour
)

func mustZone(t *testing.T, name string) *time.Location {
	t.Helper()
	zone, err := ddl.Zone(name)
	if err != nil {
		t.Fatal(err)
	}
	return zone
}

func TestCutoffLiteral(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, now, zone string
		span            ddl.Span
		kind            tables.Kind
		want            string
	}{
		{"plain", "2026-03-10T15:00:00Z", "UTC", ddl.Span{Micros: hour}, tables.Datetime, "'2026-03-10 14:00:00'"},
		{
			"zone of the policy", "2026-03-10T15:00:00Z", "Europe/Prague",
			ddl.Span{Micros: hour},
			tables.Datetime,
			"'2026-03-10 15:00:00'",
		},
		{"offset", "2026-03-10T15:00:00Z", "-05:30", ddl.Span{Micros: hour}, tables.Datetime, "'2026-03-10 08:30:00'"},
		{
			"TIMESTAMP is UTC", "2026-03-10T15:00:00Z", "Europe/Prague",
			ddl.Span{Micros: hour},
			tables.Timestamp,
			"'2026-03-10 14:00:00'",
		},
		{
			"truncated", "2026-03-10T15:00:00.999999Z", "UTC",
			ddl.Span{Micros: hour + 1},
			tables.Datetime,
			"'2026-03-10 14:00:00'",
		},
		{"truncated downwards", "2026-03-10T15:00:00Z", "UTC", ddl.Span{Micros: 1}, tables.Datetime, "'2026-03-10 14:59:59'"},
		{"zero interval", "2026-03-10T15:00:00Z", "UTC", ddl.Span{}, tables.Datetime, "'2026-03-10 15:00:00'"},
		{"month end", "2026-03-31T12:00:00Z", "UTC", ddl.Span{Months: 1}, tables.Datetime, "'2026-02-28 12:00:00'"},
		{"leap year", "2024-03-31T12:00:00Z", "UTC", ddl.Span{Months: 1}, tables.Datetime, "'2024-02-29 12:00:00'"},
		{
			"leap day minus a year", "2024-02-29T12:00:00Z", "UTC",
			ddl.Span{Months: 12},
			tables.Datetime,
			"'2023-02-28 12:00:00'",
		},
		{"over new year", "2026-01-31T00:00:00Z", "UTC", ddl.Span{Months: 2}, tables.Datetime, "'2025-11-30 00:00:00'"},
		{
			"TiDB: 1:3 HOUR_MINUTE", "2026-01-31T15:00:00Z", "UTC",
			ddl.Span{Micros: 63 * minute},
			tables.Datetime,
			"'2026-01-31 13:57:00'",
		},
		{
			"TiDB: month in +02:00", "1999-03-01T01:00:00Z", "+02:00",
			ddl.Span{Months: 1},
			tables.Datetime,
			"'1999-02-01 03:00:00'",
		},
		{
			"TiDB: 90 minutes over the fold", "2024-11-03T11:00:00Z", "America/Los_Angeles",
			ddl.Span{Micros: 90 * minute},
			tables.Timestamp, "'2024-11-03 09:30:00'",
		},
		{"DATE inside the day", "2026-03-10T15:00:00Z", "UTC", ddl.Span{Micros: 3 * day}, tables.Date, "'2026-03-08'"},
		{"DATE at midnight", "2026-03-10T00:00:00Z", "UTC", ddl.Span{Micros: 3 * day}, tables.Date, "'2026-03-07'"},
		{
			"DATE in a zone ahead", "2026-03-10T23:30:00Z", "Asia/Tokyo",
			ddl.Span{Micros: 3 * day},
			tables.Date, "'2026-03-09'",
		},
		{
			"clocks back: the repeated hour waits", "2024-11-03T09:10:00Z", "America/Los_Angeles",
			ddl.Span{Micros: 30 * minute},
			tables.Datetime, "'2024-11-03 00:40:00'",
		},
		{
			"clocks back: before the change", "2024-11-03T08:50:00Z", "America/Los_Angeles",
			ddl.Span{Micros: 5 * minute},
			tables.Datetime, "'2024-11-03 01:00:00'",
		},
		{
			"clocks forward: elapsed time counts", "2024-03-10T10:10:00Z", "America/Los_Angeles",
			ddl.Span{Micros: 30 * minute},
			tables.Datetime, "'2024-03-10 01:40:00'",
		},
		{
			"older than the calendar", "2026-03-10T15:00:00Z", "UTC",
			ddl.Span{Months: 12 * 9999},
			tables.Datetime,
			"'0001-01-01 00:00:00'",
		},
		{
			"beyond arithmetic", "2026-03-10T15:00:00Z", "UTC",
			ddl.Span{Micros: 1<<63 - 1},
			tables.Datetime,
			"'0001-01-01 00:00:00'",
		},
		{
			"last second of 32 bits", "2038-01-19T03:14:07Z", "UTC",
			ddl.Span{Micros: 1_000_000},
			tables.Timestamp,
			"'2038-01-19 03:14:06'",
		},
		{"after 2038", "2040-01-19T03:14:07Z", "UTC", ddl.Span{Micros: day}, tables.Datetime, "'2040-01-18 03:14:07'"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			now, err := time.Parse(time.RFC3339Nano, c.now)
			if err != nil {
				t.Fatal(err)
			}

			cutoff, err := NewCutoff(now, mustZone(t, c.zone), c.span, c.kind, 0)
			if err != nil {
				t.Fatal(err)
			}
			if got := cutoff.Literal(); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestNegativeSpanIsRefused(t *testing.T) {
	t.Parallel()
	for _, span := range []ddl.Span{{Months: -1}, {Micros: -1}} {
		if _, err := NewCutoff(time.Unix(0, 0), time.UTC, span, tables.Datetime, 0); err == nil {
			t.Errorf("%v: want an error", span)
		}
	}
}

// TestCutoffIsNeverEarly walks around every change of the clocks of every zone from 2020 to 2030
// and asks of rows written just before and after: does a row count as expired before its interval
// has passed, by the wall clock or by elapsed time? Or does it stay for longer than the change was?
// Nothing in it knows how the cutoff is computed. Rows written after the job began count too: the
// cutoff stays the same while it runs. Zones whose clocks are the same for all that time, such as most
// of the European Union's, are one case.
func TestCutoffIsNeverEarly(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(1, 2))
	spans := []ddl.Span{
		{},
		{Micros: minute},
		{Micros: 30 * minute},
		{Micros: 61 * minute},
		{Micros: 3 * hour},
		{Micros: day},
		{Micros: 7 * day},
		{Micros: 365 * day},
		{Months: 1},
		{Months: 6},
		{Months: 12},
	}

	changes, seen := 0, map[string]bool{}
	for _, name := range zoneNames(t) {
		zone, err := ddl.Zone(name)
		if err != nil {
			continue // this machine's database may lack a name
		}

		clocks := clocksFrom2018To2033(zone)
		if seen[clocks] {
			continue
		}
		seen[clocks] = true

		for at := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC); ; changes++ {
			_, end := at.In(zone).ZoneBounds()
			if end.IsZero() || end.Year() > 2030 {
				break
			}

			at = end
			for _, span := range spans {
				around := end.Add(time.Duration(rnd.Int64N(int64(5*time.Hour))) - 150*time.Minute)
				checkRowsAround(t, around, end, zone, span)
				// and with the change at the far edge of the interval
				far := around.AddDate(0, int(span.Months), 0).Add(time.Duration(span.Micros) * time.Microsecond)
				checkRowsAround(t, far, end, zone, span)
			}
		}
	}

	if changes < 500 {
		t.Errorf("only %d changes of clocks tested", changes)
	}
}

// clocksFrom2018To2033 lists every change of a zone's clocks within two years of those that are
// tested, which is farther than the longest interval reaches.
func clocksFrom2018To2033(zone *time.Location) string {
	var list strings.Builder
	for at := time.Date(2018, 1, 1, 0, 0, 0, 0, time.UTC).In(zone); ; {
		_, offset := at.Zone()
		_, end := at.ZoneBounds()
		fmt.Fprintln(&list, offset, end.Unix())
		if end.IsZero() || end.Year() > 2033 {
			return list.String()
		}
		at = end
	}
}

func checkRowsAround(t *testing.T, now, change time.Time, zone *time.Location, span ddl.Span) {
	t.Helper()
	for _, kind := range []tables.Kind{tables.Datetime, tables.Timestamp} {
		cutoff, err := NewCutoff(now, zone, span, kind, 0)
		if err != nil {
			t.Fatal(err)
		}

		const step = 7*time.Minute + 30*time.Second
		for written := change.Add(-4 * time.Hour); written.Before(change.Add(4 * time.Hour)); written = written.Add(step) {
			switch expired := wall(written.In(zone)).Before(cutoff.Wall); {
			case kind == tables.Timestamp:
				checkInstant(t, written, now, span, cutoff)
			case expired:
				checkDue(t, written, now, zone, span, cutoff)
			default:
				checkNotLate(t, written, now, zone, span, cutoff)
			}
		}
	}
}

// checkInstant: a TIMESTAMP knows no clocks that change. A row goes exactly when its interval has
// passed, to the second.
func checkInstant(t *testing.T, written, now time.Time, span ddl.Span, cutoff Cutoff) {
	t.Helper()
	if span.Months > 0 {
		return // not a length of time
	}
	due := written.Before(now.Add(-time.Duration(span.Micros) * time.Microsecond).Truncate(time.Second))
	if expired := written.UTC().Before(cutoff.Wall); expired != due {
		t.Errorf("now %s span %v: TIMESTAMP of %s expired: %v, want %v (cutoff %s)",
			now, span, written.UTC(), expired, due, cutoff.Literal())
	}
}

// checkNotLate is told that a DATETIME row stays, and asks whether it had gone long ago by every
// reading: clocks change by three hours at most (in Antarctica).
func checkNotLate(t *testing.T, written, now time.Time, zone *time.Location, span ddl.Span, cutoff Cutoff) {
	t.Helper()
	const change = 3*time.Hour + time.Second
	row := wall(written.In(zone))
	byWall := addMonths(row, int(span.Months)).Add(time.Duration(span.Micros) * time.Microsecond)
	if byWall.Add(change).Before(wall(now.In(zone))) && span.Months == 0 &&
		written.Add(time.Duration(span.Micros)*time.Microsecond).Add(change).Before(now) {
		t.Errorf("%s now %s span %v: row %s written at %s is still there (cutoff %s)",
			zone, now, span, row, written, cutoff.Literal())
	}
}

// checkDue is told that a DATETIME row would go, and asks whether it may.
func checkDue(t *testing.T, written, now time.Time, zone *time.Location, span ddl.Span, cutoff Cutoff) {
	t.Helper()
	row := wall(written.In(zone))
	byWall := addMonths(row, int(span.Months)).Add(time.Duration(span.Micros) * time.Microsecond)
	if !byWall.Before(wall(now.In(zone))) {
		t.Errorf("%s now %s span %v: row %s expires early by the wall clock (cutoff %s)",
			zone, now, span, row, cutoff.Literal())
	}
	if span.Months == 0 && !written.Add(time.Duration(span.Micros)*time.Microsecond).Before(now) {
		t.Errorf("%s now %s span %v: row %s written at %s expires early by elapsed time (cutoff %s)",
			zone, now, span, row, written, cutoff.Literal())
	}
}

// addMonths is the servers' DATE_ADD, written another way than subtractMonths.
func addMonths(t time.Time, n int) time.Time {
	moved := t.AddDate(0, n, 0)
	for moved.Day() < t.Day() && moved.Day() <= 3 && n != 0 {
		moved = moved.AddDate(0, 0, -1)
		if moved.Day() > 27 {
			break
		}
	}
	return moved
}

// TestMonthEndsAgainstAddition: a row that the subtraction calls expired is also expired by
// addition.
func TestMonthEndsAgainstAddition(t *testing.T) {
	t.Parallel()
	for now := time.Date(2023, 1, 1, 12, 0, 0, 0, time.UTC); now.Year() < 2029; now = now.AddDate(0, 0, 1) {
		for _, months := range []int{1, 2, 3, 11, 12, 13, 48} {
			cutoff, err := NewCutoff(now, time.UTC, ddl.Span{Months: int64(months)}, tables.Datetime, 0)
			if err != nil {
				t.Fatal(err)
			}

			row := cutoff.Wall.Add(-time.Second)
			if due := addMonths(row, months); !due.Before(now) {
				t.Fatalf("now %s minus %d months: row %s is due only at %s", now, months, row, due)
			}
			if late := addMonths(cutoff.Wall.Add(4*24*time.Hour), months); !late.After(now) {
				t.Fatalf("now %s minus %d months: cutoff %s is days late", now, months, cutoff.Wall)
			}
		}
	}
}

func TestNoCutoffOfNoRule(t *testing.T) {
	t.Parallel()
	unread := catalog.Terms{Timing: catalog.Timing{Zone: time.UTC}}
	if c, err := CutoffOf(unread, tables.Column{Kind: tables.Datetime}, time.Now()); err == nil {
		t.Errorf("got the cutoff %v of a rule that nobody has read", c)
	}
}

// TestCutoffHasTheColumnsFraction: a cutoff is as fine as the column, and no finer, so that the row of
// NOW() lives no shorter than its interval.
func TestCutoffHasTheColumnsFraction(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 10, 15, 0, 0, 987_654_321, time.UTC)
	for digits, want := range map[int]string{0: "15:00:00", 3: "15:00:00.987", 6: "15:00:00.987654"} {
		for _, kind := range []tables.Kind{tables.Datetime, tables.Timestamp} {
			c, err := NewCutoff(now, time.UTC, ddl.Span{}, kind, digits)
			if err != nil {
				t.Fatal(err)
			}
			if got := c.Literal(); got != "'2026-03-10 "+want+"'" {
				t.Errorf("of %d digits: got %s, want %s", digits, got, want)
			}
			if c.DueAt().After(now) || c.DueAt().Before(now.Add(-time.Second)) || !c.DueAt().Equal(c.Wall) {
				t.Errorf("of %d digits: due at %s, the cutoff is %s", digits, c.DueAt(), c.Wall)
			}
			if p, _ := NewPredicate("at", c, DefaultFloor); kind == tables.Timestamp && digits == 3 &&
				!strings.Contains(p.Opaque(), "UNIX_TIMESTAMP(`at`) < 1773154800.987000)") {
				t.Errorf("the condition is %s", p.Opaque())
			}
		}
	}
}

// TestExpiryIsExact: a row expires at its date and the interval, whatever the fraction of the second in
// which somebody looks: a watermark that stands before it must not pass it.
func TestExpiryIsExact(t *testing.T) {
	now := time.Date(2026, 11, 23, 15, 10, 34, 188_123_000, time.UTC)
	for _, digits := range []int{0, 3, 6} {
		c, err := NewCutoff(now, time.UTC, ddl.Span{Micros: 24 * time.Hour.Microseconds()}, tables.Datetime, digits)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := c.ExpiryOf("2020-01-01 00:00:00"), time.Date(2020, 1, 2, 0, 0, 0, 0, time.UTC); !got.Equal(want) {
			t.Errorf("with %d digits the row expired at %v, want %v", digits, got, want)
		}
	}
}

func TestDatesAreToldByTheirKind(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind        tables.Kind
		value, want string
	}{
		{tables.Timestamp, "2026-01-02 03:04:05", "2026-01-02 03:04:05+00:00"},
		{tables.Timestamp, "2026-01-02 03:04:05.678901", "2026-01-02 03:04:05+00:00"},
		{tables.Timestamp, "", ""},
		{tables.Datetime, "2026-01-02 03:04:05", "2026-01-02 03:04:05"},
		{tables.Date, "2026-01-02", "2026-01-02"},
	} {
		if got := (Cutoff{Kind: c.kind}).Tell(c.value); got != c.want {
			t.Errorf("%q of kind %v: got %s, want %s", c.value, c.kind, got, c.want)
		}
	}
}
