package statement

import (
	"strings"
	"testing"
)

// A temporary table hides one of the schema, and whoever may create one has all rights on it.
// Nothing that its session has set, and no way to write the name, makes it pass for the other.
func TestTemporaryTableIsNeverTheOther(t *testing.T) {
	onStage(t, func(t *theatre) {
		t.exec("CREATE TABLE y (id INT PRIMARY KEY, created DATETIME)",
			"CREATE TABLE x (id INT PRIMARY KEY, created DATETIME) TTL = created + INTERVAL 10 HOUR")
		c := t.client("shadow", "", "CREATE TEMPORARY TABLES ON $.*")
		c.run("USE "+t.schema,
			"CREATE TEMPORARY TABLE y (id INT PRIMARY KEY, created DATETIME)",
			"CREATE TEMPORARY TABLE x (id INT PRIMARY KEY, created DATETIME)")

		for _, session := range []string{
			"SET NAMES utf8mb4", "SET character_set_results = NULL", "SET character_set_results = binary",
			"SET character_set_results = filename", "SET character_set_results = utf16",
			"SET character_set_results = swe7",
			"SET NAMES swe7", "SET sql_mode = ''", "SET sql_mode = 'ANSI'", "SET sql_quote_show_create = 0",
			"SET autocommit = 0",
			"START TRANSACTION READ ONLY", "LOCK TABLES y WRITE, x WRITE", "SET sql_select_limit = 0",
		} {
			_ = c.try(session) // not every server knows each of them
			for _, statement := range []string{
				"ALTER TABLE y TTL = created + INTERVAL 1 DAY",
				"ALTER TABLE y TTL = created + INTERVAL 1 DAY, COMMENT = 'z'",
				"ALTER TABLE x REMOVE TTL",
				"ALTER TABLE x TTL_ENABLE = 'OFF'",
				"ALTER TABLE " + t.schema + ". x REMOVE TTL",
				"ALTER TABLE /*!40000 " + t.schema + " */ . x REMOVE TTL",
				"ALTER TABLE /*!40000 " + t.schema + " */ . y TTL = created + INTERVAL 1 DAY",
				"PAUSE TTL FOR x", "RESUME TTL FOR x", "RUN TTL JOB FOR x", "CANCEL TTL JOB FOR x",
				"APPROVE TTL JOB FOR x", "EXPLAIN TTL x",
			} {
				if err := c.try(statement); err == nil {
					t.Errorf("%s, %s: accepted", session, statement)
				}
			}

			if text := c.created("x"); strings.Contains(text, "TTL") {
				t.Errorf("%s: SHOW CREATE TABLE shows the policy of the table that is hidden: %s", session, text)
			}

			_ = c.try("UNLOCK TABLES")
			c.run("ROLLBACK", "SET NAMES utf8mb4", "SET autocommit = 1", "SET sql_mode = DEFAULT",
				"SET sql_select_limit = DEFAULT", "SET sql_quote_show_create = 1")
			t.wantPolicy("y", "")
			t.wantPolicy("x", hourly)
		}
	})
}

// The right to change settings is not to be had by a table that somebody has put in the place of
// the catalog's.
func TestSettingsHaveNoShadow(t *testing.T) {
	onStage(t, func(t *theatre) {
		c := t.client("settings", "", "SELECT, CREATE TEMPORARY TABLES ON *.*")
		c.run("CREATE TEMPORARY TABLE " + t.store.Name("setting") + " (name INT, value INT)")
		for _, statement := range []string{
			"SET GLOBAL ttl_brake_percent = 100", "PAUSE TTL", "RESUME TTL", "TRUST TTL SERVER",
		} {
			t.want(1227, statement, c.try(statement))
		}

		by := t.client("byhand", "", "SELECT, UPDATE ON "+t.store.Name("setting"))
		by.run("SET GLOBAL ttl_brake_percent = 60")
	})
}

// created is what SHOW CREATE TABLE shows to the session, whatever it has its letters written in.
func (c *client) created(table string) string {
	c.Helper()
	var name, text string
	if err := c.conn.QueryRowContext(c.Context(), "SHOW CREATE TABLE "+table).Scan(&name, &text); err != nil {
		c.Fatal(err)
	}
	return strings.ReplaceAll(text, "\x00", "")
}
