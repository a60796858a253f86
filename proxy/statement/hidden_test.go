package statement

import (
	"database/sql"
	"slices"
	"strings"
	"testing"

	"github.com/ttlproxy/ttlproxy/catalog"
)

// Who may not see a table does not learn whether it has a policy: whatever it tries, it is told the
// same as of a table without one.
func TestPoliciesOfHiddenTablesAreNotTold(t *testing.T) {
	onStage(t, func(t *theatre) {
		own := t.server.Database(t.T)
		t.exec("CREATE TABLE veiled (id INT PRIMARY KEY, created DATETIME) TTL = created + INTERVAL 10 HOUR",
			"CREATE TABLE bare (id INT PRIMARY KEY, created DATETIME)")
		c := t.client("stranger", own, "ALL ON #.*")
		c.run("USE " + own)

		statements := []string{
			"CREATE TABLE k (id INT, FOREIGN KEY (id) REFERENCES $ (id))",
			"ALTER TABLE own ADD FOREIGN KEY (id) REFERENCES $ (id)",
			"PAUSE TTL FOR $", "CANCEL TTL JOB FOR $", "RESUME TTL FOR $", "RUN TTL JOB FOR $", "APPROVE TTL JOB FOR $",
			"EXPLAIN TTL $",
			"SHOW TTL JOBS FOR $", "SHOW CREATE TABLE $", "ALTER TABLE $ REMOVE TTL",
			"ALTER TABLE $ TTL_ENABLE = 'OFF'",
			"ALTER TABLE $ TTL = created + INTERVAL 1 DAY", "ALTER TABLE $ TTL_JOB_INTERVAL = '1h'",
			"ALTER TABLE $ COMMENT = 'x'",
			"DROP TABLE $", "DROP TABLE IF EXISTS $", "TRUNCATE TABLE $", "OPTIMIZE TABLE $",
			"CREATE INDEX i ON $ (id)", "DROP INDEX i ON $",
			"RENAME TABLE $ TO x", "RENAME TABLE own TO $", "ALTER TABLE own RENAME TO $", "CREATE TABLE x LIKE $",
			"CREATE TABLE $ LIKE own",
			"CREATE TEMPORARY TABLE x LIKE $", "CREATE TABLE $ (id INT)", "CREATE TABLE IF NOT EXISTS $ (id INT)",
			"CREATE TABLE $ (id INT PRIMARY KEY, created DATETIME) TTL = created + INTERVAL 1 DAY",
		}

		if t.server.MariaDB() {
			statements = append(statements, "CREATE OR REPLACE TABLE $ (id INT)")
		}

		for _, statement := range statements {
			told := func(table string) string {
				c.run("DROP TABLE IF EXISTS k, x, own", "CREATE TABLE own (id INT)")
				if err := c.try(strings.ReplaceAll(statement, "$", t.schema+"."+table)); err != nil {
					return strings.ReplaceAll(err.Error(), table, "$")
				}
				return "OK"
			}
			if got, want := told("veiled"), told("bare"); got != want {
				t.Errorf("%s: got %q, want %q as of a table without a policy", statement, got, want)
			}
		}
	})
}

