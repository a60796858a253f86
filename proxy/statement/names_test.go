package statement

import (
	"cmp"
	"fmt"
	"strings"
	"testing"

	"github.com/ttlproxy/ttlproxy/catalog"
)

// schemaChange is how a tool copies t, and how the copy takes its name.
type schemaChange struct {
	tool        string
	text        bool // the copy is made from the text of SHOW CREATE TABLE, and not by LIKE
	copied, old string
	steps       bool // the cut-over is two statements
}

var schemaChanges = []schemaChange{ //nolint:gochecknoglobals // a table of cases
	{tool: "gh-ost", copied: "_t_gho", old: "_t_del"},
	{tool: "gh-ost in two steps", copied: "_t_gho", old: "_t_20261122073322_del", steps: true},
	{tool: "pt-online-schema-change", text: true, copied: "__t_new", old: "_t_old"},
	{tool: "Spirit", copied: "_t_new", old: "_t_old_20261122_073322"},
	{tool: "LHM", text: true, copied: "lhmn_t", old: "lhma_2026_11_22_07_33_22_123_t"},
	{tool: "OnlineSchemaChange", text: true, copied: "__osc_new_t", old: "__osc_old_t", steps: true},
}

// copy makes the copy and changes it.
func (c schemaChange) copy(t *theatre, change string) {
	t.Helper()
	create := "CREATE TABLE " + c.copied + " LIKE t"
	if c.text {
		create = strings.Replace(t.created("t"), "CREATE TABLE `t`", "CREATE TABLE "+c.copied, 1)
	}
	t.exec(create)
	if change != "" {
		t.exec("ALTER TABLE " + c.copied + " " + change)
	}
}

// cutOver gives the copy the name.
func (c schemaChange) cutOver(t *theatre) {
	t.Helper()
	if c.steps {
		t.exec("ALTER TABLE t RENAME "+c.old, "ALTER TABLE "+c.copied+" RENAME t")
		return
	}
	t.exec("RENAME TABLE t TO " + c.old + ", " + c.copied + " TO t")
}

// standing says what keeps a table's policy from deleting, and its rule; empty for no policy.
func (t *theatre) standing(table string) string {
	t.Helper()
	line := t.policy(table)
	if line == "" {
		return ""
	}

	p := t.found(table)
	if p.Paused.Paused {
		line += " paused"
	}
	if p.Approval.Required {
		line += " held"
	}
	if p.Approved() {
		line += " approved"
	}

	return line
}

