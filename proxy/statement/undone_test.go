package statement

import (
	"strings"
	"testing"

	"github.com/ttlproxy/ttlproxy/catalog"
)

// approve lets the first job of a table's policy go.
func (t *theatre) approve(table string) {
	t.Helper()
	p := t.found(table)
	if _, err := t.store.Consent(t.Context(), "test", p.ID, p.Version, catalog.Consent{}); err != nil {
		t.Fatal(err)
	}
}

// TestNameThatSaidOtherwiseWakesNothing takes a table away under the name of a copy, says something
// else about the name, and puts the table back: what was said last about the name holds.
func TestNameThatSaidOtherwiseWakesNothing(t *testing.T) {
	const table = " (id INT PRIMARY KEY, created DATETIME) "
	onStage(t, func(t *theatre) {
		t.db.SetMaxOpenConns(1)
		for _, c := range []struct {
			said []string
			want string
		}{
			{nil, "armed created 10 HOUR 24h approved"},
			{[]string{"CREATE TABLE t" + table, "DROP TABLE t"}, "armed created 10 HOUR 24h approved"},
			{[]string{
				"CREATE TABLE t" + table, "ALTER TABLE t TTL = created + INTERVAL 90 DAY",
				"ALTER TABLE t REMOVE TTL",
			}, "dormant created 10 HOUR 24h"},
			{[]string{"CREATE TABLE t" + table, "ALTER TABLE t REMOVE TTL"}, "dormant created 10 HOUR 24h"},
			{
				[]string{"CREATE TABLE t" + table, "ALTER TABLE t REMOVE TTL, COMMENT 'x'"},
				"dormant created 10 HOUR 24h",
			},
			{
				[]string{"CREATE TABLE t" + table + "TTL = created + INTERVAL 10 HOUR TTL_ENABLE='OFF'", "DROP TABLE t"},
				"dormant created 10 HOUR 24h",
			},
			{
				[]string{
					"CREATE TABLE u" + table + "TTL = created + INTERVAL 90 DAY TTL_ENABLE='OFF'",
					"RENAME TABLE u TO t", "ALTER TABLE t REMOVE TTL",
				},
				"dormant created 10 HOUR 24h",
			},
		} {
			when := strings.Join(c.said, "; ")
			t.exec("CREATE TABLE t" + table + "TTL = created + INTERVAL 10 HOUR")
			t.approve("t")
			t.exec("RENAME TABLE t TO _t_old")
			t.exec(c.said...)
			t.exec("DROP TABLE IF EXISTS t")
			t.exec("RENAME TABLE _t_old TO t")
			t.wantStanding(when, "t", c.want)
			t.exec("DROP TABLE t")
		}
	})
}

// TestWhatIsOffStaysOff swaps a table that is off with its copy, whose name is no copy's: neither
// comes to delete by that.
func TestWhatIsOffStaysOff(t *testing.T) {
	onStage(t, func(t *theatre) {
		t.db.SetMaxOpenConns(1)
		t.exec("CREATE TABLE t (id INT PRIMARY KEY, created DATETIME) TTL = created + INTERVAL 1 DAY",
			"CREATE TABLE replacement LIKE t",
			"ALTER TABLE t TTL_ENABLE='OFF'", "RENAME TABLE t TO retired, replacement TO t")
		if got := strings.Join(rows(t.T, t.db, "SHOW WARNINGS"), "\n"); !strings.Contains(got, "is off, as that of") {
			t.Errorf("got warnings %s, want one about TTL_ENABLE", got)
		}

		t.wantStanding("swapped", "t", "armed created 1 DAY off 24h")
		t.wantStanding("swapped", "retired", "armed created 1 DAY off 24h")

		t.exec("ALTER TABLE t TTL_ENABLE='ON'")
		t.wantStanding("switched on", "t", "armed created 1 DAY 24h")
	})
}

// TestHeldRowsStayHeld moves rows of a partition that is held to other places. Nothing of that
// makes them free.
func TestHeldRowsStayHeld(t *testing.T) {
	const (
		table = " (id INT PRIMARY KEY, created DATETIME)"
		parts = " PARTITION BY RANGE (id) (PARTITION p0 VALUES LESS THAN (10), PARTITION p1 VALUES LESS THAN (20), " +
			"PARTITION p2 VALUES LESS THAN (30))"
	)
	onStage(t, func(t *theatre) {
		t.db.SetMaxOpenConns(1)
		look := func() (held string) {
			t.Helper()
			p := t.found("t")
			known, why, err := t.store.Recognize(t.Context(), "engine", p)
			if err != nil || known == nil {
				t.Fatalf("got %q, %v", why, err)
			}

			for _, i := range known {
				if i.Held.Holds() {
					held += i.Partition + " "
				}
			}

			return strings.TrimSpace(held)
		}

		for _, c := range []struct {
			around bool
			spec   string
			want   string // the partitions that are held
			table  bool   // all of it waits for an approval
		}{
			{false, "REORGANIZE PARTITION p0, p1 INTO (PARTITION pa VALUES LESS THAN (20))", "pa", false},
			{true, "REORGANIZE PARTITION p0, p1 INTO (PARTITION pa VALUES LESS THAN (20))", "pa", false},
			{false, "REORGANIZE PARTITION p1, p2 INTO (PARTITION pa VALUES LESS THAN (30))", "p0", false},
			{false, "PARTITION BY HASH (id) PARTITIONS 2", "p0 p1", false},
			{false, "REMOVE PARTITIONING", "", true},
			{false, "DROP PARTITION p0", "", false},
			{true, "DROP PARTITION p0", "", false},
		} {
			t.exec("CREATE TABLE t" + table + " TTL = created + INTERVAL 10 HOUR" + parts)
			t.around("CREATE TABLE x"+table, "INSERT INTO x VALUES (1, '2001-01-01')",
				"ALTER TABLE t EXCHANGE PARTITION p0 WITH TABLE x")
			if got := look(); got != "p0" {
				t.Fatalf("exchanged: got %q held, want p0", got)
			}

			t.approve("t")
			if statement := "ALTER TABLE t " + c.spec; c.around {
				t.around(statement)
			} else {
				t.exec(statement)
			}

			if got := look(); got != c.want {
				t.Errorf("%s (around: %v): got %q held, want %q", c.spec, c.around, got, c.want)
			}
			if got := t.found("t").Approval.Required; got != c.table {
				t.Errorf("%s: got approval required %v, want %v", c.spec, got, c.table)
			}

			t.exec("DROP TABLE t, x")
		}
	})
}

