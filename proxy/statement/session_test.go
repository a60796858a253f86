package statement

import (
	"strings"
	"testing"

	"github.com/ttlproxy/ttlproxy/ddl"
)

// What a session has set for its own statements and results must not change what its TTL statements
// mean.

func TestResultsInEveryCharacterSet(t *testing.T) {
	onStage(t, func(t *theatre) {
		t.db.SetMaxOpenConns(1)
		const name = "表数"
		for _, charset := range []string{"utf16", "utf16le", "ucs2", "utf32", "latin1", "gbk", "NULL", "binary"} {
			t.exec("SET character_set_results = "+charset,
				"CREATE TABLE "+name+" (id INT PRIMARY KEY, created DATETIME) TTL = created + INTERVAL 10 HOUR")
			t.wantPolicy(name, hourly)
			if charset != "latin1" { // which has no letters for the name
				if got := ddl.Decode(t.created(name), charset); !strings.HasPrefix(got, "CREATE TABLE `"+name+"`") ||
					!strings.Contains(got, "TTL=`created`") {
					t.Errorf("%s: got %s", charset, got)
				}
			}

			t.exec("SET sql_mode = 'ANSI_QUOTES'", `ALTER TABLE "`+name+`" TTL = "created" + INTERVAL 5 DAY`,
				"SET sql_mode = DEFAULT")
			t.wantPolicy(name, "armed created 5 DAY 24h")
			t.exec("CREATE TEMPORARY TABLE "+name+" (id INT)", "DROP TABLE "+name)
			t.wantPolicy(name, "armed created 5 DAY 24h")
			t.exec("SET @text = 'ALTER TABLE "+name+" TTL_ENABLE=''OFF'''", "PREPARE s FROM @text", "EXECUTE s")
			t.wantPolicy(name, "armed created 5 DAY off 24h")
			t.exec("PAUSE TTL FOR "+name, "SET GLOBAL ttl_delete_batch_size = 100 + 1", "DROP TABLE "+name)
			t.wantPolicy(name, "")
		}
	})
}

// A schema whose name the character set of the results lacks is still the current one.
func TestSchemaThatResultsCannotSpell(t *testing.T) {
	onStage(t, func(t *theatre) {
		t.db.SetMaxOpenConns(1)
		home := t.schema
		t.schema += "数"
		t.exec("CREATE DATABASE " + t.schema)
		t.Cleanup(func() { t.direct.Exec("DROP DATABASE " + t.schema) })
		t.exec("USE "+t.schema, "SET character_set_results = latin1",
			"CREATE TABLE t (id INT PRIMARY KEY, created DATETIME) TTL = created + INTERVAL 10 HOUR")
		t.wantPolicy("t", hourly)
		t.exec("DROP TABLE t", "USE "+home)
		t.wantPolicy("t", "")
	})
}

// A text that some modes read otherwise is read in the session's own, whatever they are together.
func TestEveryModeTogether(t *testing.T) {
	onStage(t, func(t *theatre) {
		t.db.SetMaxOpenConns(1)
		for mode, text := range map[string]string{
			"ANSI_QUOTES":                      `CREATE TABLE "t" (id INT PRIMARY KEY, created DATETIME) COMMENT 'it\'s' TTL = created + INTERVAL 10 HOUR`,
			"NO_BACKSLASH_ESCAPES":             `CREATE TABLE t (id INT PRIMARY KEY, created DATETIME COMMENT "x'y") COMMENT 'c:\' TTL = created + INTERVAL 10 HOUR`,
			"ANSI_QUOTES,NO_BACKSLASH_ESCAPES": `CREATE TABLE "t" (id INT PRIMARY KEY, created DATETIME) COMMENT 'c:\' TTL = created + INTERVAL 10 HOUR`,
		} {
			t.exec("SET sql_mode = '"+mode+"'", text)
			t.wantPolicy("t", hourly)
			t.exec("DROP TABLE t")
		}

		// In this set one name ends in the byte of a back quote, and the other in a byte that
		// another set takes for the first half of a letter.
		t.exec("SET NAMES sjis, sql_mode = DEFAULT",
			"CREATE TABLE `\xB1` (id INT PRIMARY KEY, `\x83\x60` DATETIME) TTL = `\x83\x60` + INTERVAL 10 HOUR")
		t.wantPolicy(ddl.Decode("\xB1", "sjis"), "armed "+ddl.Decode("\x83\x60", "sjis")+" 10 HOUR 24h")
	})
}

// Neither a limit on the client's own SELECTs nor the refusal of DELETEs without a key is about us.
func TestLimitsOnTheClientsOwnStatements(t *testing.T) {
	onStage(t, func(t *theatre) {
		t.db.SetMaxOpenConns(1)
		t.exec("SET sql_safe_updates = 1, sql_select_limit = 0",
			"CREATE TABLE t (id INT PRIMARY KEY, created DATETIME) TTL = created + INTERVAL 10 HOUR",
			"ALTER TABLE t TTL_JOB_INTERVAL = '1h'", "PAUSE TTL FOR t UNTIL '2100-01-01'", "RESUME TTL FOR t",
			"APPROVE TTL JOB FOR t", "EXPLAIN TTL t",
			"SET GLOBAL ttl_delete_batch_size = 101", "SET @text = 'ALTER TABLE t TTL_ENABLE=''OFF'''",
			"PREPARE s FROM @text", "EXECUTE s")
		t.wantPolicy("t", "armed created 10 HOUR off 1h")
	})
}