func (t *theatre) found(table string) catalog.Policy {
	t.Helper()
	p, err := t.store.Policy(t.Context(), catalog.Table{Schema: t.schema, Name: table})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (t *theatre) wantStanding(when, table, want string) {
	t.Helper()
	if got := t.standing(table); got != want {
		t.Errorf("%s: %s: got %q, want %q", when, table, got, want)
	}
}

// TestTheNameDecides changes a policy while its table is being copied by each tool, with and
// without a new name for its column. The cut-over takes nothing of that back, and no other table
// wakes.
func TestTheNameDecides(t *testing.T) {
	const table = " (id INT PRIMARY KEY, created DATETIME) "
	changes := []struct {
		name   string
		create string // the clause, when it is not the usual one
		before []string
		during string
		want   string // of t behind the cut-over, with %s for the column
	}{
		{name: "nothing", want: "armed %s 10 DAY 24h"},
		{name: "REMOVE TTL", during: "ALTER TABLE t REMOVE TTL"},
		{name: "REMOVE TTL beside something else", during: "ALTER TABLE t REMOVE TTL, COMMENT 'x'"},
		{
			name: "a longer interval", during: "ALTER TABLE t TTL = created + INTERVAL 90 DAY",
			want: "armed %s 90 DAY 24h",
		},
		{name: "TTL_ENABLE='OFF'", during: "ALTER TABLE t TTL_ENABLE='OFF'", want: "armed %s 10 DAY off 24h"},
		{name: "PAUSE", during: "PAUSE TTL FOR t", want: "armed %s 10 DAY 24h paused"},
		{name: "PAUSE before the copy", before: []string{"PAUSE TTL FOR t"}, want: "armed %s 10 DAY 24h paused"},
		{
			name: "the hold of a dump", create: "/*T![ttl] TTL = created + INTERVAL 10 DAY */",
			before: []string{"SET foreign_key_checks=1"}, want: "armed %s 10 DAY 24h held",
		},
	}

	onStage(t, func(t *theatre) {
		t.db.SetMaxOpenConns(1)
		for i, c := range schemaChanges {
			for j, ch := range changes {
				for k, rename := range []string{"", "CHANGE created made DATETIME"} {
					if i > 0 && (i+j+k)%3 != 0 {
						continue // the first tool takes them all, the others in turns
					}

					when := strings.TrimSpace(c.tool + ", " + ch.name + " " + rename)
					if ch.create != "" {
						t.exec("SET foreign_key_checks=0")
					}

					t.exec("CREATE TABLE t" + table + cmp.Or(ch.create, "TTL = created + INTERVAL 10 DAY"))
					id := t.found("t").ID
					t.exec(ch.before...)
					c.copy(t, rename)

					if ch.during != "" {
						t.exec(ch.during)
					}

					c.cutOver(t)

					want := ch.want
					if want != "" {
						want = fmt.Sprintf(want, [...]string{"created", "made"}[k])
						if got := t.found("t").ID; got != id {
							t.Errorf("%s: the name has policy %d now, want %d", when, got, id)
						}
					}

					t.wantStanding(when, "t", want)
					t.exec("RENAME TABLE " + c.old + " TO t_backup")
					t.wantAsleepBut(when, "t")
					t.exec("DROP TABLE t, t_backup")
				}
			}
		}
	})
}

// wantAsleepBut checks that the policies of all tables but one are dormant.
func (t *theatre) wantAsleepBut(when, table string) {
	t.Helper()
	all, err := t.store.PoliciesIn(t.Context(), t.schema)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		if p.Table.Name != table && p.State != catalog.PolicyDormant {
			t.Errorf("%s: the policy of %s is %s, want it dormant", when, p.Table, p.State)
		}
	}
}

const dated = " (id INT PRIMARY KEY, created DATETIME, updated DATETIME)"

