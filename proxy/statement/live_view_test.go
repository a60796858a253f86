package statement

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ttlproxy/ttlproxy/catalog"
)

// views are those of the schema, with what a client sees in each.
func (t *theatre) views() string {
	t.Helper()
	names := rows(t.T, t.direct, "SELECT TABLE_NAME FROM information_schema.VIEWS WHERE TABLE_SCHEMA = '"+t.schema+
		"' ORDER BY 1")
	for i, name := range names {
		ids := rows(t.T, t.direct, "SELECT COALESCE(GROUP_CONCAT(id ORDER BY id), '') FROM `"+name+"`")
		names[i] += ":" + ids[0]
	}
	return strings.Join(names, " ")
}

// remembered are the views that the catalog knows.
func (t *theatre) remembered() string {
	t.Helper()
	all, err := t.store.LiveViews(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, v := range all {
		names = append(names, v.View.Name+" of "+v.Table.Name)
	}
	return strings.Join(names, ", ")
}

func (t *theatre) wantViews(after, seen, kept string) {
	t.Helper()
	if got := t.views(); got != seen {
		t.Errorf("after %s the views are %q, want %q", after, got, seen)
	}
	if got := t.remembered(); got != kept {
		t.Errorf("after %s the catalog remembers %q, want %q", after, got, kept)
	}
}

const sessions = "CREATE TABLE session (id INT PRIMARY KEY, seen DATETIME(3)) TTL = seen + INTERVAL 1 HOUR " +
	"TTL_TIME_ZONE = 'Europe/Berlin'"

func (t *theatre) someSessions() {
	t.Helper()
	zone, err := (catalog.Rule{Column: "seen", Literal: "1", Unit: "HOUR", TimeZone: "Europe/Berlin"}).Terms()
	if err != nil {
		t.Fatal(err)
	}
	now, err := t.store.Clock(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	wall := now.In(zone.Timing.Zone).Format("'2006-01-02 15:04:05.000'")
	t.exec(sessions, fmt.Sprintf("INSERT INTO session VALUES (1, NULL), (2, %[1]s), (3, %[1]s - INTERVAL 150 MINUTE), "+
		"(4, '1969-12-31'), (5, %[1]s - INTERVAL 2 DAY)", wall))
}

// TestLiveView follows a view from the clause that asks for it to the one that ends it.
func TestLiveView(t *testing.T) {
	onStage(t, func(t *theatre) {
		t.someSessions()
		t.exec("ALTER TABLE session TTL_VIEW = 'session_live'")
		t.wantViews("TTL_VIEW", "session_live:1,2,4", "session_live of session")
		if got := t.created("session"); !strings.Contains(got, "TTL_VIEW='session_live'") {
			t.Errorf("the option is not shown: %s", got)
		}
		kind := rows(t.T, t.direct, "SELECT SECURITY_TYPE FROM information_schema.VIEWS WHERE TABLE_SCHEMA = '"+t.schema+"'")
		if !slices.Equal(kind, []string{"INVOKER"}) {
			t.Errorf("the view is of the security type %q, want INVOKER", kind)
		}

		for _, change := range []struct{ statement, seen, kept string }{
			{"ALTER TABLE session TTL = seen + INTERVAL 1 DAY", "session_live:1,2,3,4", "session_live of session"},
			{"ALTER TABLE session TTL_JOB_INTERVAL = '5m'", "session_live:1,2,3,4", "session_live of session"},
			{"ALTER TABLE session ADD note TEXT, RENAME COLUMN seen TO at", "session_live:1,2,3,4", "session_live of session"},
			{"RENAME TABLE session TO visit", "session_live:1,2,3,4", "session_live of visit"},
			{"ALTER TABLE visit TTL_VIEW = 'visit_live'", "visit_live:1,2,3,4", "visit_live of visit"},
			{"CREATE TABLE twin LIKE visit", "visit_live:1,2,3,4", "visit_live of visit"},
			{"ALTER TABLE visit TTL_VIEW = ''", "", ""},
			{
				"ALTER TABLE visit DROP note, TTL = at + INTERVAL 1 HOUR TTL_VIEW = 'visit_live'", "visit_live:1,2,4",
				"visit_live of visit",
			},
			{"ALTER TABLE visit REMOVE TTL", "", ""},
			{
				"ALTER TABLE visit TTL = at + INTERVAL 1 HOUR TTL_TIME_ZONE = 'Europe/Berlin' TTL_VIEW = 'v'", "v:1,2,4",
				"v of visit",
			},
			{"DROP TABLE visit", "", ""},
			{
				"CREATE TABLE stamped (id INT PRIMARY KEY, at TIMESTAMP(6)) TTL = at + INTERVAL 0 SECOND TTL_VIEW = 'stamps'",
				"stamps:", "stamps of stamped",
			},
			{"CREATE OR REPLACE TABLE stamped (id INT)", "", ""},
		} {
			if strings.Contains(change.statement, "OR REPLACE") && !t.server.MariaDB() {
				change.statement = "DROP TABLE stamped"
			}
			t.exec(change.statement)
			t.wantViews(change.statement, change.seen, change.kept)
		}
	})
}

// TestOnlyOurViews: what TTL_VIEW did not make, or what somebody has changed since, is neither replaced
// nor dropped.
func TestOnlyOurViews(t *testing.T) {
	onStage(t, func(t *theatre) {
		t.someSessions()
		t.exec("CREATE TABLE taken (id INT)", "CREATE VIEW seen AS SELECT 7 AS id")
		for _, name := range []string{"taken", "seen", "session"} {
			t.fails(1050, "ALTER TABLE session TTL_VIEW = '"+name+"'")
			t.fails(1050, "ALTER TABLE session ADD note TEXT, TTL_VIEW = '"+name+"'")
		}
		t.fails(1064, "ALTER TABLE session TTL_VIEW = 'other.live'")
		t.fails(1050, "CREATE TABLE more (id INT, at DATETIME) TTL = at + INTERVAL 1 DAY TTL_VIEW = 'seen'")
		t.wantViews("what was refused", "seen:7", "")
		if got := t.created("session"); strings.Contains(got, "TTL_VIEW") || strings.Contains(got, "note") {
			t.Errorf("a refused statement has left something: %s", got)
		}

		// Two tables cannot have the same, and a dump loses only the view by that.
		t.exec("ALTER TABLE session TTL_VIEW = 'live'",
			"CREATE TABLE other (id INT, at DATETIME) TTL = at + INTERVAL 1 DAY")
		t.fails(1050, "ALTER TABLE other TTL_VIEW = 'live'")
		t.exec("CREATE TABLE dumped (id INT, at DATETIME) /*T![ttl] TTL = at + INTERVAL 1 DAY */ /*T! TTL_VIEW = 'live' */")
		t.wantViews("the second table", "live:1,2,4 seen:7", "live of session")

		// It was changed: it stays as it is.
		t.exec("CREATE OR REPLACE SQL SECURITY INVOKER VIEW live AS SELECT 8 AS id")
		t.fails(1105, "ALTER TABLE session TTL = seen + INTERVAL 2 HOUR")
		t.wantPolicy("session", "armed seen 1 HOUR 24h")
		t.exec("ALTER TABLE session ADD more TEXT")
		t.wantViews("an ALTER", "live:8 seen:7", "live of session")
		t.exec("ALTER TABLE session REMOVE TTL")
		t.wantViews("REMOVE TTL", "live:8 seen:7", "")

		// It was dropped, or is in nobody's way: it is made again.
		t.exec("DROP VIEW live", "ALTER TABLE other TTL_VIEW = 'live'", "DROP VIEW live", "ALTER TABLE other ADD more TEXT")
		t.wantViews("the next ALTER", "live: seen:7", "live of other")
	})
}

// TestViewsThatReadOtherwiseAreNotOurs: whose rights a view is read with, and what may be written through it, is not in
// its definition. Who has changed that keeps the view as it is.
func TestViewsThatReadOtherwiseAreNotOurs(t *testing.T) {
	onStage(t, func(t *theatre) {
		t.someSessions()
		for _, changed := range []struct{ before, behind string }{
			{"SQL SECURITY DEFINER VIEW live AS ", ""},
			{"SQL SECURITY INVOKER VIEW live AS ", " WITH CASCADED CHECK OPTION"},
			{"SQL SECURITY INVOKER VIEW live AS ", " WITH LOCAL CHECK OPTION"},
		} {
			as := func() string {
				return strings.Join(rows(t.T, t.direct, "SELECT VIEW_DEFINITION, SECURITY_TYPE, CHECK_OPTION FROM "+
					"information_schema.VIEWS WHERE TABLE_SCHEMA = '"+t.schema+"' AND TABLE_NAME = 'live'"), "")
			}
			t.exec("ALTER TABLE session TTL_VIEW = 'live'")
			text, _, _ := strings.Cut(as(), "|")
			t.exec("CREATE OR REPLACE " + changed.before + text + changed.behind)
			want := as()
			if same, _, _ := strings.Cut(want, "|"); same != text {
				t.Fatalf("%s%s is another definition: %s, not %s", changed.before, changed.behind, same, text)
			}

			t.fails(1105, "ALTER TABLE session TTL = seen + INTERVAL 2 HOUR")
			t.wantPolicy("session", "armed seen 1 HOUR 24h")
			t.exec("ALTER TABLE session COMMENT = 'altered'", "ALTER TABLE session TTL_VIEW = ''")
			if got := as(); got != want {
				t.Errorf("%s%s: the view is %q, want %q", changed.before, changed.behind, got, want)
			}
			t.exec("DROP VIEW live")
		}
	})
}

// TestLiveViewIsTheClients: the view is made with the rights of the client, and read with those of its
// reader.
func TestLiveViewIsTheClients(t *testing.T) {
	onStage(t, func(t *theatre) {
		t.someSessions()
		c := t.client("keeper", "", "SELECT, INSERT, DELETE, ALTER, DROP, CREATE ON $.session")
		c.run("USE " + t.schema)
		c.refused(1142, "ALTER TABLE session TTL_VIEW = 'live'")
		t.wantViews("a statement without CREATE VIEW", "", "")
		t.wantPolicy("session", "armed seen 1 HOUR 24h")

		user, _, _ := strings.Cut(accountOf(c), "@")
		t.exec("GRANT CREATE, CREATE VIEW, DROP, SELECT ON " + t.schema + ".live TO '" + user + "'@'%'")
		c.run("ALTER TABLE session TTL_VIEW = 'live'")
		t.wantViews("TTL_VIEW", "live:1,2,4", "live of session")

		// Another account may see what it would replace, or replaces nothing.
		heir := t.client("heir", "", "SELECT, INSERT, DELETE, ALTER, DROP, CREATE, CREATE VIEW ON $.*")
		heir.run("USE " + t.schema)
		heir.refused(1105, "ALTER TABLE session TTL = seen + INTERVAL 1 DAY")
		t.wantPolicy("session", "armed seen 1 HOUR 24h")
		user, _, _ = strings.Cut(accountOf(heir), "@")
		t.exec("GRANT SHOW VIEW ON " + t.schema + ".* TO '" + user + "'@'%'")
		heir.run("USE "+t.schema, "ALTER TABLE session TTL = seen + INTERVAL 1 DAY")
		t.wantViews("another account's TTL", "live:1,2,3,4", "live of session")

		reader := t.client("reader", "", "SELECT ON $.live")
		if _, err := reader.conn.ExecContext(t.Context(), "SELECT * FROM "+t.schema+".live"); err == nil {
			t.Error("a view of the client's lets somebody read who has no right on the table")
		}

		// Without a right on the view, a statement about something else is carried out all the same.
		c.run("ALTER TABLE session TTL_JOB_INTERVAL = '5m'", "ALTER TABLE session ADD more TEXT")
		t.wantViews("an ALTER without SHOW VIEW", "live:1,2,3,4", "live of session")
	})
}

// TestViewAcrossASwap: the view shows the table that has the name.
func TestViewAcrossASwap(t *testing.T) {
	onStage(t, func(t *theatre) {
		t.someSessions()
		t.exec("ALTER TABLE session TTL_VIEW = 'live'",
			"CREATE TABLE _session_gho LIKE session", "ALTER TABLE _session_gho ADD more TEXT",
			"INSERT INTO _session_gho (id, seen) SELECT id + 10, seen FROM session",
			"RENAME TABLE session TO _session_del, _session_gho TO session")
		t.wantViews("the swap", "live:11,12,14", "live of session")
		t.exec("DROP TABLE _session_del")
		t.wantViews("the end of the old table", "live:11,12,14", "live of session")
	})
}
