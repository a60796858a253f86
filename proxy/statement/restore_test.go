package statement

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/ddl"
)

// visits makes a table with a policy, of whose partitions p1 has become a table, as the engine does it.
func (t *theatre) visits() catalog.Policy {
	t.Helper()
	t.exec("DROP TABLE IF EXISTS visit, side",
		"CREATE TABLE visit (id INT NOT NULL, at DATETIME NOT NULL, PRIMARY KEY (id, at)) TTL = at + INTERVAL 1 DAY "+
			"TTL_TIME_ZONE = 'UTC' TTL_PARTITION = 'EXCHANGE' PARTITION BY RANGE COLUMNS (at) ("+
			"PARTITION p0 VALUES LESS THAN ('2001-01-01'), PARTITION P1 VALUES LESS THAN ('2002-01-01'), "+
			"PARTITION p2 VALUES LESS THAN ('2003-01-01') COMMENT = 'it''s the third', "+
			"PARTITION later VALUES LESS THAN (MAXVALUE))",
		"INSERT INTO visit VALUES (1, '2000-06-01'), (2, '2001-06-01'), (3, '2001-07-01'), (4, '2002-06-01')")
	p, err := t.store.Policy(t.Context(), catalog.Table{Schema: t.schema, Name: "visit"})
	if err == nil {
		_, err = t.store.Consent(t.Context(), "test", p.ID, p.Version, catalog.Consent{})
	}
	if err != nil {
		t.Fatal(err)
	}

	t.depart(p)
	return p
}

// depart does with P1 what the engine does.
func (t *theatre) depart(p catalog.Policy) {
	t.Helper()
	away := []string{"ALTER TABLE visit CONVERT PARTITION P1 TO TABLE side"}
	if !t.server.MariaDB() {
		away = []string{
			"CREATE TABLE side LIKE visit", "ALTER TABLE side REMOVE PARTITIONING",
			"ALTER TABLE visit EXCHANGE PARTITION P1 WITH TABLE side", "ALTER TABLE visit DROP PARTITION P1",
		}
	}
	created, id := t.store.AfterDeparture(p.Table, "P1")
	side := catalog.Table{Schema: t.schema, Name: "side"}
	t.directly(append(away, fmt.Sprintf("REPLACE INTO %s (policy_id, partition_name, bound, how, job_id, task_id, fence, "+
		"server, due, state, state_at, reason, create_time, table_id, side_schema, side_name, side_id, grace) "+
		"SELECT %d, 'P1', '\\'2002-01-01\\'', 'EXCHANGE', 7, 7, 1, %s, 2, 'taken', UTC_TIMESTAMP(6), '', %s, %s, '%s', "+
		"'side', %s, 3600", t.store.Name("departure"), p.ID, tables.Literal(t.store.Server().Key()), created, id,
		side.Schema, t.store.InnoDBID(side)))...)
	if err := t.store.SettleDepartures(t.Context(), p.ID); err != nil {
		t.Fatal(err)
	}
}

