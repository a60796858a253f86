package statement

import (
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
)

// swapTable has a policy, and swapReady, which looks the same, has none.
const swapTable = "CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, created DATETIME, n INT) TTL = created + " +
	"INTERVAL 10 HOUR"

// around runs statements directly, not through the proxy.
func (t *theatre) around(statements ...string) {
	t.Helper()
	for _, s := range statements {
		if _, err := t.direct.ExecContext(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// at runs statements around the proxy when the next one through it has come to a step.
func (t *theatre) at(point step, statements ...string) {
	f := func(s step) error {
		if s == point {
			t.around(statements...)
		}
		return nil
	}
	t.after.Store(&f)
}

// approved returns the policy of a table after its approval.
func (t *theatre) approved(table string) catalog.Policy {
	t.Helper()
	p, err := t.store.Policy(t.Context(), catalog.Table{Schema: t.schema, Name: table})
	if err == nil {
		_, err = t.store.Consent(t.Context(), "dba", p.ID, p.Version, catalog.Consent{})
	}
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// wantStranger looks at the policy as the engine does before it deletes: nothing may go, whatever
// has the name, until a person has armed it or, where nothing but the id is another, said yes.
func (t *theatre) wantStranger(what string, id uint64) {
	t.Helper()
	p, err := t.store.PolicyByID(t.Context(), id)
	if err == nil && p.Armed() {
		_, _, err = t.store.Recognize(t.Context(), "engine", p)
	}
	if err == nil {
		p, err = t.store.PolicyByID(t.Context(), id)
	}
	if asks := p.Approval.Required && !p.Approved(); err != nil || p.State != catalog.PolicyDisarmed && !asks {
		t.Errorf("%s: got %s %q, %v, want it disarmed, or to ask", what, p.State, p.Reason, err)
	}
}

// TestTablesMadeSideBySide: another table of the same form that is made at the same time, as by
// migrations that run side by side, does not keep a new policy from being armed, unless there are
// rows that may be somebody else's.
func TestTablesMadeSideBySide(t *testing.T) {
	onStage(t, func(t *theatre) {
		const beside = "CREATE TABLE beside (id INT PRIMARY KEY AUTO_INCREMENT, created DATETIME, n INT)"
		for _, form := range []string{"", " PARTITION BY HASH (id) PARTITIONS 3"} {
			t.at(stopped, beside+form)
			t.exec(swapTable + form)
			t.after.Store(nil)
			p, err := t.store.Policy(t.Context(), catalog.Table{Schema: t.schema, Name: "t"})
			if err != nil || !p.Armed() {
				t.Errorf("empty%s: got %s %q, %v, want it armed", form, p.State, p.Reason, err)
			}
			t.exec("DROP TABLE t, beside")

			f := func(s step) error {
				switch s {
				case stopped:
					t.around(beside + form)
				case carried:
					t.around("INSERT INTO t (created) VALUES ('2020-01-01')")
				}
				return nil
			}

			t.after.Store(&f)
			t.exec(swapTable + form)
			t.after.Store(nil)
			p, err = t.store.Policy(t.Context(), catalog.Table{Schema: t.schema, Name: "t"})
			if err != nil || p.State != catalog.PolicyDisarmed {
				t.Errorf("with a row%s: got %s %q, %v, want it disarmed", form, p.State, p.Reason, err)
			}
			t.exec("DROP TABLE t, beside")
		}
	})
}

// TestSwapAroundADDL lets another table take the name before a statement reaches the server, and
// between its OK and our look at the table. No policy, and no approval, goes over to that table.
func TestSwapAroundADDL(t *testing.T) {
	const (
		ready  = "CREATE TABLE ready (id INT PRIMARY KEY AUTO_INCREMENT, created DATETIME, n INT)"
		rename = "RENAME TABLE t TO old, ready TO t"
	)
	swaps := map[string]struct {
		at     step
		before string
		swap   []string
	}{
		"before it":                {stopped, ready, []string{rename}},
		"behind it":                {carried, ready, []string{rename}},
		"behind it, by DROP":       {carried, ready, []string{"DROP TABLE t", "RENAME TABLE ready TO t"}},
		"behind it, made meantime": {carried, "DO 0", []string{"CREATE TABLE ready LIKE t", rename}},
	}

	statements := []string{
		"ALTER TABLE t ADD COLUMN z INT, ALGORITHM=COPY",
		"ALTER TABLE t ADD COLUMN z INT",
		"ALTER TABLE t ENGINE=InnoDB",
		"ALTER TABLE t ADD COLUMN z INT, TTL = created + INTERVAL 9 HOUR",
		"TRUNCATE TABLE t",
	}

	onStage(t, func(t *theatre) {
		for name, c := range swaps {
			for _, statement := range statements {
				t.exec(swapTable)
				t.around(c.before)
				id := t.approved("t").ID
				t.at(c.at, c.swap...)
				t.exec(statement)
				t.after.Store(nil)
				t.wantStranger(name+": "+statement, id)
				t.exec("DROP TABLE IF EXISTS t, old, ready")
			}
		}

		// A statement that fails has done nothing, and whatever has the name then is not looked at
		// as if it were the table.
		t.exec(swapTable)
		t.around(ready, "INSERT INTO ready (n) VALUES (1), (1)")
		id := t.approved("t").ID
		t.at(stopped, rename)
		t.fails(1062, "ALTER TABLE t ADD UNIQUE KEY (n), ALGORITHM=COPY")
		t.after.Store(nil)
		t.wantStranger("a refused ALTER", id)
		t.exec("DROP TABLE t, old")

		// The proxy is gone when the name is taken, and so is the client.
		for _, point := range []step{stopped, carried} {
			t.exec(swapTable)
			t.around("CREATE TABLE ready LIKE t")
			id := t.approved("t").ID
			f := func(s step) error {
				if s != point {
					return nil
				}
				t.around(rename)
				return errCrash
			}

			t.after.Store(&f)
			if _, err := t.open(t.server.Config(t.schema)).ExecContext(t.Context(),
				"ALTER TABLE t ADD COLUMN z INT, ALGORITHM=COPY"); err == nil {
				t.Error("got OK from a session that crashed")
			}

			t.after.Store(nil)
			t.settled()
			t.wantStranger("a crash when "+string(point), id)
			t.exec("DROP TABLE t, old")
		}
	})
}

// TestSwapWaitsBehindAnAlter: a RENAME on another connection waits for the table while an ALTER
// through the proxy copies it, and is done at once when that ends, well or badly, or when client
// and ALTER are killed.
func TestSwapWaitsBehindAnAlter(t *testing.T) {
	onStage(t, func(t *theatre) {
		for name, c := range map[string]struct {
			alter string
			kill  bool
		}{
			"done":    {"ALTER TABLE t ADD COLUMN z INT, ALGORITHM=COPY", false},
			"refused": {"ALTER TABLE t ADD UNIQUE KEY (n), ALGORITHM=COPY", false},
			"killed":  {"ALTER TABLE t ADD COLUMN z INT, ALGORITHM=COPY", true},
		} {
			id := t.copied(16)
			for doublings := 17; !t.swapBehind(c.alter, c.kill); doublings++ {
				if doublings > 20 {
					t.Fatalf("%s: nobody ever sees the ALTER at work", name)
				}
				t.exec("DROP TABLE t, ready")
				id = t.copied(doublings)
			}

			t.settled()
			t.wantStranger(name, id)

			if n := t.text("SELECT COUNT(*) FROM t"); n != "1" {
				t.Errorf("%s: t has %s rows, want the one of the table that took its name", name, n)
			}

			t.exec("DROP TABLE t, old")
		}
	})
}

// copied makes a table that takes a while to copy, with an approved policy, and one that is ready to
// take its name. It returns the policy's number. All n differ but the last, so that a unique key is refused late.
func (t *theatre) copied(doublings int) uint64 {
	t.Helper()
	t.exec(swapTable)
	t.around("INSERT INTO t (created, n) VALUES (NOW(), 1)")
	for i := range doublings {
		t.around(fmt.Sprintf("INSERT INTO t (created, n) SELECT created, n + %d FROM t", 1<<i))
	}

	t.around("INSERT INTO t (n) SELECT MAX(n) FROM t", "CREATE TABLE ready LIKE t",
		"INSERT INTO ready (created) VALUES ('2001-01-01')")
	return t.approved("t").ID
}

// swapBehind runs an ALTER through the proxy, and a swap around it that begins while the ALTER is
// copying. It returns false when the ALTER was over before anybody saw it.
func (t *theatre) swapBehind(alter string, kill bool) bool {
	t.Helper()
	client := t.open(t.server.Config(t.schema))
	altered := make(chan error, 1)
	go func() {
		_, err := client.ExecContext(t.Context(), alter)
		altered <- err
	}()
	var copying []uint64
	for len(copying) == 0 {
		select {
		case <-altered:
			return false
		case <-time.After(time.Millisecond):
			copying = mysqltest.Processes(t.T, t.direct,
				"DB = ? AND STATE LIKE '%copy%' AND INFO LIKE 'ALTER TABLE t %'", t.schema)
		}
	}

	swapped := make(chan error, 1)
	go func() {
		_, err := t.direct.ExecContext(t.Context(), "RENAME TABLE t TO old, ready TO t")
		swapped <- err
	}()
	if kill {
		t.around(fmt.Sprintf("KILL %d", copying[0]))
	}

	err := <-altered
	if kill && err == nil {
		t.Error("got OK from an ALTER that was killed")
	}
	if err := <-swapped; err != nil {
		t.Fatal(err)
	}

	return true
}

func (t *theatre) text(query string) (s string) {
	t.Helper()
	err := t.direct.QueryRowContext(t.Context(), query).Scan(&s)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		t.Fatal(err)
	}
	return s
}

// TestRebuildsKeepTheirPolicy: statements that give a table another InnoDB id leave its policy
// armed, and approved where they leave the rows, also when other tables come and go beside it.
func TestRebuildsKeepTheirPolicy(t *testing.T) {
	onStage(t, func(t *theatre) {
		t.exec(swapTable)
		t.around("INSERT INTO t (created, n) VALUES (NOW(), 1)")
		id := t.approved("t").ID
		for n, statement := range []string{
			"ALTER TABLE t ENGINE=InnoDB",
			"OPTIMIZE TABLE t",
			"ALTER TABLE t ADD COLUMN a INT, ALGORITHM=COPY",
			"ALTER TABLE t ADD FULLTEXT KEY (b)",
			"TRUNCATE TABLE t",
			"ALTER TABLE t PARTITION BY HASH (id) PARTITIONS 2",
			"ALTER TABLE t COALESCE PARTITION 1",
			"ALTER TABLE t REMOVE PARTITIONING",
			"ALTER TABLE t PARTITION BY RANGE (id) (PARTITION p0 VALUES LESS THAN (10), PARTITION p1 VALUES LESS " +
				"THAN (20))",
			"ALTER TABLE t REORGANIZE PARTITION p1 INTO (PARTITION p1 VALUES LESS THAN (20), PARTITION p2 VALUES " +
				"LESS THAN (30))",
			"ALTER TABLE t TRUNCATE PARTITION p0",
			"ALTER TABLE t REBUILD PARTITION p0, p1, p2",
			"ALTER TABLE t ADD COLUMN c INT, ALGORITHM=COPY",
			"TRUNCATE TABLE t",
			"ALTER TABLE t RENAME TO u, ADD COLUMN d INT, ALGORITHM=COPY",
			"RENAME TABLE u TO t",
		} {
			if strings.Contains(statement, "FULLTEXT") {
				t.exec("ALTER TABLE t ADD COLUMN b TEXT")
			}
			if strings.Contains(statement, "HASH") {
				t.exec("ALTER TABLE t DROP KEY b")
			}

			if n%2 == 0 {
				t.at(stopped, "CREATE TABLE beside (id INT PRIMARY KEY, created DATETIME)")
			} else {
				t.at(stopped, "DROP TABLE beside")
			}

			t.exec(statement)
			t.after.Store(nil)
			p, err := t.store.PolicyByID(t.Context(), id)
			if err == nil && p.Armed() {
				_, _, err = t.store.Recognize(t.Context(), "engine", p)
			}
			if err == nil {
				p, err = t.store.PolicyByID(t.Context(), id)
			}
			emptied := strings.HasPrefix(statement, "TRUNCATE TABLE")
			if err != nil || !p.Armed() || p.Approved() == emptied {
				t.Fatalf("%s: got %s %q, approved %v, %v, want it armed, and approved unless it was emptied",
					statement, p.State, p.Reason, p.Approved(), err)
			}
			if emptied {
				t.approved("t")
			}
		}
	})
}
