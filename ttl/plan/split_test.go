package plan

import (
	"context"
	"database/sql"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/ddl"
)

// counter counts the questions that are put to a connection.
type counter struct {
	tables.Querier
	asked int
}

func (c *counter) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	c.asked++
	return c.Querier.QueryContext(ctx, query, args...)
}

func (c *counter) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	c.asked++
	return c.Querier.QueryRowContext(ctx, query, args...)
}

// TestOneTaskIsNotCut: what becomes one task is asked for its end, and nothing else.
func TestOneTaskIsNotCut(t *testing.T) {
	eachServer(t, func(t *testing.T, db *sql.DB) {
		makeNumbers(t, db, "plan_whole", 100)
		mustExec(t, db,
			"CREATE TABLE plan_whole.t (id INT PRIMARY KEY, made DATETIME) AS SELECT n AS id, NOW() AS made FROM "+
				"plan_whole.numbers")
		_, s := statementsFor(t, db, "plan_whole", "t")
		c := &counter{Querier: db}

		ranges, err := s.Split(t.Context(), c, Estimate{}, 1)
		if err != nil || len(ranges) != 1 || ranges[0].From != nil || string(ranges[0].To[0]) != "100" {
			t.Errorf("got %v, %v; want all up to the last key", ranges, err)
		}
		if c.asked != 1 {
			t.Errorf("%d questions, want one", c.asked)
		}

		mustExec(t, db, "DELETE FROM plan_whole.t")
		if ranges, err := s.Split(t.Context(), db, Estimate{}, 1); err != nil || len(ranges) != 0 {
			t.Errorf("got %v, %v of an empty table; want none", ranges, err)
		}
	})
}

// TestSplitByTime: whatever the dates of the due rows, each of them lies in one stretch of the index on
// time, and no other row in any.
func TestSplitByTime(t *testing.T) {
	eachServer(t, func(t *testing.T, db *sql.DB) {
		makeNumbers(t, db, "plan_stretches", 1000)
		for name, dates := range map[string]struct {
			kind, made string
			atLeast    int // stretches
		}{
			"even":   {"DATETIME", "'2020-01-01' + INTERVAL n MINUTE", 4},
			"fine":   {"TIMESTAMP(6)", "'2020-01-01' + INTERVAL n * 100 MICROSECOND", 4},
			"recent": {"DATETIME(6)", "'2025-11-30 23:59:59.9' - INTERVAL n * 100 MICROSECOND", 4},
			"one":    {"DATETIME", "'2020-01-01'", 1},
			"uneven": {"DATETIME", "IF(n < 10, '2000-01-01' + INTERVAL n DAY, '2020-01-01' + INTERVAL n % 7 DAY)", 2},
			"days":   {"DATE", "'2020-01-01' + INTERVAL n DAY", 1},
		} {
			table := "plan_stretches." + name
			mustExec(t, db, "CREATE TABLE "+table+" (id INT PRIMARY KEY, made "+dates.kind+" NULL, KEY (made)) AS "+
				"SELECT n AS id, "+dates.made+" AS made FROM plan_stretches.numbers",
				"INSERT INTO "+table+" VALUES (5001, NULL), (5002, NOW() + INTERVAL 2 DAY), (5003, '1970-01-01 12:00:00')")
			s := statementsOfKind(t, db, "plan_stretches", name)
			head, _, err := s.head(t.Context(), db)
			if err != nil {
				t.Fatal(err)
			}

			ranges, err := s.SplitByTime(t.Context(), db, Estimate{Head: head}, 4)
			if err != nil || len(ranges) < dates.atLeast || len(ranges) > 4 {
				t.Fatalf("%s: %d stretches, %v; want %d or more", name, len(ranges), err, dates.atLeast)
			}

			found := map[string]int{}
			for _, r := range ranges {
				page, err := s.WalkPage(r, 5000)
				if err != nil {
					t.Fatal(err)
				}
				entries, err := QueryKeys(t.Context(), db, page, len(s.Walk))
				if err != nil {
					t.Fatal(err)
				}
				for _, e := range entries {
					found[string(s.KeyOf(e)[0])]++
				}
			}

			due := 0
			for key, times := range found {
				if times != 1 || len(key) > 3 && key != "1000" {
					t.Errorf("%s: row %s is found %d times", name, key, times)
				}
				due++
			}
			if want := count(t, db, "SELECT COUNT(*) FROM "+table+" WHERE "+s.Expired.Sargable()); due != want {
				t.Errorf("%s: %d rows are found, %d are due", name, due, want)
			}
		}
	})
}

