package statement

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
)

// A name stands for what the server has behind it, whoever has prepared it, and how.
func TestNameStandsForWhatTheServerHas(t *testing.T) {
	onStage(t, func(t *theatre) {
		c := t.session(t.server.Config(t.schema))
		c.run("CREATE TABLE t"+hourlyTable, "CREATE TABLE plain (id INT PRIMARY KEY, created DATETIME)",
			"CREATE PROCEDURE redefine() BEGIN PREPARE s FROM 'DO 0'; END",
			"CREATE PROCEDURE temporary() BEGIN PREPARE s FROM 'CREATE TEMPORARY TABLE plain (id INT PRIMARY KEY, "+
				"created DATETIME)'; END",
			"CREATE PROCEDURE forget() BEGIN DEALLOCATE PREPARE s; END",
			"CREATE PROCEDURE use_it() BEGIN EXECUTE s; END")

		hidden := []string{"CALL redefine()"}
		if t.server.MariaDB() {
			hidden = append(hidden, "BEGIN NOT ATOMIC PREPARE s FROM 'DO 0'; END")
		}

		for _, form := range t.skippedForms() {
			hidden = append(hidden, form+"SELECT */ PREPARE s FROM 'DO 0'")
		}

		for _, statement := range []string{
			"ALTER TABLE t REMOVE TTL", "ALTER TABLE t TTL_ENABLE=''OFF''",
			"ALTER TABLE t TTL_ENABLE=''OFF'', ADD COLUMN x INT",
			"RENAME TABLE t TO other", "DROP TABLE t", "PAUSE TTL FOR t",
		} {
			for _, redefine := range hidden {
				c.run("PREPARE s FROM '"+statement+"'", redefine, "EXECUTE s")
			}

			c.run("PREPARE s FROM '"+statement+"'", "CALL forget()")
			c.refused(1243, "EXECUTE s")
			c.run("PREPARE s FROM '" + statement + "'")
			c.refused(1690, "CALL use_it()") // our mark: the program cannot run it, and is told so
			c.run("DEALLOCATE PREPARE s")
			c.refused(1243, "EXECUTE s")
		}

		t.wantPolicy("t", hourly)
		if p := t.policyIn(t.schema, "t"); p == nil || p.Paused.Paused {
			t.Errorf("got %+v, want no pause", p)
		}

		c.run("PREPARE s FROM 'ALTER TABLE plain TTL = created + INTERVAL 1 DAY'", "CALL temporary()", "EXECUTE s")
		t.wantPolicy("plain", "")
	})
}

// Which spellings are one name the server says.
func TestSpellingsOfOneName(t *testing.T) {
	onStage(t, func(t *theatre) {
		c := t.session(t.server.Config(t.schema))
		c.run("CREATE TABLE t"+hourlyTable, "PREPARE S FROM 'ALTER TABLE t TTL_ENABLE=''OFF'''", "EXECUTE s")
		t.wantPolicy("t", "armed created 10 HOUR off 24h")
		c.run("PREPARE `s` FROM 'ALTER TABLE t TTL_ENABLE=''ON'''", "PREPARE `ś` FROM 'DO 42'", "EXECUTE s",
			"EXECUTE `ś`")

		var one bool
		if err := c.conn.QueryRowContext(t.Context(),
			"SELECT _utf8mb4's' COLLATE utf8mb4_general_ci = _utf8mb4'ś' COLLATE utf8mb4_general_ci").Scan(&one); err != nil || !one {
			t.Fatalf("got %v, %v", one, err)
		}
		if err := c.try("DEALLOCATE PREPARE `ś`"); err != nil {
			t.Error(err)
		}

		got := c.try("EXECUTE s") // gone where it was the same name
		d := t.session(t.server.Config(t.schema))
		if err := errors.Join(direct(t, "PREPARE s FROM 'DO 1'", "PREPARE `ś` FROM 'DO 42'", "DEALLOCATE PREPARE `ś`",
			"EXECUTE s")); (err == nil) != (got == nil) {
			t.Errorf("through the proxy %v, directly %v", got, err)
		}

		d.run("PREPARE `ś` FROM 'ALTER TABLE t TTL_ENABLE=''OFF'''", "EXECUTE `ś`")
		t.wantPolicy("t", "armed created 10 HOUR off 24h")
	})
}

