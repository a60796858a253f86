package plan

import (
	"cmp"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog/tables"
)

// bounded are ways to divide rows by time, with bounds that are written from moments.
var bounded = []struct {
	name, column, by string
	bound            func(time.Time) string
	whole            time.Duration // of which bounds are multiples
	from, to         string        // within which the column can hold dates
}{
	{"to_days", "DATETIME(6)", "RANGE (TO_DAYS(made))", ofDay("TO_DAYS('%s')"), oneDay, "0001-01-01", "9999-12-31"},
	{"to_days_of_a_date", "DATE", "RANGE (TO_DAYS(made))", ofDay("TO_DAYS('%s')"), oneDay, "0001-01-01", "9999-12-31"},
	{"year", "DATETIME", "RANGE (YEAR(made))", ofYear, oneDay, "0001-01-01", "9999-12-31"},
	{"year_of_a_date", "DATE", "RANGE (YEAR(made))", ofYear, oneDay, "0001-01-01", "9999-12-31"},
	{
		"unix_timestamp", "TIMESTAMP NULL", "RANGE (UNIX_TIMESTAMP(made))",
		func(at time.Time) string { return fmt.Sprint(at.Unix()) }, time.Second, "1970-01-02", "2038-01-01",
	},
	{
		"unix_timestamp_by_name", "TIMESTAMP NULL", "RANGE (UNIX_TIMESTAMP(made))",
		func(at time.Time) string { return at.Format("UNIX_TIMESTAMP('2006-01-02 15:04:05')") },
		time.Second, "1970-01-02", "2038-01-01",
	},
	{
		"whole_timestamp", "TIMESTAMP(6) NULL", "RANGE (FLOOR(UNIX_TIMESTAMP(made)))",
		func(at time.Time) string { return fmt.Sprint(at.Unix()) }, time.Second, "1970-01-02", "2038-01-01",
	},
	{
		"to_seconds", "DATETIME(6)", "RANGE (TO_SECONDS(made))",
		func(at time.Time) string { return at.Format("TO_SECONDS('2006-01-02 15:04:05')") },
		time.Second, "0001-01-01", "9999-12-31",
	},
	{"columns", "DATETIME", "RANGE COLUMNS (made)", ofMoment, time.Second, "0001-01-01", "9999-12-31"},
	{"columns_in_days", "DATETIME", "RANGE COLUMNS (made)", ofDay("'%s'"), oneDay, "0001-01-01", "9999-12-31"},
	{"columns_finely", "DATETIME(6)", "RANGE COLUMNS (made)", ofMoment, time.Microsecond, "0001-01-01", "9999-12-31"},
	{"columns_of_a_date", "DATE", "RANGE COLUMNS (made)", ofDay("'%s'"), oneDay, "0001-01-01", "9999-12-31"},
	{
		"two_columns", "DATETIME NOT NULL", "RANGE COLUMNS (made, id)",
		func(at time.Time) string { return ofMoment(at) + ", 0" }, time.Second, "0001-01-01", "9999-12-31",
	},
}

// ofDay writes a bound that names a day.
func ofDay(form string) func(time.Time) string {
	return func(at time.Time) string { return fmt.Sprintf(form, at.Format(time.DateOnly)) }
}

func ofYear(at time.Time) string { return fmt.Sprint(at.Year()) }

func ofMoment(at time.Time) string { return at.Format("'2006-01-02 15:04:05.999999'") }

const micros = "2006-01-02 15:04:05.000000"

