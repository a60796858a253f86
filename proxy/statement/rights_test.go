package statement

import (
	"database/sql"
	"strings"
	"testing"
)

func TestRights(t *testing.T) {
	onStage(t, func(t *theatre) {
		t.exec("CREATE TABLE t (id INT PRIMARY KEY, created DATETIME, other DATETIME) TTL = created + INTERVAL 10 HOUR",
			"CREATE TABLE plain (id INT PRIMARY KEY, created DATETIME)")
		as := func(name string, grants ...string) *sql.DB {
			for n := range grants {
				grants[n] = strings.ReplaceAll(grants[n], "$", t.schema)
			}

			c := t.server.Account(t.T, name, grants...)
			c.DBName = t.schema
			db := t.open(c)
			db.SetMaxOpenConns(1)

			return db
		}

		refused := func(db *sql.DB, code uint16, statement string) {
			t.Helper()
			_, err := db.ExecContext(t.Context(), statement)
			t.want(code, statement, err)
		}

		const declare = "ALTER TABLE plain TTL = created + INTERVAL 1 DAY"

		noAlter := as("noalter", "SELECT, DELETE ON $.*")
		refused(noAlter, 1142, declare)
		refused(noAlter, 1142, "ALTER TABLE t REMOVE TTL")
		refused(noAlter, 1142, "ALTER TABLE t ADD COLUMN x INT")
		refused(noAlter, 1142, "DROP TABLE t")
		refused(noAlter, 1142, "CREATE TABLE x (id INT PRIMARY KEY, created DATETIME) TTL = created + INTERVAL 1 DAY")

		noDelete := as("nodelete", "SELECT, ALTER, CREATE, INSERT ON $.*")
		refused(noDelete, 1142, declare)
		refused(noDelete, 1142, "CREATE TABLE x (id INT PRIMARY KEY, created DATETIME) TTL = created + INTERVAL 1 DAY")

		if _, err := noDelete.ExecContext(t.Context(), "CREATE TABLE copied LIKE t"); err != nil {
			t.Errorf("LIKE without the right to delete: %v", err)
		}

		t.wantPolicy("copied", "")

		noDrop := as("nodrop", "SELECT, DELETE, ALTER, CREATE, INSERT ON $.*")
		refused(noDrop, 1142, declare+" TTL_PARTITION = 'DROP'")
		refused(noDrop, 1142, "CREATE TABLE x (id INT PRIMARY KEY, created DATETIME) TTL = created + INTERVAL 1 DAY "+
			"TTL_PARTITION = 'TRUNCATE'")
		t.exec("ALTER TABLE t TTL_PARTITION = 'DROP'")
		refused(noDrop, 1142, "ALTER TABLE t TTL = created + INTERVAL 1 HOUR")
		if _, err := noDrop.ExecContext(t.Context(), "CREATE TABLE kept LIKE t"); err != nil {
			t.Errorf("LIKE without the right to drop: %v", err)
		}
		t.wantPolicy("kept", "")
		t.exec("ALTER TABLE t TTL_PARTITION = ''")

		noSelect := as("noselect", "DELETE, ALTER ON $.plain", "SELECT (id) ON $.plain")
		refused(noSelect, 1143, declare)
		t.wantPolicy("plain", "")

		onlyTemporary := as("onlytemporary", "CREATE TEMPORARY TABLES ON $.*")
		if _, err := onlyTemporary.ExecContext(t.Context(),
			"CREATE TEMPORARY TABLE plain (id INT PRIMARY KEY, created DATETIME)"); err != nil {
			t.Fatal(err)
		}

		refused(onlyTemporary, 8151, declare)
		refused(onlyTemporary, 8151, "ALTER TABLE plain TTL = created + INTERVAL 1 DAY, ADD COLUMN x INT")
		t.wantPolicy("plain", "")

		byColumn := as("bycolumn", "DELETE, ALTER ON $.plain", "SELECT (id, created) ON $.plain")
		if _, err := byColumn.ExecContext(t.Context(), declare); err != nil {
			t.Errorf("with the right on the column: %v", err)
		}

		t.wantPolicy("plain", "armed created 1 DAY 24h")
		t.wantPolicy("t", "armed created 10 HOUR 24h")
	})
}

// TestRightsOnTheColumn: a policy deletes by a column, so who may not read it, and could not delete
// by it, neither declares nor approves one; whatever else the statement does, and whatever the
// server finds wrong before it looks at the column.
func TestRightsOnTheColumn(t *testing.T) {
	onStage(t, func(t *theatre) {
		t.exec("CREATE TABLE d (id INT PRIMARY KEY, created DATETIME)", "INSERT INTO d VALUES (1, '2001-01-01')",
			"CREATE TABLE w (id INT PRIMARY KEY, created DATETIME) TTL = created + INTERVAL 1 DAY",
			"CREATE TABLE i (id INT PRIMARY KEY, time DATETIME)",
			"CREATE TRIGGER gone BEFORE DELETE ON w FOR EACH ROW INSERT INTO nowhere VALUES (1)")
		c := t.client("blind", t.schema, "ALTER, DELETE, INSERT, CREATE, TRIGGER, SELECT (id) ON $.d",
			"DELETE, INSERT, TRIGGER, SELECT (id) ON $.w", "ALTER, DELETE, INSERT, SELECT (id) ON $.i")
		c.run("USE " + t.schema)

		statements := []string{
			"APPROVE TTL JOB FOR w", "RESUME TTL FOR w", "EXPLAIN TTL w",
			"ALTER TABLE d TTL = created + INTERVAL 1 DAY",
			"ALTER TABLE d ADD COLUMN read_it DATETIME AS (created) STORED, TTL = read_it + INTERVAL 1 DAY",
		}

		if t.server.MariaDB() {
			statements = append(statements,
				"ALTER TABLE d ADD COLUMN IF NOT EXISTS created DATETIME, TTL = created + INTERVAL 1 DAY",
				// one name to the server, two to us
				"ALTER TABLE i ADD COLUMN IF NOT EXISTS tİme DATETIME, TTL = tİme + INTERVAL 1 DAY")
		}

		for _, s := range statements {
			if err := c.try(s); err == nil {
				t.Errorf("%s: went through for an account that may not read the column", s)
			}
		}

		t.wantPolicy("d", "")
	})
}
