package statement

import (
	"fmt"
	"slices"
	"testing"

	"github.com/ttlproxy/ttlproxy/catalog"
)

func TestWhatElseFollows(t *testing.T) {
	onStage(t, func(t *theatre) {
		const columns = " (id INT PRIMARY KEY, created DATETIME) TTL = created + INTERVAL 10 HOUR"
		other := t.server.Database(t)
		in := func(table string) string {
			_, err := t.store.Policy(t.Context(), catalog.Table{Schema: other, Name: table})
			return fmt.Sprint(err)
		}

		t.exec("CREATE TABLE t"+columns, "RENAME TABLE t TO "+other+".u")

		if got := in("u"); got != "<nil>" {
			t.Errorf("after a RENAME across schemas: %s", got)
		}

		t.exec("ALTER TABLE "+other+".u RENAME "+t.schema+".t", "CREATE TABLE "+other+".x"+columns,
			"DROP DATABASE "+other)
		t.wantPolicy("t", hourly)
		if got := in("x"); got != catalog.ErrNoPolicy.Error() {
			t.Errorf("after DROP DATABASE: %s", got)
		}

		// What a statement has done before it failed counts.
		t.exec("CREATE TABLE a"+columns, "CREATE TABLE b"+columns)
		t.fails(1051, "DROP TABLE a, nowhere, b")
		var left int
		if err := t.direct.QueryRowContext(t.Context(),
			"SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = ? AND TABLE_NAME IN ('a', 'b')",
			t.schema).Scan(&left); err != nil {
			t.Fatal(err)
		}

		policies := 0
		for _, name := range []string{"a", "b"} {
			if t.policy(name) != "" {
				policies++
			}
		}

		if policies != left {
			t.Errorf("%d tables are left, and %d policies", left, policies)
		}

		t.exec("DROP TABLE IF EXISTS a, b")

		// A partition trades places with a table: the policies stay with the names.
		t.exec("CREATE TABLE p (id INT, created DATETIME) TTL = created + INTERVAL 10 HOUR PARTITION BY RANGE (id) "+
			"(PARTITION p0 VALUES LESS THAN (10), PARTITION p1 VALUES LESS THAN MAXVALUE)",
			"CREATE TABLE plain (id INT, created DATETIME) TTL = created + INTERVAL 1 DAY",
			"ALTER TABLE p EXCHANGE PARTITION p0 WITH TABLE plain", "ALTER TABLE p TRUNCATE PARTITION p0",
			"ALTER TABLE p DROP PARTITION p1")
		t.wantPolicy("p", hourly)
		t.wantPolicy("plain", "armed created 1 DAY 24h")

		t.exec("CREATE TABLE s (id INT PRIMARY KEY, created DATETIME) TTL = created + INTERVAL 10 HOUR SELECT 1 AS " +
			"id, NOW() AS created")
		t.wantPolicy("s", hourly)
		t.fails(8200, "CREATE TABLE s2 TTL = created + INTERVAL 10 HOUR SELECT NOW() AS created")
		t.fails(8153, "ALTER TABLE s DROP PRIMARY KEY, ADD COLUMN f FLOAT NOT NULL, ADD PRIMARY KEY (f)")
		t.fails(8148, "ALTER TABLE s MODIFY created INT")
		t.exec("ALTER TABLE s MODIFY created TIMESTAMP NULL")
		t.wantPolicy("s", hourly)

		// Two columns trade names in one statement: the policy goes with its column.
		t.exec("CREATE TABLE two (id INT, other INT, created DATETIME, updated DATETIME, PRIMARY KEY (id)) TTL = "+
			"created + INTERVAL 10 HOUR",
			"ALTER TABLE two CHANGE created updated DATETIME, CHANGE updated created DATETIME, CHANGE id other INT "+
				"NOT NULL, CHANGE other id INT")
		t.wantPolicy("two", "armed updated 10 HOUR 24h")
		t.exec("ALTER TABLE two RENAME COLUMN updated TO created, RENAME COLUMN created TO updated")
		t.wantPolicy("two", hourly)
	})
}

