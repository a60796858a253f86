package plan

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/setting"
	"github.com/ttlproxy/ttlproxy/catalog/tables"
)

// fateSource is a catalog that remembers this of a table, at this time.
type fateSource struct {
	now   time.Time
	known tables.Incarnation

	server     catalog.Server
	departures []catalog.Departure
	throttle   catalog.Throttle
}

func (s fateSource) Clock(context.Context) (time.Time, error) { return s.now, nil }

func (s fateSource) Server() catalog.Server { return s.server }

func (s fateSource) Name(table string) string { return "`fates_c`." + table }

func (s fateSource) Departures(context.Context, uint64) ([]catalog.Departure, error) {
	return s.departures, nil
}

func (s fateSource) StillKept(_ context.Context, d catalog.Departure) (bool, error) {
	return d.Side.Name != "dropped", nil
}

func (s fateSource) Share(context.Context) (catalog.Throttle, error) { return s.throttle, nil }

func (s fateSource) Values(context.Context) (setting.Values, error) {
	return setting.Values{setting.DateFloor: DefaultFloor}, nil
}

func (s fateSource) Identities(context.Context, uint64) (tables.Incarnation, error) {
	return s.known, nil
}

// TestFates tells of each partition what a job that starts now makes of it, and from when on all of
// it has expired.
func TestFates(t *testing.T) {
	eachServer(t, func(t *testing.T, db *sql.DB) {
		mustExec(t, db, "CREATE DATABASE fates",
			"CREATE TABLE fates.t (id INT, made DATETIME) PARTITION BY RANGE COLUMNS (made) ("+
				"PARTITION a VALUES LESS THAN ('2026-01-01'), PARTITION b VALUES LESS THAN ('2026-01-02 12:00:00'), "+
				"PARTITION c VALUES LESS THAN ('2026-04-01'), PARTITION d VALUES LESS THAN (MAXVALUE))",
			"CREATE TABLE fates.h (id INT, made DATETIME) PARTITION BY HASH (id) PARTITIONS 2",
			"CREATE TABLE fates.whole (id INT, made DATETIME)")
		p := catalog.Policy{State: catalog.PolicyArmed, Table: catalog.Table{Schema: "fates", Name: "t"}, Rule: catalog.Rule{
			Column: "MADE", Literal: "1", Unit: "MONTH", Enabled: true, JobInterval: "24h", TimeZone: "Europe/Prague",
		}}

		var err error
		if p.Terms, err = p.Rule.Terms(); err != nil {
			t.Fatal(err)
		}

		held := tables.Hold{Code: tables.Replaced, Text: "partition b was exchanged"}
		source := fateSource{
			now:   time.Date(2026, 2, 2, 10, 59, 59, 0, time.UTC), // 11:59:59 in Prague
			known: tables.Incarnation{{}, {Partition: "a"}, {Partition: "b", Held: held}},
		}

		for _, c := range []struct {
			table string
			at    time.Duration
			held  bool
			want  string
		}{
			{table: "t", want: "a 2026-01-31 23:00:00 whole, b 2026-02-02 11:00:00 part, c 2026-04-30 22:00:00 none, d - none"},
			{
				table: "t", at: time.Second,
				want: "a 2026-01-31 23:00:00 whole, b 2026-02-02 11:00:00 whole, c 2026-04-30 22:00:00 none, d - none",
			},
			{
				table: "t", at: 2 * time.Second, held: true,
				want: "a 2026-01-31 23:00:00 whole, b 2026-02-02 11:00:00 held, c 2026-04-30 22:00:00 part, d - none",
			},
			{
				table: "t", at: 90 * oneDay,
				want: "a 2026-01-31 23:00:00 whole, b 2026-02-02 11:00:00 whole, c 2026-04-30 22:00:00 whole, d - part",
			},
			{table: "h", want: "p0 - unknown, p1 - unknown"},
		} {
			p.Table.Name = c.table
			from := fateSource{now: source.now.Add(c.at)}
			if c.held {
				from.known = source.known
			}

			fates, err := Fates(t.Context(), db, from, p)
			if err != nil {
				t.Fatal(err)
			}
			if got := fatesText(fates); got != c.want {
				t.Errorf("after %v: got %s, want %s", c.at, got, c.want)
			}
		}

		p.Table.Name = "whole"
		if _, err := Fates(t.Context(), db, source, p); !errors.Is(err, ErrNoPartitions) {
			t.Errorf("a table without partitions: got %v", err)
		}
	})
}

// fatesText shortens fates to a word each.
func fatesText(fates []Fate) string {
	words := map[string]string{fateWhole: "whole", fatePart: "part", fateUnknown: "unknown", fateNone: "none"}
	var all []string
	for _, f := range fates {
		due := "-"
		if !f.DueAt.IsZero() {
			due = f.DueAt.Format(time.DateTime)
		}

		word := words[f.Text]
		if strings.HasPrefix(f.Text, "held: partition b") {
			word = "held"
		}
		all = append(all, f.Name+" "+due+" "+word)
	}
	return strings.Join(all, ", ")
}

