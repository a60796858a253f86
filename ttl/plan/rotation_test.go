package plan

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/ddl"
)

// TestRotationAsAdvised: the servers accept the statement that divides a table, and then jobs look
// at a partition or two that are not due, whatever the interval.
func TestRotationAsAdvised(t *testing.T) {
	eachServer(t, func(t *testing.T, db *sql.DB) {
		makeNumbers(t, db, "advised", 100)
		now := time.Date(2026, 11, 22, 12, 34, 56, 0, time.UTC)
		for _, c := range []struct {
			column string
			span   ddl.Span
		}{
			{"DATETIME", ddl.Span{Micros: int64(3 * time.Hour / time.Microsecond)}},
			{"DATE", ddl.Span{Micros: int64(3 * time.Hour / time.Microsecond)}},
			{"TIMESTAMP(6)", ddl.Span{Micros: int64(30 * oneDay / time.Microsecond)}},
			{"DATETIME(6)", ddl.Span{Months: 6}},
			{"TIMESTAMP", ddl.Span{Months: 36}},
			{"TIMESTAMP", ddl.Span{Months: 12 * 300}},
			{"DATE", ddl.Span{Months: 12 * 5000}},
		} {
			mustExec(t, db, "DROP TABLE IF EXISTS advised.t", "CREATE TABLE advised.t (id INT AUTO_INCREMENT, "+
				"`m``ade` "+c.column+" NOT NULL DEFAULT '2020-01-01', PRIMARY KEY (id), KEY (`m``ade`))",
				"INSERT INTO advised.t (`m``ade`) SELECT '2026-11-22 12:00:00' - INTERVAL n * n HOUR FROM advised.numbers")
			adviseAndDivide(t, db, now, c.span, c.column)
		}
	})
}

// adviseAndDivide follows the advice for a table, and looks at what came of it.
func adviseAndDivide(t *testing.T, db *sql.DB, now time.Time, span ddl.Span, column string) {
	t.Helper()
	_, r, cutoff := advised(t, db, "t", now, span)
	if !strings.Contains(r.Note, "(`id`, `m``ade`)") {
		t.Errorf("%s: note %q", column, r.Note)
	}

	mustExec(t, db, r.Statement)
	f, again, _ := advised(t, db, "t", now, span)
	if again != nil {
		t.Errorf("%s: a table with partitions should be divided by %s", column, again.Statement)
	}
	if n := count(t, db, "SELECT COUNT(*) FROM advised.t"); n != 100 {
		t.Errorf("%s: %d rows are left of 100", column, n)
	}

	due := DuePartitions(f, "m`ade", cutoff)
	if len(due) < 1 || len(due) > 2 || len(f.Partitions) < 5 || len(f.Partitions) > mostPartitions+1 {
		t.Errorf("%s, %v: %d partitions of %d may be due", column, span, len(due), len(f.Partitions))
	}
	for _, p := range f.Partitions[len(due):] {
		late := fmt.Sprintf("SELECT COUNT(*) FROM %s WHERE `m``ade` < %s", f.Target(p.Name).Source(), cutoff.Literal())
		if n := count(t, db, late); n != 0 {
			t.Errorf("%s: %d rows that are due in %s", column, n, p.Name)
		}
	}
}

// advised is what is said of a table.
func advised(
	t *testing.T, db *sql.DB, table string, now time.Time, span ddl.Span,
) (*tables.Facts, *Rotation, Cutoff) {
	t.Helper()
	f, err := tables.ReadFacts(t.Context(), db, "advised", table)
	if err != nil {
		t.Fatal(err)
	}

	c, _ := f.Column("m`ade")
	cutoff, err := NewCutoff(now, time.FixedZone("", 3600), span, c.Kind, c.Digits)
	if err != nil {
		t.Fatal(err)
	}

	r, err := rotationOf(t.Context(), db, f, catalog.Rule{Column: "M`ade"}, cutoff)
	if err != nil {
		t.Fatal(err)
	}

	return f, r, cutoff
}

// TestTablesThatCannotRotate: what is said to stand in the way does, on both servers.
func TestTablesThatCannotRotate(t *testing.T) {
	eachServer(t, func(t *testing.T, db *sql.DB) {
		mustExec(t, db, "DROP DATABASE IF EXISTS advised", "CREATE DATABASE advised")
		mariadb := count(t, db, "SELECT VERSION() LIKE '%MariaDB%'") == 1
		all := []struct{ name, columns, want string }{
			{"free", "id INT, `m``ade` DATETIME", ""},
			{"keyed", "id INT, `m``ade` DATETIME, PRIMARY KEY (`M``ade`, id)", ""},
			{"empty_key", "id INT PRIMARY KEY, `m``ade` DATETIME", "may be NULL"},
			{"unique_key", "id INT, `m``ade` DATETIME NOT NULL, PRIMARY KEY (id, `m``ade`), UNIQUE u (id)", "`u` does not"},
			{"found_by_text", "id INT, `m``ade` DATETIME, note TEXT, FULLTEXT note (note)", "full-text"},
			{"found_by_place", "id INT, `m``ade` DATETIME, g GEOMETRY NOT NULL, SPATIAL INDEX place (g)", "spatial"},
			{"parent", "id INT, `m``ade` DATETIME, PRIMARY KEY (id, `m``ade`)", "point at"},
			{
				"child", "id INT, `m``ade` DATETIME, " +
					"CONSTRAINT up FOREIGN KEY (id, `m``ade`) REFERENCES advised.parent (id, `m``ade`)", "no foreign keys: up",
			},
		}

		for _, c := range all {
			mustExec(t, db, "CREATE TABLE advised."+c.name+" ("+c.columns+")")
		}

		for _, c := range all {
			_, r, _ := advised(t, db, c.name, time.Now(), ddl.Span{Months: 1})
			if mariadb && c.name == "found_by_text" {
				c.want = ""
			}
			if c.want == "" {
				mustExec(t, db, r.Statement)
				continue
			}

			if r.Statement != "" || !strings.Contains(r.Note, c.want) {
				t.Errorf("%s: got %q because %q, want none because %q", c.name, r.Statement, r.Note, c.want)
			}
			_, err := db.ExecContext(t.Context(), "ALTER TABLE advised."+c.name+
				" PARTITION BY RANGE COLUMNS (`m``ade`) (PARTITION p VALUES LESS THAN (MAXVALUE))")
			if err == nil {
				t.Errorf("%s: the server divides it", c.name)
			}
		}
	})
}