// TestRenames sends RENAME TABLE and ALTER … RENAME in the forms in which policies can be mixed up.
func TestRenames(t *testing.T) {
	onStage(t, func(t *theatre) {
		const daily = "armed created 1 DAY 24h"
		t.exec("CREATE TABLE a (id INT PRIMARY KEY, created DATETIME) TTL = created + INTERVAL 10 HOUR",
			"CREATE TABLE b (id INT PRIMARY KEY, created DATETIME) TTL = created + INTERVAL 1 DAY",
			"CREATE TABLE plain (id INT PRIMARY KEY, created DATETIME)")
		t.exec("RENAME TABLE a TO x, b TO a, x TO b")
		t.wantPolicy("a", daily)
		t.wantPolicy("b", hourly)
		t.exec("RENAME TABLE a TO x, plain TO a")
		t.wantPolicy("x", daily)
		t.wantPolicy("a", "")
		t.exec("ALTER TABLE x RENAME TO y", "ALTER TABLE y RENAME AS z, ADD COLUMN n INT, TTL_JOB_INTERVAL='1h'",
			"ALTER TABLE z RENAME = x, RENAME COLUMN created TO made")
		t.wantPolicy("x", "armed made 1 DAY 1h")

		// A pair that cannot be done undoes those before it, and nothing has changed.
		t.fails(1146, "RENAME TABLE b TO c, nowhere TO d")
		t.wantPolicy("b", hourly)
		t.wantPolicy("c", "")
		t.fails(1050, "RENAME TABLE b TO c, x TO a")
		t.wantPolicy("b", hourly)
		t.wantPolicy("x", "armed made 1 DAY 1h")
		t.fails(1050, "ALTER TABLE b RENAME TO a")
		t.wantPolicy("b", hourly)

		// A table that takes the name of one that was dropped elsewhere leaves its policy behind.
		if _, err := t.direct.ExecContext(t.Context(), "DROP TABLE b"); err != nil {
			t.Fatal(err)
		}

		t.exec("RENAME TABLE x TO b")
		t.wantPolicy("b", "armed made 1 DAY 1h")
		t.wantPolicy("x", "")
	})
}

// TestStatementsThatKeepThePolicy runs what rebuilds or empties a table, fails half way, or only
// looks like it.
func TestStatementsThatKeepThePolicy(t *testing.T) {
	onStage(t, func(t *theatre) {
		t.exec("CREATE TABLE t (id INT PRIMARY KEY, created DATETIME, n INT) TTL = created + INTERVAL 10 HOUR",
			"CREATE VIEW v AS SELECT * FROM t")
		for _, statement := range []string{
			"TRUNCATE t", "TRUNCATE TABLE t", "OPTIMIZE TABLE t", "OPTIMIZE LOCAL TABLE t", "REPAIR TABLE t",
			"CREATE INDEX i ON t (n)", "DROP INDEX i ON t", "CREATE UNIQUE INDEX u ON t (n)",
			"ALTER TABLE t DROP INDEX u", "ALTER TABLE t ENGINE=InnoDB", "ALTER TABLE t FORCE",
			"ALTER TABLE t COMMENT='TTL = n + INTERVAL 1 DAY'", "ALTER TABLE t MODIFY created DATETIME(3)",
			"ALTER TABLE t CHANGE created created DATETIME", "ALTER TABLE t ALTER COLUMN created SET DEFAULT NULL",
			"ALTER TABLE t CONVERT TO CHARACTER SET utf8mb4", "ALTER TABLE t ORDER BY id",
			"ALTER TABLE t DROP COLUMN n, ADD COLUMN n INT FIRST", "ANALYZE TABLE t", "CHECK TABLE t", "ALTER TABLE t",
			"DROP VIEW v", "CREATE OR REPLACE VIEW v AS SELECT 1 AS t", "ALTER VIEW v AS SELECT 2 AS t",
			"RENAME TABLE v TO w", "DROP VIEW IF EXISTS t_nowhere, w",
			"CREATE TABLE IF NOT EXISTS t (id INT) TTL = id + INTERVAL 1 DAY", "DROP TEMPORARY TABLE IF EXISTS t",
			"DROP TABLE IF EXISTS nowhere",
		} {
			if _, err := t.db.ExecContext(t.Context(), statement); err != nil {
				t.Errorf("%s: %v", statement, err)
			}
			if got := t.policy("t"); got != hourly {
				t.Errorf("after %s: got policy %q", statement, got)
			}
		}

		for statement, code := range map[string]uint16{
			"CREATE INDEX i ON t (nowhere)": 1072, "ALTER TABLE t ADD COLUMN n INT": 1060,
			"DROP INDEX nowhere ON t": 1091, "ALTER TABLE t DROP PRIMARY KEY, ADD PRIMARY KEY (nowhere)": 1072,
			"CREATE TABLE t (id INT PRIMARY KEY, created DATETIME) TTL = created + INTERVAL 1 DAY": 1050,
			"TRUNCATE v": 1146,
		} {
			t.fails(code, statement)
			if got := t.policy("t"); got != hourly {
				t.Errorf("after %s: got policy %q", statement, got)
			}
		}
	})
}