// statementsOfKind are those for a table, with the cutoff of its column.
// TestPartitionsAreNotSorted: the first due row of a large partition, and where its stretches end, are
// read from the ends of the index on time. MariaDB sorts a partition's rows if their order is asked for by
// more than the column of that index.
func TestPartitionsAreNotSorted(t *testing.T) {
	eachServer(t, func(t *testing.T, db *sql.DB) {
		makeNumbers(t, db, "unsorted", 10_000)
		mustExec(t, db, "CREATE TABLE unsorted.t (id INT, made DATETIME NOT NULL, PRIMARY KEY (id, made), KEY (made)) "+
			"PARTITION BY RANGE COLUMNS (made) (PARTITION a VALUES LESS THAN ('2026-01-01'), "+
			"PARTITION c VALUES LESS THAN (MAXVALUE))",
			"INSERT INTO unsorted.t SELECT n, '2020-01-01' + INTERVAL n HOUR FROM unsorted.numbers")
		s := statementsOfKind(t, db, "unsorted", "t")

		before := rowsRead(t, db)
		head, _, err := s.head(t.Context(), db)
		if err != nil || head != "2020-01-01 01:00:00" {
			t.Errorf("got %s, %v; want the first hour", head, err)
		}
		ranges, err := s.SplitByTime(t.Context(), db, Estimate{Head: head}, 4)
		if err != nil || len(ranges) != 4 {
			t.Errorf("got %v, %v; want four stretches", ranges, err)
		}
		if n := rowsRead(t, db) - before; n > 1000 { // SHOW STATUS has some hundred rows of its own
			t.Errorf("%d of 10000 rows are read", n)
		}
	})
}

// TestPagesOfAPartition: what is due in a partition is read by the index on time, in pages each of which costs
// what it has, on both servers; where whole days have one date, by the key.
func TestPagesOfAPartition(t *testing.T) {
	eachServer(t, func(t *testing.T, db *sql.DB) {
		const rows, page = 10_000, 300
		makeNumbers(t, db, "paged", rows)
		for kind, made := range map[string]string{
			"DATETIME": "'2020-01-01' + INTERVAL n DIV 7 MINUTE", "DATE": "'2020-01-01' + INTERVAL n DIV 2000 DAY",
		} {
			table := "paged." + strings.ToLower(kind) + "s"
			mustExec(t, db, "CREATE TABLE "+table+
				" (id VARCHAR(9), made "+kind+" NOT NULL, PRIMARY KEY (id, made), KEY (made)) "+
				"PARTITION BY RANGE COLUMNS (made) (PARTITION a VALUES LESS THAN ('2026-01-01'), "+
				"PARTITION c VALUES LESS THAN (MAXVALUE))", "INSERT INTO "+table+" SELECT n, "+made+" FROM paged.numbers",
				"ANALYZE TABLE "+table)
			s := statementsIn(t, db, "paged", table[len("paged."):], "a")
			if err := s.Verify(t.Context(), db, WalkIndex, nil); (err != nil) != (kind == "DATE" && ofMariaDB(t, db)) {
				t.Errorf("%s: the server objects to the index: %v", kind, err)
			}

			seen, pages, before := map[string]int{}, 0, rowsRead(t, db)
			for from := tables.Key(nil); ; pages++ {
				found, err := s.Page(t.Context(), db, Range{From: from}, page)
				if err != nil {
					t.Fatal(err)
				}
				for _, f := range found {
					seen[string(s.KeyOf(f.At)[0])]++
					from = f.At
				}
				if len(found) < page {
					break
				}
			}
			if len(seen) != rows || slices.Max(slices.Collect(maps.Values(seen))) != 1 {
				t.Errorf("%s: %d of %d rows are found, some perhaps twice", kind, len(seen), rows)
			}
			if n := rowsRead(t, db) - before; kind == "DATETIME" && n > 5*rows { // two looks, and a sort reads once more
				t.Errorf("%s: %d rows are read for %d in %d pages", kind, n, rows, pages)
			}
		}
	})
}

func ofMariaDB(t *testing.T, db *sql.DB) bool {
	t.Helper()
	return strings.Contains(textOf(t, db, "SELECT VERSION()"), "MariaDB")
}

func statementsOfKind(t *testing.T, db *sql.DB, schema, table string) *Statements {
	t.Helper()
	return statementsIn(t, db, schema, table, "")
}

func statementsIn(t *testing.T, db *sql.DB, schema, table, partition string) *Statements {
	t.Helper()
	f, err := tables.ReadFacts(t.Context(), db, schema, table)
	if err != nil {
		t.Fatal(err)
	}

	c, _ := f.Column("made")
	cutoff, err := NewCutoff(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), time.UTC, ddl.Span{Months: 1}, c.Kind, 6)
	if err != nil {
		t.Fatal(err)
	}

	s, err := NewStatements(&f.Layout, partition, "made", cutoff, DefaultFloor, Staying{})
	if err != nil {
		t.Fatal(err)
	}

	return s
}
