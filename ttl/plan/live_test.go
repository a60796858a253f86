package plan

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/ddl"
)

// TestMovingCutoffIsTheEngines: at thousands of moments, around changes of the clocks among them, and
// for readers in any zone, both servers compute the cutoff that a job would have which began then.
// For months in a zone whose clocks change it is little late, and never early.
func TestMovingCutoffIsTheEngines(t *testing.T) {
	eachServer(t, func(t *testing.T, db *sql.DB) {
		declared := time.Date(2026, 11, 3, 17, 20, 31, 123456000, time.UTC)
		rnd := rand.New(rand.NewPCG(3, 3))

		for _, name := range []string{"UTC", "+05:30", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe"} {
			zone, err := ddl.Zone(name)
			if err != nil {
				t.Fatal(err)
			}

			for _, span := range []ddl.Span{
				{Micros: 30 * minute},
				{Micros: 10 * 60 * minute},
				{Micros: 1_500_000},
				{Micros: 200 * day},
				{Months: 1},
				{Months: 14, Micros: 36 * 60 * minute},
			} {
				for _, c := range []tables.Column{
					{Kind: tables.Datetime}, {Kind: tables.Datetime, Digits: 6}, {Kind: tables.Timestamp, Digits: 3},
				} {
					k := movingCutoff{span: span, zone: zone, kind: c.Kind, digits: c.Digits, now: declared}
					checkMoving(t, db, k, momentsAfter(rnd, declared, zone, span))
				}
			}
		}
	})
}

// momentsAfter are some moments after a declaration: many of them when a change of the clocks
// matters.
func momentsAfter(rnd *rand.Rand, declared time.Time, zone *time.Location, span ddl.Span) (all []time.Time) {
	for range 6 {
		at := declared.Add(time.Duration(rnd.Int64N(int64(9 * 365 * 24 * time.Hour)))).Truncate(time.Microsecond)
		all = append(all, at)
		_, end := at.In(zone).ZoneBounds()
		if end.IsZero() {
			continue
		}

		near := func(t time.Time) time.Time {
			return t.Add(time.Duration(rnd.Int64N(int64(3*time.Hour))) - 90*time.Minute).Truncate(time.Microsecond)
		}
		all = append(all, near(end), near(end.Add(time.Duration(span.Micros)*time.Microsecond)))
	}
	return all
}

func checkMoving(t *testing.T, db *sql.DB, k movingCutoff, moments []time.Time) {
	t.Helper()
	expression, err := k.sql()
	if err != nil {
		t.Fatal(err)
	}

	for i, now := range moments {
		want, err := NewCutoff(now, k.zone, k.span, k.kind, k.digits)
		if err != nil {
			t.Fatal(err)
		}

		// The reader's zone makes no difference.
		reader := []string{"+00:00", "-11:00", "+09:30"}[i%3]
		mustExec(t, db, "SET time_zone = '"+reader+"', timestamp = "+
			fmt.Sprintf("%d.%06d", now.Unix(), now.Nanosecond()/1000))

		asked := expression
		if k.kind == tables.Timestamp {
			asked = "TIMESTAMP'1970-01-01 00:00:00' + INTERVAL (" + expression + ") SECOND_MICROSECOND"
		}
		var text string
		if err := db.QueryRowContext(t.Context(), "SELECT CAST("+asked+" AS CHAR)").Scan(&text); err != nil {
			t.Fatalf("%s: %v", asked, err)
		}
		got, err := time.Parse(time.DateTime, text)
		if err != nil {
			t.Fatal(err)
		}

		late := want.Wall.Sub(got)
		most := 25 * time.Hour // at the end of a month
		if k.span.Months == 0 || k.zone == time.UTC {
			most = time.Duration(k.span.Micros) * time.Microsecond % grain(k.digits) // of a second that has no fraction
		}
		if late < 0 || late > most*2 {
			t.Errorf("%s, span %v, kind %d(%d) at %s: the server says %s, the engine %s (%s)",
				k.zone, k.span, k.kind, k.digits, now, text, want.Wall, expression)
		}
	}

	mustExec(t, db, "SET timestamp = DEFAULT, time_zone = '+00:00'")
}

// TestLiving: what a view shows are the rows that the engine would not delete, for readers in every
// zone.
func TestLiving(t *testing.T) {
	eachServer(t, func(t *testing.T, db *sql.DB) {
		const schema = "plan_living"
		mustExec(t, db, "DROP DATABASE IF EXISTS "+schema, "CREATE DATABASE "+schema)
		t.Cleanup(func() { _, _ = db.Exec("DROP DATABASE IF EXISTS " + schema) })

		mustExec(t, db, "CREATE TABLE "+schema+".t (id INT PRIMARY KEY, made DATETIME(6) NULL, "+
			"stamp TIMESTAMP(6) NULL, day DATE NULL)",
			"INSERT INTO "+schema+".t VALUES (1, NULL, NULL, NULL), (2, '0000-00-00', '0000-00-00', '0000-00-00'), "+
				"(3, '1970-01-01 23:59:59', '1970-01-01 23:59:59', '1970-01-01'), "+
				"(4, UTC_TIMESTAMP(6) - INTERVAL 25 HOUR, UTC_TIMESTAMP(6) - INTERVAL 25 HOUR, '2020-02-02'), "+
				"(5, UTC_TIMESTAMP(6) - INTERVAL 23 HOUR, UTC_TIMESTAMP(6) - INTERVAL 23 HOUR, UTC_DATE() + INTERVAL 1 DAY)")

		for _, column := range []string{"made", "stamp", "day"} {
			rule := catalog.Rule{
				Column: column, Literal: "1", Unit: "DAY", JobInterval: "1h", TimeZone: "UTC",
				ZoneSource: catalog.ZoneFromTable,
			}
			terms, err := rule.Terms()
			if err != nil {
				t.Fatal(err)
			}
			facts, err := tables.ReadFacts(t.Context(), db, schema, "t")
			if err != nil {
				t.Fatal(err)
			}
			c, _ := facts.Column(column)
			living, err := Living(terms, c, DefaultFloor, time.Now())
			if err != nil {
				t.Fatal(err)
			}

			mustExec(t, db, "CREATE OR REPLACE SQL SECURITY INVOKER VIEW "+schema+".v AS SELECT id FROM "+schema+
				".t WHERE "+living)
			for _, zone := range []string{"+00:00", "+13:00", "-12:00"} {
				mustExec(t, db, "SET time_zone = '"+zone+"'")
				var got string
				if err := db.QueryRowContext(t.Context(), "SELECT GROUP_CONCAT(id ORDER BY id) FROM "+schema+".v").
					Scan(&got); err != nil {
					t.Fatal(err)
				}
				if got != "1,2,3,5" {
					t.Errorf("by %s, read in %s: got %s, want 1,2,3,5 (%s)", column, zone, got, living)
				}
			}
			mustExec(t, db, "SET time_zone = '+00:00'")
		}

		long, _ := catalog.Rule{Column: "made", Literal: "900", Unit: "YEAR", JobInterval: "1h", TimeZone: "UTC"}.Terms()
		if _, err := Living(long, tables.Column{Name: "made", Kind: tables.Datetime}, DefaultFloor, time.Now()); err == nil ||
			!strings.Contains(err.Error(), "years") {
			t.Errorf("for 900 years: got %v, want a refusal", err)
		}
	})
}