// TestCopiesAreFollowed: a statement that says no more than by which algorithm may write the table anew, under another
// id.
func TestCopiesAreFollowed(t *testing.T) {
	onStage(t, func(t *theatre) {
		t.exec("CREATE TABLE t (id INT PRIMARY KEY, created DATETIME) TTL = created + INTERVAL 10 HOUR")
		table := catalog.Table{Schema: t.schema, Name: "t"}
		for _, change := range []string{
			"ALGORITHM=COPY", "ALGORITHM copy, LOCK=SHARED", "ALGORITHM=`COPY`", "ENABLE KEYS, ALGORITHM = COPY",
			"ALGORITHM=INPLACE", "ALGORITHM=DEFAULT, LOCK=EXCLUSIVE", "ENABLE KEYS",
		} {
			t.exec("ALTER TABLE t " + change)
			p, err := t.store.Policy(t.Context(), table)
			if err != nil {
				t.Fatal(err)
			}
			known, err := t.store.Identities(t.Context(), p.ID)
			if err != nil {
				t.Fatal(err)
			}
			seen, err := t.store.Look(t.Context(), table)
			if err != nil {
				t.Fatal(err)
			}
			if was, is := known.Table().TableID, seen.Incarnation.Table().TableID; was != is || is == 0 {
				t.Errorf("after %s: the policy is that of id %d, the table has id %d", change, was, is)
			}
		}
	})
}

// Whoever brings in rows is told that they wait, by a warning beside the OK, for each table that got some.
func TestWhoeverBringsInRowsIsTold(t *testing.T) {
	onStage(t, func(t *theatre) {
		t.db.SetMaxOpenConns(1)
		const columns = " (id INT, created DATETIME)"
		t.exec("CREATE TABLE p (id INT, created DATETIME) TTL = created + INTERVAL 10 HOUR PARTITION BY RANGE (id) "+
			"(PARTITION p0 VALUES LESS THAN (10), PARTITION p1 VALUES LESS THAN (20))",
			"CREATE TABLE plain"+columns+" TTL = created + INTERVAL 1 DAY", "CREATE TABLE none"+columns)
		warns := func(statement string, want ...string) {
			t.Helper()
			t.exec(statement)
			got := rows(t.T, t.db, "SHOW WARNINGS")
			for n, w := range want {
				want[n] = "Warning|1105|the TTL of " + fmt.Sprintf(w, t.schema)
			}
			slices.Sort(got)
			if !slices.Equal(got, want) {
				t.Errorf("%s: got warnings %q, want %q", statement, got, want)
			}
		}

		const waits = "`%s`.`p` waits for APPROVE TTL JOB: rows were brought in by "
		warns("ALTER TABLE p EXCHANGE PARTITION p0 WITH TABLE none", waits+"EXCHANGE PARTITION")
		warns("ALTER TABLE p EXCHANGE PARTITION p1 WITH TABLE plain", waits+"EXCHANGE PARTITION",
			"`%s`.`plain` waits for APPROVE TTL JOB: rows were brought in by EXCHANGE PARTITION")
		warns("ALTER TABLE p TRUNCATE PARTITION p0")
		if t.server.MariaDB() {
			warns("ALTER TABLE p CONVERT TABLE none TO PARTITION p2 VALUES LESS THAN (30)",
				waits+"CONVERT TABLE TO PARTITION")
		}
	})
}