// TestSleepersStayAsleep renames tables whose policies are dormant, back and forth.
func TestSleepersStayAsleep(t *testing.T) {
	const armed, dormant = "armed created 10 DAY 24h", "dormant created 10 DAY 24h"
	onStage(t, func(t *theatre) {
		t.db.SetMaxOpenConns(1)
		around := func(statements ...string) {
			t.Helper()
			for _, s := range statements {
				if _, err := t.direct.ExecContext(t.Context(), s); err != nil {
					t.Fatalf("%s: %v", s, err)
				}
			}
		}

		warned := func(want string) {
			t.Helper()
			if got := strings.Join(rows(t.T, t.db, "SHOW WARNINGS"), "\n"); !strings.Contains(got, want) {
				t.Errorf("got warnings %s, want %q", got, want)
			}
		}

		t.exec("CREATE TABLE _t_new" + dated + " TTL = created + INTERVAL 10 DAY")
		warned("deletes nothing until ALTER TABLE … TTL_ENABLE='ON'")
		t.wantStanding("a copy's name", "_t_new", dormant)
		t.exec("RENAME TABLE _t_new TO t")
		warned("had no TTL")
		t.wantStanding("a name without a policy", "t", dormant)
		t.exec("ALTER TABLE t TTL_ENABLE='ON'")
		t.wantStanding("woken", "t", armed)

		// A table comes back to its name, and is what it was; under any other it sleeps.
		t.exec("PAUSE TTL FOR t", "RENAME TABLE t TO _t_old")
		warned("the table gave up the name")
		t.exec("RENAME TABLE _t_old TO t")
		t.wantStanding("home again", "t", armed+" paused")
		t.exec("RESUME TTL FOR t", "RENAME TABLE t TO _t_old", "RENAME TABLE _t_old TO t_backup",
			"RENAME TABLE t_backup TO _t_old", "ALTER TABLE _t_old RENAME u")
		t.wantStanding("another name", "u", dormant)

		// A swap is taken back: the column, too, is the one that it was.
		t.exec("RENAME TABLE u TO t", "ALTER TABLE t TTL_ENABLE='ON'", "CREATE TABLE _t_gho LIKE t",
			"ALTER TABLE _t_gho CHANGE created made DATETIME, CHANGE updated created DATETIME",
			"RENAME TABLE t TO _t_del, _t_gho TO t")
		t.wantStanding("swapped", "t", "armed made 10 DAY 24h")
		t.wantStanding("swapped", "_t_del", dormant)
		t.exec("RENAME TABLE t TO _t_new, _t_del TO t")
		t.wantStanding("taken back", "t", armed)
		t.wantStanding("taken back", "_t_new", "dormant made 10 DAY 24h")
		t.exec("DROP TABLE _t_new")

		// Another table has taken a ghost's name, elsewhere.
		t.exec("CREATE TABLE _u_new LIKE t")
		around("DROP TABLE _u_new", "CREATE TABLE _u_new (id INT PRIMARY KEY, name TEXT, created DATETIME)")
		t.exec("RENAME TABLE _u_new TO precious")
		t.wantStanding("a stranger", "precious", "disarmed created 10 DAY 24h")
		t.exec("DROP TABLE precious", "CREATE TABLE _t_gho LIKE t")
		around("DROP TABLE _t_gho", "CREATE TABLE _t_gho"+dated)
		t.exec("RENAME TABLE t TO _t_del, _t_gho TO t")
		warned("is not the copy that it was")
		t.wantStanding("a stranger in the place of the copy", "t", "disarmed created 10 DAY 24h")
		t.exec("ALTER TABLE t TTL_ENABLE='ON'", "DROP TABLE _t_del")

		// What is said while the table is copied counts, also of the column.
		t.exec("CREATE TABLE _t_gho LIKE t", "ALTER TABLE t TTL = updated + INTERVAL 10 DAY",
			"RENAME TABLE t TO _t_del, _t_gho TO t")
		warned("was changed from created to updated")
		t.wantStanding("another column", "t", "disarmed updated 10 DAY 24h")
		t.exec("ALTER TABLE t TTL = created + INTERVAL 10 DAY", "DROP TABLE _t_del")

		// A table that is nobody's copy is taken if its column is the same, but not under the old
		// approval.
		t.exec("CREATE TABLE lhmn_x" + dated + " TTL = created + INTERVAL 2 DAY")
		p := t.found("t")
		if _, err := t.store.Consent(t.Context(), "dba", p.ID, p.Version, catalog.Consent{}); err != nil {
			t.Fatal(err)
		}

		t.wantStanding("before", "t", armed+" approved")
		t.exec("RENAME TABLE t TO lhma_1_t, lhmn_x TO t")
		warned("that of the copy was not adopted")
		t.wantStanding("nobody's copy", "t", armed)
		t.exec("DROP TABLE lhma_1_t",
			"CREATE TABLE lhmn_x (id INT PRIMARY KEY, created TIMESTAMP NULL) TTL = created + INTERVAL 2 DAY",
			"RENAME TABLE t TO lhma_1_t, lhmn_x TO t")
		t.wantStanding("nobody's copy, of another type", "t", "disarmed created 10 DAY 24h")
		t.exec("DROP TABLE lhma_1_t", "ALTER TABLE t TTL = created + INTERVAL 10 DAY")

		// A TTL that a tool is asked to change is none of the copy's.
		t.exec("CREATE TABLE _t_gho LIKE t", "ALTER TABLE _t_gho TTL = created + INTERVAL 1 DAY")
		t.wantStanding("declared on a copy", "_t_gho", "dormant created 1 DAY 24h")
		t.exec("ALTER TABLE _t_gho TTL_ENABLE='ON'")
		t.wantStanding("woken under a copy's name", "_t_gho", "armed created 1 DAY 24h")

		// A TTL that a tool is asked to remove is removed, and the old table does not bring it
		// back.
		t.exec("DROP TABLE _t_gho",
			"CREATE TABLE _t_gho LIKE t", "ALTER TABLE _t_gho REMOVE TTL", "RENAME TABLE t TO _t_del, _t_gho TO t")
		t.wantStanding("removed on the copy", "t", "")
		t.exec("RENAME TABLE t TO x, _t_del TO t")
		t.wantStanding("removed on the copy, and the old table back", "t", dormant)
		t.exec("ALTER TABLE t TTL_ENABLE='ON'", "DROP TABLE x")

		// The name's table was dropped elsewhere.
		t.exec("CREATE TABLE _t_gho LIKE t")
		around("DROP TABLE t")
		t.exec("RENAME TABLE _t_gho TO t")
		t.wantStanding("a name whose table was dropped", "t", "disarmed created 10 DAY 24h")
		t.wantStanding("a name whose table was dropped", "_t_gho", "")
	})
}

