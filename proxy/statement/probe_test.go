package statement

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/proxy"
	"github.com/ttlproxy/ttlproxy/proxy/wire"
	"github.com/ttlproxy/ttlproxy/proxy/wire/wiretest"
)

// A question whose answer is not one that was expected has told nothing, whoever made it come out
// so: a client that kills its own statements from another session, or that wants its results in a
// set in which no word can be read.
func TestOnlyExpectedAnswersCount(t *testing.T) {
	t.Parallel()
	failure := func(code uint16) []byte { b, _ := wire.AppendPacket(nil, 1, errPacket(code, "no")); return b }
	shown := func(columns ...string) []byte {
		rs := wire.ResultSet{Rows: [][]any{nil}}
		for _, c := range columns {
			rs.Columns = append(rs.Columns, wire.Text("c", 100))
			rs.Rows[0] = append(rs.Rows[0], c)
		}

		b, _, err := rs.Append(nil, 1, wire.TextRows, wiretest.Capabilities, wire.OK{Status: auto})
		if err != nil {
			t.Fatal(err)
		}

		return b
	}

	for _, c := range []struct {
		name   string
		answer []byte
		want   object
		code   uint16
	}{
		{"a table", shown("t", "CREATE TABLE `t` ("), baseTable, 0},
		{"a temporary table", shown("t", "CREATE TEMPORARY TABLE `t` ("), temporary, 0},
		{"a view", shown("t", "CREATE VIEW", "utf8mb4", "utf8mb4_bin"), view, 0},
		{"a sequence", shown("t", "CREATE TABLE `t` (\n) SEQUENCE=1"), view, 0},
		{"a text that cannot be read", shown("t", "CREATE@0020TEMPORARY@0020TABLE@0020"), unseen, ddl.CodeUnknownError},
		{"no text", shown("t", ""), unseen, ddl.CodeUnknownError},
		{"no table", failure(ddl.CodeNoTable), absent, 0},
		{"no schema", failure(ddl.CodeNoDatabase), absent, 0},
		{"no right", failure(ddl.CodeTableDenied), unseen, 0},
		{"killed", failure(1317), unseen, 1317},
		{"a mistake of ours", failure(1064), unseen, 1064},
		{"out of memory", failure(1041), unseen, 1041},
		{"locked", failure(ddl.CodeLockWait), unseen, ddl.CodeLockWait},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			relay(t, func(_ context.Context, x *proxy.Exchange) error {
				q := &request{h: &Handler{}, session: &situation{schema: "s"}, x: x}
				what, err := q.resolve(ddl.Name{Table: "t"})
				refused, _ := errors.AsType[*wire.Error](err)
				if what != c.want || (refused == nil) != (c.code == 0) || refused != nil && refused.Code != c.code {
					return fmt.Errorf("got %d, %w, want %d and error %d", what, err, c.want, c.code)
				}
				return x.OK(wire.OK{})
			}, wiretest.Script{expectQuery("SHOW CREATE TABLE `s`.`t`"), wiretest.SendBytes(c.answer)})
		})
	}
}

// The same for rights: only an error that comes behind them says that they are there.
func TestOnlyExpectedErrorsGrantARight(t *testing.T) {
	t.Parallel()
	for code, granted := range map[uint16]bool{
		ddl.CodeNotPartitioned: true, ddl.CodeNoPartition: true, ddl.CodeNoTable: true, ddl.CodeTableDenied: false,
		1044: false, 1317: false, 1064: false, 1290: false,
	} {
		t.Run(fmt.Sprint(code), func(t *testing.T) {
			t.Parallel()
			drop := toDrop("t")
			relay(t, func(_ context.Context, x *proxy.Exchange) error {
				q := &request{h: &Handler{}, session: &situation{schema: "s"}, x: x}
				if err := q.needs(drop); (err == nil) != granted {
					return fmt.Errorf("got %w", err)
				}
				return x.OK(wire.OK{})
			}, wiretest.Script{expectQuery(drop.question), wiretest.Send(1, errPacket(code, "no"))})
		})
	}
}

// No question changes anything, whatever partitions and indexes a table has.
func TestQuestionsForRightsChangeNothing(t *testing.T) {
	onStage(t, func(t *theatre) {
		t.exec("CREATE TABLE p (id INT PRIMARY KEY, created DATETIME, KEY ttlproxy (created), KEY `ttlproxy 1` (id, "+
			"created)) PARTITION BY RANGE (id) "+
			"(PARTITION `ttlproxy` VALUES LESS THAN (10), PARTITION `ttlproxy 1` VALUES LESS THAN (20))",
			"ALTER TABLE p TTL = created + INTERVAL 10 HOUR", "INSERT INTO p (id) VALUES (1), (11)")
		before := t.created("p")
		c := t.client("asks", "", "DROP, INDEX, ALTER, CREATE, INSERT, SELECT ON $.*")
		for _, statement := range []string{ // which fail behind their questions
			"ALTER TABLE $.p TRUNCATE PARTITION nothing", "ALTER TABLE $.p DROP PARTITION nothing",
			"DROP INDEX nothing ON $.p",
			"CREATE INDEX ttlproxy ON $.p (id)", "RENAME TABLE $.p TO $.p", "DROP TABLE $.p, $.nothing.more",
			"ALTER TABLE $.p RENAME TO nowhere.p",
		} {
			if err := c.try(strings.ReplaceAll(statement, "$", t.schema)); err == nil {
				t.Errorf("%s: accepted", statement)
			}
		}

		var rows int
		if err := t.direct.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM p").Scan(&rows); err != nil || rows != 2 {
			t.Errorf("%d rows are left, %v", rows, err)
		}
		if after := t.created("p"); after != before {
			t.Errorf("got %s, want %s", after, before)
		}
	})
}
