package proxy

import (
	"fmt"
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
		t.exec("ALTER TABLE "+other+".u RENAME "+t.schema+".t", "CREATE TABLE "+other+".x"+columns, "DROP DATABASE "+other)
		t.wantPolicy("t", hourly)
		if got := in("x"); got != catalog.ErrNoPolicy.Error() {
			t.Errorf("after DROP DATABASE: %s", got)
		}

		// What a statement has done before it failed counts.
		t.exec("CREATE TABLE a"+columns, "CREATE TABLE b"+columns)
		t.fails(1051, "DROP TABLE a, nowhere, b")
		var left int
		if err := t.direct.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = ? AND TABLE_NAME IN ('a', 'b')", t.schema).Scan(&left); err != nil {
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
		t.exec("CREATE TABLE p (id INT, created DATETIME) TTL = created + INTERVAL 10 HOUR PARTITION BY RANGE (id) (PARTITION p0 VALUES LESS THAN (10), PARTITION p1 VALUES LESS THAN MAXVALUE)",
			"CREATE TABLE plain (id INT, created DATETIME) TTL = created + INTERVAL 1 DAY",
			"ALTER TABLE p EXCHANGE PARTITION p0 WITH TABLE plain", "ALTER TABLE p TRUNCATE PARTITION p0", "ALTER TABLE p DROP PARTITION p1")
		t.wantPolicy("p", hourly)
		t.wantPolicy("plain", "armed created 1 DAY 24h")

		t.exec("CREATE TABLE s (id INT PRIMARY KEY, created DATETIME) TTL = created + INTERVAL 10 HOUR SELECT 1 AS id, NOW() AS created")
		t.wantPolicy("s", hourly)
		t.fails(8200, "CREATE TABLE s2 TTL = created + INTERVAL 10 HOUR SELECT NOW() AS created")
		t.fails(8153, "ALTER TABLE s DROP PRIMARY KEY, ADD COLUMN f FLOAT NOT NULL, ADD PRIMARY KEY (f)")
		t.fails(8148, "ALTER TABLE s MODIFY created INT")
		t.exec("ALTER TABLE s MODIFY created TIMESTAMP NULL")
		t.wantPolicy("s", hourly)
	})
}