// TestPausesAndHoldsStay swaps tables with policies of their own, and copies policies: what is
// paused or held stays so, by its table and by its name.
func TestPausesAndHoldsStay(t *testing.T) {
	const ten, one = "armed created 10 DAY 24h", "armed created 1 DAY 24h"
	onStage(t, func(t *theatre) {
		t.db.SetMaxOpenConns(1)
		t.exec("CREATE TABLE a"+dated+" TTL = created + INTERVAL 10 DAY", "CREATE TABLE b LIKE a", "PAUSE TTL FOR a")
		a, b := t.found("a").ID, t.found("b").ID
		t.exec("RENAME TABLE a TO x, b TO a, x TO b")

		if got := strings.Join(rows(t.T, t.db, "SHOW WARNINGS"), "\n"); !strings.Contains(got,
			"is paused, as that of") {
			t.Errorf("got warnings %s, want one about the pause", got)
		}
		if t.found("a").ID != b || t.found("b").ID != a {
			t.Errorf("got policies %d and %d, want each to go with its table", t.found("a").ID, t.found("b").ID)
		}

		t.wantStanding("swapped", "a", ten+" paused")
		t.wantStanding("swapped", "b", ten+" paused")

		t.exec("RESUME TTL FOR a", "RESUME TTL FOR b", "SET foreign_key_checks=0",
			"CREATE TABLE c"+dated+" /*T![ttl] TTL = created + INTERVAL 1 DAY */", "SET foreign_key_checks=1",
			"RENAME TABLE c TO x, a TO c, x TO a")
		t.wantStanding("swapped with one that is held", "a", one+" held")
		t.wantStanding("swapped with one that is held", "c", ten+" held")

		t.exec("PAUSE TTL FOR a UNTIL '2099-01-01'", "CREATE TABLE d LIKE a", "CREATE TABLE _e_new LIKE a")
		t.wantStanding("LIKE", "d", one+" paused held")
		t.wantStanding("LIKE", "_e_new", "dormant created 1 DAY 24h paused held")

		if until := t.found("d").Paused.Until; until.Year() != 2099 {
			t.Errorf("got a pause until %s, want that of the origin", until)
		}

		t.exec("ALTER TABLE b TTL_ENABLE='OFF'", "CREATE TABLE f LIKE b")
		t.wantStanding("LIKE", "f", "armed created 10 DAY off 24h")
		t.exec("CREATE TABLE g LIKE _e_new")
		t.wantStanding("LIKE one that sleeps", "g", "dormant created 1 DAY 24h paused held")

		if t.server.MariaDB() {
			t.exec("CREATE OR REPLACE TABLE f LIKE a")
			t.wantStanding("OR REPLACE", "f", one+" paused held")
		}

		t.exec("ALTER TABLE a RENAME h")
		t.wantStanding("ALTER … RENAME", "h", one+" paused held")
	})
}

// TestRenameThatDoesNothing sends what MariaDB answers with OK and a warning.
func TestRenameThatDoesNothing(t *testing.T) {
	onStage(t, func(t *theatre) {
		if !t.server.MariaDB() {
			t.fails(1064, "RENAME TABLE IF EXISTS x TO y")
			return
		}

		t.exec("CREATE TABLE x"+dated+" TTL = created + INTERVAL 1 DAY",
			"CREATE TABLE y"+dated+" TTL = created + INTERVAL 90 DAY")
		id := t.found("y").ID
		if _, err := t.direct.ExecContext(t.Context(), "DROP TABLE x"); err != nil {
			t.Fatal(err)
		}

		for _, statement := range []string{
			"RENAME TABLE IF EXISTS x TO y", "RENAME TABLE IF EXISTS x TO z",
			"ALTER TABLE IF EXISTS x RENAME z",
		} {
			t.exec(statement)
			t.wantStanding(statement, "y", "armed created 90 DAY 24h")
			t.wantStanding(statement, "x", "disarmed created 1 DAY 24h")
			t.wantStanding(statement, "z", "")
			if got := t.found("y").ID; got != id {
				t.Errorf("%s: y has policy %d, want %d", statement, got, id)
			}
		}
	})
}
