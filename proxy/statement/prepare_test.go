package statement

import (
	"testing"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/ddl"
)

const hourlyTable = " (id INT PRIMARY KEY, created DATETIME) TTL = created + INTERVAL 10 HOUR"

// count runs a query through the proxy and counts its rows.
func (t *theatre) count(query string) (n int) {
	t.Helper()
	rows, err := t.db.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer rows.Close()

	for rows.Next() {
		n++
	}

	if err := rows.Err(); err != nil {
		t.Errorf("%s: %v", query, err)
	}

	return n
}

func TestPrepareName(t *testing.T) {
	onStage(t, func(t *theatre) {
		t.db.SetMaxOpenConns(1)
		t.exec("SET @ddl = 'CREATE TABLE v"+hourlyTable+"'", "PREPARE s FROM @ddl", "SET @ddl = NULL", "EXECUTE s")
		t.wantPolicy("v", hourly)
		t.exec("DROP TABLE v", "EXECUTE s", "DEALLOCATE PREPARE s")
		t.wantPolicy("v", hourly)
		t.fails(1243, "EXECUTE s")
		t.exec("SET @q = 'SELECT 1', @nothing = NULL", "PREPARE s FROM @q", "EXECUTE s",
			"PREPARE s FROM 'DROP TABLE v'", "EXECUTE s", "DROP PREPARE s")
		t.wantPolicy("v", "")
		t.fails(1064, "PREPARE s FROM @nothing")
		t.fails(1243, "EXECUTE s")

		// A clause that is wrong is refused now, and the name is free.
		t.exec("PREPARE s FROM 'SELECT 1'")
		t.fails(1064, "PREPARE s FROM 'CREATE TABLE w (c DATETIME) TTL = c'")
		t.fails(1243, "EXECUTE s")

		// In a character set in which a letter's second byte is a quote or a backslash.
		t.exec("SET NAMES gbk",
			ddl.Encode("SET @ddl = 'CREATE TABLE `縗` (id INT PRIMARY KEY, created DATETIME) COMMENT=''it''''s 縗'' "+
				"TTL = created + INTERVAL 10 HOUR'", "gbk"),
			"PREPARE s FROM @ddl", "EXECUTE s", "SET NAMES utf8mb4")
		t.wantPolicy("縗", hourly)
	})
}

func TestPrepareNameOfOurOwn(t *testing.T) {
	onStage(t, func(t *theatre) {
		t.db.SetMaxOpenConns(1)
		t.exec("CREATE TABLE n"+hourlyTable, "PREPARE list FROM 'SHOW TTL TABLES LIKE ''n'''")
		if got := t.count("EXECUTE list") + t.count("EXECUTE list"); got != 2 {
			t.Errorf("got %d rows in two lists, want 2", got)
		}

		t.exec("PREPARE pause FROM 'PAUSE TTL FOR n'", "EXECUTE pause")
		if p, err := t.store.Policy(t.Context(), catalog.Table{Schema: t.schema, Name: "n"}); err != nil ||
			!p.Paused.Paused {
			t.Errorf("got %+v, %v, want it paused", p.Paused, err)
		}

		t.exec("SET @text = 'SET GLOBAL ttl_history_days = ?', @days = 45", "PREPARE days FROM @text",
			"EXECUTE days USING @days", "PREPARE read_days FROM 'SELECT @@global.ttl_history_days'")
		var days int
		if err := t.db.QueryRowContext(t.Context(), "EXECUTE read_days").Scan(&days); err != nil || days != 45 {
			t.Errorf("got %d days, %v, want 45", days, err)
		}

		t.exec("PREPARE v FROM 'SHOW VARIABLES LIKE ''ttl_history_days'''",
			"SET GLOBAL ttl_history_days = DEFAULT; EXECUTE v; SELECT 1",
			"PREPARE e FROM 'EXPLAIN TTL n'", "EXECUTE e",
			"PREPARE status FROM 'SELECT * FROM mysql.tidb_ttl_table_status'")
		if t.count("EXECUTE v") != 1 || t.count("EXECUTE status") == 0 {
			t.Error("a variable or a row of TiDB's table is missing")
		}

		t.exec("DEALLOCATE PREPARE pause", "RESUME TTL FOR n")
		t.fails(1243, "EXECUTE pause")
	})
}

func TestExecuteImmediate(t *testing.T) {
	onStage(t, func(t *theatre) {
		if !t.server.MariaDB() {
			t.Skip("EXECUTE IMMEDIATE is MariaDB's own")
		}
		t.db.SetMaxOpenConns(1)
		t.exec("CREATE TABLE n"+hourlyTable, "SET @table = 'n', @q = 'SELECT 1'",
			"EXECUTE IMMEDIATE CONCAT('ALTER TABLE ', @table, ' TTL_ENABLE=''OFF''')")
		t.wantPolicy("n", "armed created 10 HOUR off 24h")
		t.exec("EXECUTE IMMEDIATE 'SHOW TTL TABLES'", "EXECUTE IMMEDIATE @q",
			"PREPARE s FROM CONCAT('ALTER TABLE ', @table, ' REMOVE TTL')", "EXECUTE s")
		t.wantPolicy("n", "")
		t.fails(1064, "EXECUTE IMMEDIATE CONCAT('ALTER TABLE ', @table, ' TTL=created')")
	})
}