// The semicolons of a stored program end no statement, whatever stands in front of it.
func TestProgramsStayWhole(t *testing.T) {
	onStage(t, func(t *theatre) {
		t.db.SetMaxOpenConns(1)
		t.exec("CREATE TABLE t (id INT PRIMARY KEY, created DATETIME) TTL = created + INTERVAL 10 HOUR",
			"CREATE DEFINER=CURRENT_USER() PROCEDURE p() BEGIN SELECT 1; TRUNCATE TABLE t; SELECT 2; END",
			"ALTER PROCEDURE p COMMENT 'x'; ALTER TABLE t TTL_JOB_INTERVAL = '1h'")
		t.wantPolicy("t", "armed created 10 HOUR 1h")
		t.exec("CALL p()")
		if t.store.Server().MariaDB {
			t.exec("SET sql_mode = ORACLE", "BEGIN SELECT 1; TRUNCATE TABLE t; SELECT 2; END",
				"DECLARE a INT; b INT; BEGIN SELECT 1; TRUNCATE TABLE t; END", "SET sql_mode = DEFAULT")
		}
	})
}

// To see whether a text that is computed concerns us it is computed once more than the client asks
// for. So that must change nothing.
func TestTextIsComputedWithoutEffect(t *testing.T) {
	onStage(t, func(t *theatre) {
		if !t.store.Server().MariaDB {
			t.Skip("MySQL takes texts and variables only")
		}

		t.db.SetMaxOpenConns(1)
		t.exec("CREATE TABLE log (id INT AUTO_INCREMENT PRIMARY KEY)", "CREATE SEQUENCE s",
			"CREATE FUNCTION f() RETURNS VARCHAR(50) DETERMINISTIC MODIFIES SQL DATA BEGIN INSERT INTO log VALUES "+
				"(); RETURN 'DO 1'; END")

		for _, text := range []string{
			"EXECUTE IMMEDIATE f()", "PREPARE p FROM f()", "EXECUTE IMMEDIATE CONCAT('DO ', NEXTVAL(s))",
			"EXECUTE IMMEDIATE CONCAT('DO ', (SELECT NEXT VALUE FOR s))", "EXECUTE IMMEDIATE `f`()",
		} {
			t.fails(1970, text) // the server allows none of them
		}

		t.exec("EXECUTE IMMEDIATE CONCAT('SET @a = ', @b := COALESCE(@b, 0) + 1)")
		var rows, next, evaluated int
		err := t.db.QueryRowContext(t.Context(), "SELECT (SELECT COUNT(*) FROM log), NEXTVAL(s), @b").
			Scan(&rows, &next, &evaluated)
		if err != nil || rows != 0 || next != 1 || evaluated != 1 {
			t.Errorf("got %d rows, next value %d, evaluated %d times, %v; want none, 1 and once",
				rows, next, evaluated, err)
		}

		t.exec("SET @name = 't'",
			"EXECUTE IMMEDIATE CONCAT('CREATE TABLE ', LOWER(@name), ' (id INT PRIMARY KEY, created DATETIME) TTL = "+
				"created + INTERVAL 10 HOUR')")
		t.wantPolicy("t", hourly)
	})
}

// A long script in one packet is read to its end.
func TestLongScript(t *testing.T) {
	onStage(t, func(t *theatre) {
		t.exec("CREATE TABLE t (id INT PRIMARY KEY, created DATETIME) TTL = created + INTERVAL 10 HOUR")
		seed := "DO '" + strings.Repeat("x", 128<<10) + "'"
		t.exec("DO 1; "+seed+"; ALTER TABLE t TTL_JOB_INTERVAL = '1h'; "+seed, seed)
		t.wantPolicy("t", "armed created 10 HOUR 1h")
	})
}

// A client that wants bytes and no characters gets everything all the same.
func TestNamesBinary(t *testing.T) {
	onStage(t, func(t *theatre) {
		t.db.SetMaxOpenConns(1)
		t.exec("SET NAMES binary",
			"CREATE TABLE `表` (id INT PRIMARY KEY, created DATETIME) TTL = created + INTERVAL 10 HOUR",
			"SHOW TTL TABLES", "EXPLAIN TTL `表`", "SHOW VARIABLES LIKE 'ttl_%'",
			"SELECT table_id FROM mysql.tidb_ttl_table_status")
		t.wantPolicy("表", hourly)
		if got := t.created("`表`"); !strings.Contains(got, "TTL=`created`") {
			t.Errorf("got %s", got)
		}
	})
}
