package statement

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
)

// A statement that has nothing to do with us brings no question of ours to its session, where
// profiles, FOUND_ROWS() and the like would show it.
func TestNothingIsAskedInVain(t *testing.T) {
	onStage(t, func(t *theatre) {
		t.exec("CREATE TABLE kept (id INT PRIMARY KEY, made DATETIME) TTL = made + INTERVAL 1 DAY")
		c, err := t.db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()

		asked := func() int {
			var name, value string
			if err := c.QueryRowContext(t.Context(), "SHOW SESSION STATUS LIKE 'Questions'").Scan(&name,
				&value); err != nil {
				t.Fatal(err)
			}

			n, err := strconv.Atoi(value)
			if err != nil {
				t.Fatal(err)
			}

			return n
		}

		for _, q := range []string{
			"CREATE TABLE plain (id INT PRIMARY KEY, ttl INT)",
			"ALTER TABLE plain ADD s VARCHAR(10) COMMENT 'TTL = a + INTERVAL 1 DAY'",
			"SHOW CREATE TABLE plain", "SHOW TABLES", "DESC plain", "EXPLAIN SELECT * FROM plain", "SHOW WARNINGS",
			"SELECT 'ttl_', 1 AS `tidb_ttl_`",
			"SHOW VARIABLES LIKE 'max_allowed_packet'", "SHOW SESSION VARIABLES WHERE Variable_name = 'tx_isolation'",
			"SHOW STATUS LIKE 'Threads%'",
			"CREATE INDEX k ON plain (s)", "OPTIMIZE TABLE plain", "TRUNCATE TABLE plain",
			"RENAME TABLE plain TO plainer", "DROP TABLE plainer",
			"CREATE TEMPORARY TABLE kept (id INT)", "DROP TEMPORARY TABLE kept",
			"SET NAMES utf8mb4", "PREPARE p FROM 'SELECT 1'", "EXECUTE p", "DEALLOCATE PREPARE p",
		} {
			before := asked()
			if _, err := c.ExecContext(t.Context(), q); err != nil {
				t.Fatalf("%s: %v", q, err)
			}
			if n := asked() - before - 1; n != 1 {
				t.Errorf("%s: the server was asked %d times, want once", q, n)
			}
		}
	})
}

// A text with comments for very many versions costs no more than one with a few: whoever may log in
// may send it.
func TestReadingsAreBounded(t *testing.T) {
	t.Parallel()
	text := strings.Builder{}
	text.WriteString(`ALTER TABLE t TTL = "é" \ `)
	for version := range 90_000 {
		fmt.Fprintf(&text, "/*!%05d", 10_000+version)
	}
	if got := len(readings(text.String(), true)); got <= manyReadings || got > 2*manyReadings {
		t.Errorf("got %d readings, want few more than %d", got, manyReadings)
	}
}
