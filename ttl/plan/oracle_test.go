package plan

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/ddl"
)

// TestCutoffAgainstTheServers asks MariaDB and MySQL themselves: for thousands of moments, month
// ends, leap days and years up to 2120 among them, `now - INTERVAL …` must be what the cutoff is in
// a zone whose clocks never change, to the second.
func TestCutoffAgainstTheServers(t *testing.T) {
	eachServer(t, func(t *testing.T, db *sql.DB) {
		rnd := rand.New(rand.NewPCG(7, 7))
		for range 40 {
			var query string
			var want []string
			for i := range 100 {
				now, span, interval := someMoment(rnd)
				cutoff, err := NewCutoff(now, time.UTC, span, tables.Datetime, 0)
				if err != nil {
					t.Fatal(err)
				}
				if i > 0 {
					query += " UNION ALL "
				}

				query += fmt.Sprintf("SELECT %d AS n, DATE_FORMAT(TIMESTAMP'%s' - %s, '''%%Y-%%m-%%d %%H:%%i:%%s''')",
					i, now.Format(time.DateTime), interval)
				want = append(want, cutoff.Literal())
			}

			err := tables.EachRow(t.Context(), db, query, nil, func(rows *sql.Rows) error {
				var n int
				var got string
				err := rows.Scan(&n, &got)
				if err == nil && got != want[n] {
					t.Errorf("the server says %s, the cutoff is %s, in row %d of %s", got, want[n], n, query)
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	})
}

// someMoment is a moment, often at the end of a month, and an interval, for us and for the servers.
func someMoment(rnd *rand.Rand) (time.Time, ddl.Span, string) {
	year, month := 1975+rnd.IntN(145), time.Month(1+rnd.IntN(12))
	dayOfMonth := 1 + rnd.IntN(28)
	if rnd.IntN(2) == 0 {
		dayOfMonth = time.Date(year, month+1, -rnd.IntN(3), 0, 0, 0, 0, time.UTC).Day() // one of the last three
	}

	now := time.Date(year, month, dayOfMonth, rnd.IntN(24), rnd.IntN(60), rnd.IntN(60), 0, time.UTC)
	n := int64(rnd.IntN(60))
	switch rnd.IntN(6) {
	case 0:
		return now, ddl.Span{Months: n}, fmt.Sprintf("INTERVAL %d MONTH", n)
	case 1:
		return now, ddl.Span{Months: 12 * n}, fmt.Sprintf("INTERVAL %d YEAR", n)
	case 2:
		return now, ddl.Span{Months: 3 * n}, fmt.Sprintf("INTERVAL %d QUARTER", n)
	case 3:
		return now, ddl.Span{Micros: 100 * n * day}, fmt.Sprintf("INTERVAL %d DAY", 100*n)
	case 4:
		return now, ddl.Span{Micros: 7919 * n * minute}, fmt.Sprintf("INTERVAL %d MINUTE", 7919*n)
	default:
		return now, ddl.Span{Micros: n * day * 7}, fmt.Sprintf("INTERVAL %d WEEK", n)
	}
}

// TestPredicateAtTheEdges lets the servers judge rows of every type around a cutoff: a second
// before it goes, the very second stays; NULL, zero dates and dates before the floor stay. One of
// the cutoffs is the last second that a TIMESTAMP of 32 bits can hold.
func TestPredicateAtTheEdges(t *testing.T) {
	eachServer(t, func(t *testing.T, db *sql.DB) {
		const schema = "plan_edges"
		mustExec(t, db, "DROP DATABASE IF EXISTS "+schema, "CREATE DATABASE "+schema)
		t.Cleanup(func() { _, _ = db.Exec("DROP DATABASE IF EXISTS " + schema) })

		for i, at := range []string{
			"2026-03-01 12:00:00", "2024-02-29 00:00:00", "2038-01-19 03:14:07",
			"1999-12-31 23:59:59",
		} {
			cut, err := time.Parse(time.DateTime, at)
			if err != nil {
				t.Fatal(err)
			}

			table := fmt.Sprintf("%s.t%d", schema, i)
			mustExec(t, db, "CREATE TABLE "+table+
				" (id INT PRIMARY KEY, made DATETIME(6) NULL, stamp TIMESTAMP(6) NULL, day DATE NULL)",
				"INSERT INTO "+table+
					" VALUES (1, NULL, NULL, NULL), (2, '0000-00-00', '0000-00-00', '0000-00-00'), (3, '1969-12-31', "+
					"'1970-01-01 12:00:00', '1969-12-31'), (4, '1970-01-01 23:59:59', '1970-01-01 23:59:59', '1970-01-01')",
				fmt.Sprintf("INSERT INTO %s VALUES (5, '%[2]s' - INTERVAL 1 MICROSECOND, '%[2]s' - INTERVAL 1 "+
					"MICROSECOND, DATE('%[2]s') - INTERVAL 1 DAY), (6, '%[2]s', '%[2]s', '%[2]s'), (7, '1970-01-02', "+
					"'1970-01-02', '1970-01-02')", table, at),
				"INSERT INTO "+table+" VALUES (9, '1998-00-00', NULL, '1998-00-00'), (10, '1998-02-00', NULL, "+
					"'1998-02-00'), (11, '1970-01-00', NULL, '1970-01-00')",
				fmt.Sprintf("INSERT INTO %s VALUES (8, '%[2]s' + INTERVAL 1 YEAR, NULL, DATE('%[2]s') + INTERVAL 1 DAY)", table, at))

			for _, c := range []struct {
				column string
				kind   tables.Kind
			}{{"made", tables.Datetime}, {"stamp", tables.Timestamp}, {"day", tables.Date}} {
				cutoff, err := NewCutoff(cut.Add(90*24*time.Hour), time.UTC, ddl.Span{Micros: 90 * day}, c.kind, 0)
				if err != nil {
					t.Fatal(err)
				}

				p, err := NewPredicate(c.column, cutoff, DefaultFloor)
				if err != nil {
					t.Fatal(err)
				}

				want := "5,7"
				if c.kind == tables.Date && cut.Hour()+cut.Minute()+cut.Second() > 0 {
					want = "5,6,7" // a DATE is its midnight, which is before the cutoff
				}
				if c.kind != tables.Timestamp {
					want += ",9,10" // a zero month or day is compared as it stands
				}

				for _, form := range []string{p.Sargable(), p.Opaque()} {
					var got string
					if err := db.QueryRowContext(t.Context(),
						"SELECT GROUP_CONCAT(id ORDER BY id) FROM "+table+" WHERE "+form).Scan(&got); err != nil {
						t.Fatal(err)
					}
					if got != want {
						t.Errorf("%s of %s: rows %s satisfy %s, want %s", c.column, at, got, form, want)
					}
				}
			}
		}
	})
}
