package statement

import (
	"strings"
	"testing"
)

// TestVirtualColumns: what each session computes for itself is no TTL column, however it becomes
// one. What was one before can be switched off.
func TestVirtualColumns(t *testing.T) {
	onStage(t, func(t *theatre) {
		const ttl = " TTL = d + INTERVAL 10 HOUR"
		table := func(name, expression, kept string) string {
			return "CREATE TABLE " + name + " (id INT PRIMARY KEY, epoch INT, made DATETIME, d DATETIME AS (" +
				expression + ") " + kept + ")"
		}
		t.fails(8148, table("t", "FROM_UNIXTIME(epoch)", "VIRTUAL")+ttl)
		t.fails(8148, table("t", "FROM_UNIXTIME(epoch)", "")+ttl)
		t.fails(1146, "SELECT 1 FROM t")
		t.exec(table("t", "'1970-01-01' + INTERVAL epoch SECOND", "VIRTUAL") + ttl)
		t.wantPolicy("t", "armed d 10 HOUR 24h")
		t.exec(table("s", "MAKEDATE(epoch, 1)", "STORED") + ttl)
		t.wantPolicy("s", "armed d 10 HOUR 24h")

		t.exec(table("u", "FROM_UNIXTIME(epoch)", "VIRTUAL"))
		t.fails(8148, "ALTER TABLE u"+ttl)
		t.wantPolicy("u", "")
		t.exec("ALTER TABLE u TTL = made + INTERVAL 10 HOUR")
		t.fails(8148, "ALTER TABLE u MODIFY made DATETIME AS (FROM_UNIXTIME(epoch)) VIRTUAL")
		t.fails(8148, "ALTER TABLE u ADD COLUMN e DATETIME AS (FROM_UNIXTIME(epoch)) VIRTUAL, TTL = e + INTERVAL 1 DAY")
		t.wantPolicy("u", "armed made 10 HOUR 24h")

		t.exec(table("w", "made + INTERVAL 1 DAY", "VIRTUAL") + ttl)
		t.fails(8148, "ALTER TABLE w MODIFY made TIMESTAMP NULL")
		t.wantPolicy("w", "armed d 10 HOUR 24h")

		if _, err := t.direct.ExecContext(t.Context(), "ALTER TABLE w MODIFY made TIMESTAMP NULL"); err != nil {
			t.Fatal(err)
		}

		t.exec("ALTER TABLE w ADD COLUMN more INT", "ALTER TABLE w TTL_ENABLE = 'OFF'")
		t.fails(8148, "ALTER TABLE w TTL_ENABLE = 'ON'")
		if text := strings.Join(rows(t.T, t.db, "EXPLAIN TTL w"), "\n"); !strings.Contains(text,
			"jobs will wait: TTL column 'd' is VIRTUAL and made of the TIMESTAMP column `made`") {
			t.Errorf("EXPLAIN TTL does not say why jobs wait:\n%s", text)
		}
	})
}