// TestPartitionIsDue: at the moment that is said, and not a second earlier, the cutoff of a job lies
// behind the partition.
func TestPartitionIsDue(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind           tables.Kind
		zone, interval string
		end, want      string
	}{
		{tables.Datetime, "UTC", "1 HOUR", "2026-01-01", "2026-01-01 01:00:00"},
		{tables.Datetime, "America/New_York", "1 MONTH", "2026-01-31", "2026-03-01 05:00:00"},
		{tables.Datetime, "Pacific/Kiritimati", "0 DAY", "2026-01-01", "2025-12-31 10:00:00"},
		{tables.Datetime, "Pacific/Pago_Pago", "0 DAY", "2026-01-01", "2026-01-01 11:00:00"},
		{tables.Datetime, "Europe/Prague", "1 DAY", "2026-10-25", "2026-10-25 23:00:00"},
		{tables.Timestamp, "Europe/Prague", "1 HOUR", "2026-10-25", "2026-10-25 01:00:00"},
		{tables.Date, "UTC", "30 DAY", "2026-02-01", "2026-03-02 00:00:01"}, // the day before expires then
		{tables.Datetime, "UTC", "5000 YEAR", "2026-01-01", "7026-01-01 00:00:00"},
		{tables.Datetime, "UTC", "1 YEAR", "9999-01-01", ""},
		{tables.Datetime, "UTC", "1 DAY", "MAXVALUE", ""},
	} {
		p := tables.Partition{Method: "RANGE COLUMNS", Expression: "`made`", Below: "'" + c.end + "'"}
		if c.kind == tables.Timestamp {
			at, _ := time.Parse(time.DateOnly, c.end)
			p = tables.Partition{Method: "RANGE", Expression: "unix_timestamp(`made`)", Below: fmt.Sprint(at.Unix())}
		}

		literal, unit, _ := strings.Cut(c.interval, " ")
		terms, err := catalog.Rule{Literal: literal, Unit: unit, JobInterval: "1h", TimeZone: c.zone}.Terms()
		if err != nil {
			t.Fatal(err)
		}

		got := ""
		if at := dueAt(p, tables.Column{Name: "made", Kind: c.kind}, terms); !at.IsZero() {
			got = at.Format(time.DateTime)
		}
		if got != c.want {
			t.Errorf("%s + %s in %s: got %q, want %q", c.end, c.interval, c.zone, got, c.want)
		}
	}
}

// TestPreviewsLeaveOutDistantPartitions: a preview reads no row of a partition in which nothing is due
// within the days that it shows, and counts its rows all the same.
func TestPreviewsLeaveOutDistantPartitions(t *testing.T) {
	eachServer(t, func(t *testing.T, db *sql.DB) {
		makeNumbers(t, db, "distant", 30_000)
		mustExec(t, db, "CREATE TABLE distant.t (id INT, made DATETIME, PRIMARY KEY (id, made)) "+
			"PARTITION BY RANGE COLUMNS (made) (PARTITION a VALUES LESS THAN ('2026-01-01'), "+
			"PARTITION b VALUES LESS THAN ('2026-01-10'), PARTITION c VALUES LESS THAN (MAXVALUE))",
			"INSERT INTO distant.t SELECT n, '2025-12-01' FROM distant.numbers WHERE n <= 300",
			"INSERT INTO distant.t SELECT n, '2026-01-03' FROM distant.numbers WHERE n <= 200",
			"INSERT INTO distant.t SELECT n, '2027-01-01' FROM distant.numbers", "ANALYZE TABLE distant.t")
		rule := catalog.Rule{Column: "made", Literal: "1", Unit: "MONTH", Enabled: true, JobInterval: "24h", TimeZone: "UTC"}
		terms, err := rule.Terms()
		if err != nil {
			t.Fatal(err)
		}

		before := rowsRead(t, db)
		p, err := NewPreview(t.Context(), db, Question{
			Table: catalog.Table{Schema: "distant", Name: "t"}, Rule: rule, Terms: terms,
			Now: time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC), Floor: DefaultFloor, IndexScan: true,
		})
		if err != nil {
			t.Fatal(err)
		}

		if p.Due != 300 || !p.Exact || p.Next[2].Rows != 200 || p.RowsExact || p.Rows < 20_000 || p.Percent > 2 {
			t.Errorf("due %d, in three days %d more, of %d rows (%.1f %%)", p.Due, p.Next[2].Rows, p.Rows, p.Percent)
		}
		if p.Partitions != 3 || p.MayBeDue != 1 || p.Rotation != nil {
			t.Errorf("%d of %d partitions may be due", p.MayBeDue, p.Partitions)
		}
		if by := p.Plans[1]; by.Plan != WalkRange || by.RowsRead > 5000 {
			t.Errorf("the plan by key is said to read %d rows", by.RowsRead)
		}
		if n := rowsRead(t, db) - before; n > 10_000 {
			t.Errorf("%d rows are read, and 500 may be due", n)
		}
	})
}

// rowsRead is how many rows of tables the session has read, one after another.
func rowsRead(t *testing.T, db *sql.DB) int {
	t.Helper()
	read := 0
	for _, counter := range []string{"Handler_read_next", "Handler_read_rnd_next"} {
		var name string
		var n int
		err := db.QueryRowContext(t.Context(), "SHOW SESSION STATUS LIKE '"+counter+"'").Scan(&name, &n)
		if err != nil {
			t.Fatal(err)
		}
		read += n
	}
	return read
}