// direct runs statements in one session that is not through the proxy, and returns the first error.
func direct(t *theatre, statements ...string) error {
	t.Helper()
	conn, err := t.direct.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for _, s := range statements {
		if _, err := conn.ExecContext(t.Context(), s); err != nil {
			return err
		}
	}
	return nil
}

// What a client sees of a statement under a name is what the server says of the statement itself.
func TestNamedAnswersAreTheServers(t *testing.T) {
	onStage(t, func(t *theatre) {
		c := t.session(t.server.Config(t.schema))
		c.run("CREATE TABLE t"+hourlyTable, "SET @one = 1")

		for _, statement := range []string{
			"PREPARE s FROM 'ALTER TABLE t FRCE'", "PREPARE s FROM 'DROP TABLE t; DROP TABLE t'",
			"PREPARE s FROM 'CREATE TABLE x (a INT'", "EXECUTE s", "EXECUTE s USING @one", "DEALLOCATE PREPARE s",
		} {
			message := func(err error) string {
				if refused, ok := errors.AsType[*mysql.MySQLError](err); ok {
					return fmt.Sprintf("%d %s", refused.Number, strings.ReplaceAll(refused.Message, t.schema, "$"))
				}
				return fmt.Sprint(err)
			}

			want := message(direct(t, "SET @one = 1", statement))
			if got := message(c.try(statement)); got != want {
				t.Errorf("%s: got %s, want %s", statement, got, want)
			}
		}

		c.run("PREPARE s FROM 'DROP TABLE t'")
		c.refused(1210, "EXECUTE s USING @one")
		t.wantPolicy("t", hourly)
		c.run("PREPARE s FROM 'OPTIMIZE TABLE t'", "EXECUTE s", "PREPARE s FROM 'TRUNCATE TABLE t'", "EXECUTE s")
		t.wantPolicy("t", hourly)

		c.run("PREPARE s FROM 'SHOW CREATE TABLE t'")

		var name, text string
		if err := c.conn.QueryRowContext(t.Context(), "EXECUTE s").Scan(&name, &text); err != nil ||
			!strings.Contains(text, "TTL_ENABLE='ON'") {
			t.Errorf("got %s, %v", text, err)
		}

		c.run("PREPARE s FROM 'CREATE TABLE made AS SELECT ? AS a'", "EXECUTE s USING @one", "SELECT a FROM made")
		c.refused(1105,
			"PREPARE s FROM 'CREATE TABLE again (created DATETIME) TTL = created + INTERVAL 1 DAY AS SELECT ? AS a'")
		c.refused(1243, "EXECUTE s")
	})
}

// A session that prepares for ever holds no more on the server than it needs.
func TestNamesAreFreed(t *testing.T) {
	onStage(t, func(t *theatre) {
		c := t.session(t.server.Config(t.schema))
		held := func() (n int) {
			t.Helper()
			var name string
			if err := c.conn.QueryRowContext(t.Context(), "SHOW GLOBAL STATUS LIKE 'Prepared_stmt_count'").Scan(&name,
				&n); err != nil {
				t.Fatal(err)
			}
			return n
		}

		c.run("CREATE TABLE t" + hourlyTable)
		for range 200 {
			c.run("PREPARE s FROM 'ALTER TABLE t TTL_ENABLE=''ON'''",
				"PREPARE a FROM 'SHOW TTL TABLES'", "EXECUTE a", "PREPARE a FROM 'PAUSE TTL'")
		}

		c.run("DEALLOCATE PREPARE s", "DEALLOCATE PREPARE a")
		if n := held(); n > 150 { // other tests run on the same server
			t.Errorf("the server holds %d statements", n)
		}

		c.refused(1243, "EXECUTE s")
	})
}
