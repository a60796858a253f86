package proxy

import (
	"strings"
	"testing"
)

// Who may not see a table does not learn whether it has a policy: whatever it tries, it is told the same as of a table without one.
func TestPoliciesOfHiddenTablesAreNotTold(t *testing.T) {
	onStage(t, func(t *theatre) {
		own := t.server.Database(t.T)
		t.exec("CREATE TABLE veiled (id INT PRIMARY KEY, created DATETIME) TTL = created + INTERVAL 10 HOUR",
			"CREATE TABLE bare (id INT PRIMARY KEY, created DATETIME)")
		c := t.client("stranger", own, "ALL ON #.*")
		c.run("USE " + own)

		statements := []string{
			"CREATE TABLE k (id INT, FOREIGN KEY (id) REFERENCES $ (id))", "ALTER TABLE own ADD FOREIGN KEY (id) REFERENCES $ (id)",
			"PAUSE TTL FOR $", "CANCEL TTL JOB FOR $", "RESUME TTL FOR $", "RUN TTL JOB FOR $", "APPROVE TTL JOB FOR $", "EXPLAIN TTL $",
			"SHOW TTL JOBS FOR $", "SHOW CREATE TABLE $", "ALTER TABLE $ REMOVE TTL", "ALTER TABLE $ TTL_ENABLE = 'OFF'",
			"ALTER TABLE $ TTL = created + INTERVAL 1 DAY", "ALTER TABLE $ TTL_JOB_INTERVAL = '1h'", "ALTER TABLE $ COMMENT = 'x'",
			"DROP TABLE $", "DROP TABLE IF EXISTS $", "TRUNCATE TABLE $", "OPTIMIZE TABLE $", "CREATE INDEX i ON $ (id)", "DROP INDEX i ON $",
			"RENAME TABLE $ TO x", "RENAME TABLE own TO $", "ALTER TABLE own RENAME TO $", "CREATE TABLE x LIKE $", "CREATE TABLE $ LIKE own",
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
