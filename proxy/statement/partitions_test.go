package statement

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/ttl/plan"
)

// TestPartitionsAreShown: a table is divided by the statement that EXPLAIN TTL has ready, keeps its
// policy, and then each partition says what becomes of it, to whoever may see the table.
func TestPartitionsAreShown(t *testing.T) {
	t.Parallel()
	onBed(t, func(t *testing.T, b *adminBed, db *sql.DB) {
		run(t, db, "CREATE TABLE audit (id INT PRIMARY KEY, at DATETIME NOT NULL) "+
			"TTL = at + INTERVAL 30 DAY TTL_TIME_ZONE = 'UTC'")
		run(t, db, "INSERT INTO audit VALUES (1, '2001-01-01'), (2, UTC_TIMESTAMP())")
		if code, text := refused(t, db, "SHOW TTL PARTITIONS FOR audit"); code != ddl.CodeUnknownError ||
			!strings.Contains(text, "has no partitions") {
			t.Errorf("without partitions: got %d, %s", code, text)
		}

		var p plan.Preview
		if err := json.Unmarshal([]byte(rows(t, db, "EXPLAIN FORMAT = JSON TTL audit")[0]), &p); err != nil {
			t.Fatal(err)
		}
		run(t, db, p.Rotation.Statement)
		if got := rows(t, db, "SHOW TTL TABLES LIKE 'audit'"); len(got) != 1 || !strings.Contains(got[0], "armed") {
			t.Errorf("the divided table: got %v", got)
		}

		all := rows(t, db, "SHOW TTL PARTITIONS FOR audit")
		if len(all) < 34 || !strings.Contains(all[0], "|p_older|") || !strings.Contains(all[0], "|by rows: everything") {
			t.Errorf("got %d lines, the first %s", len(all), all[0])
		}

		idle := rows(t, db, "SHOW TTL PARTITIONS FOR audit WHERE Fate LIKE 'none%' AND Due > UTC_TIMESTAMP()")
		explained := fmt.Sprintf("partitions|%d of %d may hold", len(all)-len(idle)-1, len(all)) // p_later has no due time
		if text := strings.Join(rows(t, db, "EXPLAIN TTL audit"), "\n"); !strings.Contains(text, explained) {
			t.Errorf("there is no %s in\n%s", explained, text)
		}
		if got := rows(t, db, "SHOW TTL PARTITIONS FOR audit LIKE 'p\\_%'"); len(got) != 2 {
			t.Errorf("got %v, want p_older and p_later", got)
		}

		run(t, b.db, "CREATE TABLE "+b.schema+".other (id INT)")
		account := b.server.Account(t, "stranger", "SELECT ON "+b.schema+".other")
		stranger := b.client(t, account)
		if code, text := refused(t, stranger, "SHOW TTL PARTITIONS FOR audit"); code != ddl.CodeTableDenied {
			t.Errorf("somebody who may not see the table: got %d, %s", code, text)
		}

		run(t, b.db, "GRANT SELECT (id) ON "+b.schema+".audit TO "+account.User)
		if got := rows(t, stranger, "SHOW TTL PARTITIONS FOR audit"); len(got) != len(all) {
			t.Errorf("somebody who may see the table: got %d lines, want %d", len(got), len(all))
		}
	})
}

// TestLargeTablesAreToldHowToDivide: the statement is a line of its own where it is worth while; small
// tables have it in JSON only.
func TestLargeTablesAreToldHowToDivide(t *testing.T) {
	t.Parallel()
	for rows, want := range map[int64]int{100_000: 0, 100_001: 2} {
		p := &plan.Preview{Rows: rows, Rotation: &plan.Rotation{Statement: "ALTER TABLE …", Note: "the key becomes longer"}}
		told := 0
		for _, row := range explainList(p).Rows {
			if strings.HasPrefix(row.Values[0].(string), "partition") {
				told++
			}
		}
		if told != want {
			t.Errorf("of %d rows: %d lines, want %d", rows, told, want)
		}
	}
}