// directly runs statements without the proxy.
func (t *theatre) directly(statements ...string) {
	t.Helper()
	for _, s := range statements {
		if _, err := t.direct.ExecContext(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// visited are the rows of visit, its partitions, and the state of the departure.
func (t *theatre) visited() string {
	t.Helper()
	return t.text("SELECT CONCAT_WS(' ', (SELECT GROUP_CONCAT(id ORDER BY id) FROM visit), 'in', " +
		"GROUP_CONCAT(partition_name ORDER BY partition_ordinal_position), (SELECT MAX(state) FROM " +
		t.store.Name("departure") + "), IF((SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = '" +
		t.schema + "' AND table_name = 'side'), 'side', 'no side')) FROM information_schema.partitions " +
		"WHERE table_schema = '" + t.schema + "' AND table_name = 'visit'")
}

func (t *theatre) wantVisited(want string) {
	t.Helper()
	if got := t.visited(); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// asks reports whether the policy of visit waits for an approval, and why.
func (t *theatre) asks() string {
	t.Helper()
	p, err := t.store.Policy(t.Context(), catalog.Table{Schema: t.schema, Name: "visit"})
	if err != nil || p.State != catalog.PolicyArmed {
		t.Errorf("the policy is %s, %v", p.State, err)
	}
	if p.Approval.Required == p.Approved() {
		t.Errorf("the policy is approved: %v, and waits: %v", p.Approved(), p.Approval.Required)
	}
	return p.Approval.Reason
}

const broughtIn = "rows were brought in by RESTORE TTL PARTITION P1"

// TestPartitionComesBack: its rows are there again, once, in a partition with its bound; nothing is
// deleted before somebody has approved it, and no table is left behind. It may go and come back again.
func TestPartitionComesBack(t *testing.T) {
	onStage(t, func(t *theatre) {
		p := t.visits()
		t.wantVisited("1,4 in p0,p2,later kept side")
		if got := t.asks(); got != "" {
			t.Errorf("the policy waits before: %s", got)
		}

		fates := rows(t.T, t.db, "SHOW TTL PARTITIONS FOR visit LIKE 'P1'")
		if len(fates) != 1 || !strings.Contains(fates[0], "|'2002-01-01'|2|") ||
			!strings.Contains(fates[0], "; RESTORE TTL PARTITION `P1` FOR `"+t.schema+"`.`visit`") {
			t.Errorf("the fate of P1 is %v", fates)
		}

		for n := range 2 {
			t.exec("BEGIN", "RESTORE TTL PARTITION p1 FOR "+t.schema+".visit")
			t.wantVisited("1,2,3,4 in p0,P1,p2,later settled no side")
			if got := t.asks(); got != broughtIn {
				t.Errorf("the policy waits because %q", got)
			}
			if got := t.text("SELECT GROUP_CONCAT(id ORDER BY id) FROM visit PARTITION (P1)"); got != "2,3" {
				t.Errorf("in the partition are %s", got)
			}
			fate := rows(t.T, t.db, "SHOW TTL PARTITIONS FOR visit LIKE 'P1'")
			if len(fate) != 1 || !strings.Contains(fate[0], "; not before APPROVE TTL JOB FOR ") ||
				!strings.Contains(fate[0], broughtIn) {
				t.Errorf("the fate of P1 is %v", fate)
			}
			if n == 0 {
				t.depart(p)
			}
		}

		if got := t.text("SELECT partition_comment FROM information_schema.partitions WHERE table_schema = '" + t.schema +
			"' AND partition_name = 'p2'"); got != "it's the third" {
			t.Errorf("the comment of its neighbour is %q", got)
		}
		want := fmt.Sprintf("partition P1 has come back, with 2 rows of `%s`.`side`", t.schema)
		if got := rows(t.T, t.db, "SHOW TTL EVENTS FOR visit WHERE Kind = 'partition'"); len(got) < 3 ||
			!strings.Contains(strings.Join(got, "\n"), want) {
			t.Errorf("got events %v", got)
		}
		if got := rows(t.T, t.db, "SELECT @@lock_wait_timeout > 1"); got[0] != "1" {
			t.Error("the session's own lock_wait_timeout is lost")
		}
	})
}

// TestPartitionHasNoWayBack: whatever speaks against it is said, and nothing is lost: the rows stay where
// they are, and the policy is what it was.
func TestPartitionHasNoWayBack(t *testing.T) {
	const (
		away  = "1,4 in p0,p2,later kept side"
		empty = "1,4 in p0,P1,p2,later kept side"
	)
	onStage(t, func(t *theatre) {
		t.visits()
		for _, c := range []struct{ before, want, stays, after string }{
			{
				"ALTER TABLE visit ADD KEY x (at)", "KEY `x` (`at`) is new; alter", away, "ALTER TABLE visit DROP KEY x",
			},
			{
				"ALTER TABLE side ADD KEY x (at)", "KEY `x` (`at`) is not there any more; alter", away,
				"ALTER TABLE side DROP KEY x",
			},
			{"UPDATE # SET bound = ''", "it is not known where it ended", away, `UPDATE # SET bound = '\'2002-01-01\''`},
			{
				"INSERT INTO visit VALUES (9, '2001-12-31')", "have come in since", "1,4,9 in p0,p2,later kept side",
				"DELETE FROM visit WHERE id = 9",
			},
			{
				"INSERT INTO side VALUES (8, '2000-01-01')", "the rows stay in", empty,
				"DELETE FROM side WHERE id = 8",
			},
			{
				"INSERT INTO visit VALUES (9, '2001-12-31')", "have come in since", "1,4,9 in p0,P1,p2,later kept side",
				"DELETE FROM visit WHERE id = 9",
			},
			{
				"ALTER TABLE visit REORGANIZE PARTITION P1 INTO (PARTITION other VALUES LESS THAN ('2002-01-01'))",
				"partition `other` ends where it ended", "1,4 in p0,other,p2,later kept side",
				"ALTER TABLE visit REORGANIZE PARTITION other INTO (PARTITION P1 VALUES LESS THAN ('2002-01-01'))",
			},
			{"ALTER TABLE visit ROW_FORMAT = COMPACT", "ROW_FORMAT=COMPACT is new", empty, "DO 0"},
			{
				"ALTER TABLE visit ADD COLUMN x INT", "anew, PAUSE TTL FOR `" + t.schema + "`.`visit` and INSERT INTO", empty,
				"DO 0",
			},
			{
				"ALTER TABLE side RENAME TO aside; CREATE TABLE side LIKE aside; DROP TABLE aside", "is not the table that",
				empty, "DO 0",
			},
			{"DROP TABLE side", "is not there any more", "1,4 in p0,P1,p2,later kept no side", "DO 0"},
			{
				"UPDATE # SET server = 'x@y:1'", "on another server", "1,4 in p0,P1,p2,later kept no side", "DO 0",
			},
			{"DELETE FROM #", "No partition of", "1,4 in p0,P1,p2,later no side", "DO 0"},
		} {
			at := func(text string) []string {
				return strings.Split(strings.ReplaceAll(text, "#", t.store.Name("departure")), ";")
			}
			t.directly(at(c.before)...)
			_, err := t.db.ExecContext(t.Context(), "RESTORE TTL PARTITION P1 FOR visit")
			refused, ok := errors.AsType[*mysql.MySQLError](err)
			if !ok || !strings.Contains(refused.Message, c.want) {
				t.Errorf("%s: got %v, want %q in it", c.before, err, c.want)
			}
			t.wantVisited(c.stays)
			if got := t.text("SELECT state FROM " + t.store.Name("policy")); got != "armed" {
				t.Errorf("%s: the policy is %s", c.before, got)
			}
			t.directly(at(c.after)...)
		}
	})
}

// TestPartitionComesBackAcrossACrash ends the session behind each step. Afterwards the rows are there once,
// the policy waits for a person if they have come back, and if not the statement can be repeated.
func TestPartitionComesBackAcrossACrash(t *testing.T) {
	onStage(t, func(t *theatre) {
		const restore = "RESTORE TTL PARTITION P1 FOR visit"
		for _, c := range []struct {
			point step
			stays string
		}{
			{stopped, "1,4 in p0,p2,later kept side"},
			{placed, "1,4 in p0,P1,p2,later kept side"},
			{carried, ""},
			{committed, ""},
		} {
			t.visits()
			t.crash(c.point, restore)
			if c.stays != "" {
				t.wantVisited(c.stays)
				if got := t.asks(); got != "" {
					t.Errorf("crash when %s: the policy waits because %q", c.point, got)
				}
				t.exec(restore)
			}
			if err := t.store.DropLeftovers(t.Context()); err != nil {
				t.Error(err)
			}
			t.wantVisited("1,2,3,4 in p0,P1,p2,later settled no side")
			if got := t.asks(); got != broughtIn {
				t.Errorf("crash when %s: the policy waits because %q", c.point, got)
			}
		}
	})
}

// TestRowsThatTradedPlaces: what came into a partition in the very moment in which it came back is in the
// table now against which that was exchanged. That stays until somebody has looked.
func TestRowsThatTradedPlaces(t *testing.T) {
	onStage(t, func(t *theatre) {
		t.visits()
		t.crash(carried, "RESTORE TTL PARTITION P1 FOR visit")
		t.directly("INSERT INTO side VALUES (9, '2001-12-31')")
		for range 2 {
			if err := t.store.DropLeftovers(t.Context()); err != nil {
				t.Fatal(err)
			}
			t.wantVisited("1,2,3,4 in p0,P1,p2,later kept side")
		}
		if over, err := t.store.Over(t.Context()); err != nil || len(over) != 0 {
			t.Errorf("%v are over, %v", over, err)
		}
		events := "SHOW TTL EVENTS FOR visit WHERE Text LIKE '1 row came into partition P1%'"
		if got := rows(t.T, t.db, events); len(got) != 1 {
			t.Errorf("got events %v", got)
		}

		t.directly("DROP TABLE side")
		if err := t.store.DropLeftovers(t.Context()); err != nil {
			t.Fatal(err)
		}
		t.wantVisited("1,2,3,4 in p0,P1,p2,later settled no side")
	})
}

// TestRestoreGivesNoRight: whoever could not exchange the partition itself is refused by the server, and
// the policy is not touched.
func TestRestoreGivesNoRight(t *testing.T) {
	onStage(t, func(t *theatre) {
		p := t.visits()
		for n, c := range []struct {
			grant string
			may   bool
		}{
			{"SELECT, INSERT, DELETE, ALTER, CREATE, DROP ON $.visit", false},
			{"SELECT, DELETE, ALTER, CREATE, DROP ON $.*", false},
			{"SELECT, INSERT, DELETE, ALTER, CREATE ON $.*", false},
			{"SELECT, INSERT, DELETE, CREATE, DROP ON $.*", false},
			{"INSERT, ALTER, CREATE, DROP ON $.*", true},
		} {
			account := t.server.Account(t.T, fmt.Sprintf("restores%d", n), strings.ReplaceAll(c.grant, "$", t.schema))
			account.DBName = t.schema
			client := t.open(account)
			const restore = "RESTORE TTL PARTITION P1 FOR visit"
			_, err := client.ExecContext(t.Context(), restore)
			if c.may {
				if err != nil {
					t.Errorf("%s: got %v", c.grant, err)
				}
				continue
			}
			t.want(ddl.CodeTableDenied, c.grant, err)
			if now, err := t.store.PolicyByID(t.Context(), p.ID); err != nil || now.Version != p.Version {
				t.Errorf("%s: the policy is in version %d, %v", c.grant, now.Version, err)
			}
		}
		t.wantVisited("1,2,3,4 in p0,P1,p2,later settled no side")
	})
}