// What is told about a table names no other one that the reader may not see: where it came from,
// what refers to it, what it was copied from.
func TestHiddenTablesAreNotNamed(t *testing.T) {
	onStage(t, func(t *theatre) {
		own, ttl := t.server.Database(t.T), "(id INT PRIMARY KEY, created DATETIME) TTL = created + INTERVAL 10 HOUR"
		t.exec("CREATE TABLE veiled "+ttl, "PAUSE TTL FOR veiled", "CREATE TABLE moved "+ttl,
			"RENAME TABLE moved TO "+own+".came", "CREATE TABLE "+own+".parent "+ttl)
		if _, err := t.direct.ExecContext(t.Context(),
			"CREATE TABLE child (id INT, FOREIGN KEY (id) REFERENCES "+own+
				".parent (id) ON DELETE CASCADE)"); err != nil {
			t.Fatal(err)
		}

		p, err := t.store.Policy(t.Context(), catalog.Table{Schema: own, Name: "parent"})
		if err != nil {
			t.Fatal(err)
		}

		if err := t.store.RecordRowError(t.Context(), catalog.RowError{
			PolicyID: p.ID, Table: p.Table, Key: `["1"]`, Number: 1451,
			Reason: "a foreign key constraint fails (`" + t.schema +
				"`.`child`, CONSTRAINT `child_ibfk_1` FOREIGN KEY (`id`) REFERENCES `" + own +
				"`.`parent` (`id`) ON DELETE CASCADE)",
		}); err != nil {
			t.Fatal(err)
		}

		stranger := t.open(t.server.Account(t.T, "stranger", "ALL ON "+own+".*",
			"SELECT, INSERT, DELETE, CREATE ON "+t.schema+"._veiled_new"))
		stranger.SetMaxOpenConns(1)
		writer := t.open(t.server.Account(t.T, "writer", "INSERT ON "+own+".*"))

		for _, query := range []string{
			"SHOW TTL EVENTS", "SHOW TTL TABLES", "SHOW TTL JOBS", "SHOW TTL STATUS", "SHOW TTL ERRORS",
			"EXPLAIN TTL " + own + ".parent", "EXPLAIN FORMAT=JSON TTL " + own + ".parent",
		} {
			told := strings.Join(rows(t.T, stranger, query), "\n")
			for _, hidden := range []string{t.schema + "`", "moved", "child", "veiled"} {
				if strings.Contains(told, hidden) {
					t.Errorf("%s tells of %s:\n%s", query, hidden, told)
				}
			}

			if shown := strings.Join(rows(t.T, t.db, query), "\n"); query != "SHOW TTL STATUS" &&
				!strings.Contains(shown, own) {
				t.Errorf("%s shows nothing to those who may see it: %s", query, shown)
			}
		}

		if told := rows(t.T, stranger, "SHOW TTL ERRORS"); len(told) != 1 ||
			!strings.Contains(told[0], "(another table") {
			t.Errorf("row errors of who may read the rows: got %q", told)
		}
		if told := rows(t.T, writer, "SHOW TTL ERRORS"); len(told) != 1 ||
			!strings.Contains(told[0], "NULL|1451|NULL") {
			t.Errorf("row errors of who may not: got %q, want neither key nor reason", told)
		}

		run(t.T, stranger, "CREATE TABLE "+t.schema+"._veiled_new "+ttl)
		if told := strings.Join(rows(t.T, stranger, "SHOW WARNINGS"), "\n"); strings.Contains(told, "`veiled`") ||
			!strings.Contains(told, "dormant") {
			t.Errorf("the copy of a hidden table: got %q", told)
		}
	})
}

// What MariaDB lists since 11.2 of a session's own temporary tables and sequences is no sign of a
// right to see the table that they hide. The rows are those of its documentation: neither server
// that is at hand here lists any.
func TestTemporaryTablesShowNoOther(t *testing.T) {
	t.Parallel()
	onBed(t, func(t *testing.T, _ *adminBed, db *sql.DB) {
		run(t, db, "CREATE TABLE listed (TABLE_NAME VARCHAR(64), TABLE_TYPE VARCHAR(64))")
		run(t, db,
			"INSERT INTO listed VALUES ('a', 'BASE TABLE'), ('b', 'SYSTEM VERSIONED'), ('c', 'VIEW'), ('d', "+
				"'SEQUENCE'), ('hidden', 'TEMPORARY'),"+
				" ('hidden', 'TEMPORARY SEQUENCE')")
		for _, mode := range []string{"''", "'ANSI,NO_BACKSLASH_ESCAPES,HIGH_NOT_PRECEDENCE'"} {
			run(t, db, "SET sql_mode = "+mode)
			if got := rows(t, db, "SELECT TABLE_NAME FROM listed WHERE "+kept+
				" ORDER BY TABLE_NAME"); !slices.Equal(got, []string{"a", "b", "c", "d"}) {
				t.Errorf("with sql_mode %s: got %q", mode, got)
			}
		}
	})
}