// TestOtherDatesAreLookedAt gives the TTL column other dates under the same name: the brake has to
// look again.
func TestOtherDatesAreLookedAt(t *testing.T) {
	onStage(t, func(t *theatre) {
		t.db.SetMaxOpenConns(1)
		for spec, approved := range map[string]bool{
			"DROP COLUMN at, ADD COLUMN at DATETIME DEFAULT '2001-01-01', TTL = at + INTERVAL 1 DAY": false,
			"RENAME COLUMN at TO x, RENAME COLUMN other TO at, TTL = at + INTERVAL 1 DAY":            false,
			"CHANGE at x DATETIME, CHANGE other at DATETIME, TTL = at + INTERVAL 1 DAY":              false,
			"DROP COLUMN g, ADD COLUMN h INT, TTL = at + INTERVAL 1 DAY":                             true,
			"MODIFY at DATETIME NOT NULL DEFAULT CURRENT_TIMESTAMP":                                  true,
		} {
			t.exec("CREATE TABLE t (id INT PRIMARY KEY, at DATETIME, other DATETIME, g INT) TTL = at + INTERVAL 1 DAY")
			t.approve("t")
			t.exec("ALTER TABLE t " + spec)
			if got := t.found("t"); got.Approved() != approved || got.State != catalog.PolicyArmed {
				t.Errorf("%s: got %s, approved %v, want it %v", spec, got.State, got.Approved(), approved)
			}
			t.exec("DROP TABLE t")
		}

		// Nor does it matter that the table was asleep meanwhile.
		t.exec("CREATE TABLE t (id INT PRIMARY KEY, at DATETIME, other DATETIME, g DATETIME AS (at) STORED) TTL = g " +
			"+ INTERVAL 1 DAY")
		t.approve("t")
		t.exec("RENAME TABLE t TO _t_old",
			"ALTER TABLE _t_old MODIFY g DATETIME AS (other) STORED", "RENAME TABLE _t_old TO t")
		t.wantStanding("computed anew while asleep", "t", "armed g 1 DAY 24h")

		t.exec("DROP TABLE t",
			"CREATE TABLE t (id INT PRIMARY KEY, at DATETIME, other DATETIME) TTL = at + INTERVAL 1 DAY")
		t.approve("t")
		t.exec("RENAME TABLE t TO _t_old")
		t.around("DO SLEEP(1 - MICROSECOND(NOW(6)) / 1000000 + 0.05)", // CREATE_TIME, which tells, has whole seconds
			"ALTER TABLE _t_old DROP COLUMN at, ALGORITHM=INSTANT",
			"ALTER TABLE _t_old ADD COLUMN at DATETIME DEFAULT '2001-01-01' AFTER id, ALGORITHM=INSTANT")
		t.exec("RENAME TABLE _t_old TO t")
		t.wantStanding("made anew around the proxy while asleep", "t", "armed at 1 DAY 24h")
		t.exec("DROP TABLE t")

		t.exec("CREATE TABLE t (id INT PRIMARY KEY, at DATETIME, other DATETIME, g DATETIME AS (at) STORED) TTL = g " +
			"+ INTERVAL 1 DAY")
		t.approve("t")
		t.exec("ALTER TABLE t MODIFY g DATETIME AS (other) STORED")

		if t.found("t").Approved() {
			t.Error("a column that is computed from another one is approved")
		}
	})
}

// TestChainOfRenamesThatIsDoneInPart leaves no policy behind that nobody can change any more.
func TestChainOfRenamesThatIsDoneInPart(t *testing.T) {
	onStage(t, func(t *theatre) {
		if !t.server.MariaDB() {
			return // knows no RENAME TABLE IF EXISTS
		}
		t.db.SetMaxOpenConns(1)
		t.exec("CREATE TABLE a (id INT PRIMARY KEY, created DATETIME) TTL = created + INTERVAL 1 DAY",
			"CREATE TABLE b (id INT PRIMARY KEY, created DATETIME) TTL = created + INTERVAL 90 DAY")
		t.around("DROP TABLE a")
		t.exec("RENAME TABLE IF EXISTS a TO other, b TO a, other TO b")
		t.wantStanding("RENAME", "a", "armed created 90 DAY 24h")
		t.wantStanding("RENAME", "b", "")
	})
}