// TestBoundsAgainstTheServers: what a bound is taken to say is what the server does: no row is in a
// later partition that is before it, and none in an earlier one that is not. Impossible dates, such as
// the day 0 of a month, may be in any: there they wait for the others.
func TestBoundsAgainstTheServers(t *testing.T) {
	eachServer(t, func(t *testing.T, db *sql.DB) {
		mustExec(t, db, "CREATE DATABASE bounded", "SET SESSION sql_mode = 'ALLOW_INVALID_DATES'")
		for _, b := range bounded {
			at := moments(b.from, b.to, b.whole)
			var parts []string
			for _, m := range at {
				part := fmt.Sprintf("PARTITION p%d VALUES LESS THAN (%s)", len(parts), b.bound(m))
				if bound := b.bound(m); len(parts) == 0 || !strings.HasSuffix(parts[len(parts)-1], "("+bound+")") {
					parts = append(parts, part)
				}
			}

			maxima := "MAXVALUE" + strings.Repeat(", MAXVALUE", strings.Count(b.by, ","))
			parts = append(parts, "PARTITION last VALUES LESS THAN ("+maxima+")")
			mustExec(t, db, fmt.Sprintf("CREATE TABLE bounded.%s (id INT, made %s) PARTITION BY %s (%s)",
				b.name, b.column, b.by, strings.Join(parts, ", ")))

			values := []string{"(1, '0000-00-00')"}
			for _, m := range at {
				for _, by := range []time.Duration{-oneDay, -b.whole, 0, b.whole, oneDay} {
					values = append(values, m.Add(by).Format("(1, '"+micros+"')"))
				}
			}

			if !strings.Contains(b.column, "NOT NULL") {
				values = append(values, "(1, NULL)")
			}
			if !strings.HasPrefix(b.column, "TIMESTAMP") {
				values = append(values, "(1, '2024-02-30')", "(1, '2024-00-00')", "(1, '2024-07-00')", "(1, '0000-07-01')")
			}

			mustExec(t, db, fmt.Sprintf("INSERT IGNORE INTO bounded.%s VALUES %s", b.name, strings.Join(values, ", ")))
			checkBounds(t, db, b.name, len(parts)-1)
		}
	})
}

// moments are some within limits, in their order: near ones, distant ones, and ends of months.
func moments(from, to string, whole time.Duration) (all []time.Time) {
	first, _ := time.Parse(time.DateOnly, from)
	last, _ := time.Parse(time.DateOnly, to)
	random := rand.New(rand.NewPCG(1, 2))
	add := func(at time.Time) {
		if at.After(first.AddDate(0, 0, 1)) && at.Before(last.AddDate(0, 0, -1)) {
			all = append(all, at.Truncate(whole))
		}
	}

	for range 8 {
		add(time.Unix(first.Unix()+random.Int64N(last.Unix()-first.Unix()), random.Int64N(1e9)).UTC())
	}
	for month := range 6 {
		add(time.Date(2023, time.Month(9+month), 31, 23, 59, 59, 999_999_000, time.UTC))
		add(time.Date(1970, 1, 2+month, 0, 0, 1, 1000, time.UTC))
	}

	slices.SortFunc(all, time.Time.Compare)
	return slices.Compact(all)
}

// checkBounds compares the rows of partitions with what their bounds are taken to say.
func checkBounds(t *testing.T, db *sql.DB, table string, want int) {
	t.Helper()
	f, err := tables.ReadFacts(t.Context(), db, "bounded", table)
	if err != nil {
		t.Fatal(err)
	}

	var ends []string // of partitions so far
	c, _ := f.Column("made")
	for i, p := range f.Partitions {
		for _, made := range datesIn(t, db, f.Target(p.Name)) {
			if _, err := time.Parse(time.DateTime, made); err != nil {
				continue
			}
			if at := slices.IndexFunc(ends, func(end string) bool { return made < end }); at >= 0 {
				t.Errorf("%s: %s is in partition %d, though %d ends at %s", table, made, i, at, ends[at])
			}
			if end, known := p.End(c); known && made >= end.Format(micros) {
				t.Errorf("%s: %s is in partition %d, which ends at %s", table, made, i, end)
			}
		}
		if end, known := p.End(c); known {
			ends = append(ends, end.Format(micros))
		}
	}

	if len(ends) != want {
		t.Errorf("%s: %d bounds are understood, want %d", table, len(ends), want)
	}
}

// datesIn are the dates of a partition's rows, to the microsecond.
func datesIn(t *testing.T, db *sql.DB, target tables.Target) (all []string) {
	t.Helper()
	err := tables.EachRow(t.Context(), db, "SELECT CAST(made AS CHAR) FROM "+target.Source()+" WHERE made IS NOT NULL",
		nil, func(rows *sql.Rows) error {
			var made string
			err := rows.Scan(&made)
			day, clock, _ := strings.Cut(made, " ")
			clock, fraction, _ := strings.Cut(clock, ".")
			all = append(all, day+" "+cmp.Or(clock, "00:00:00")+"."+(fraction + "000000")[:6])
			return err
		})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
