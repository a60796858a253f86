package catalog

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// TestExportKeepsWhatIsWithheld: rows that nobody may delete before a person has looked are not deleted where the
// policies come back. What keeps them is in no rule, and another catalog would not know of it.
func TestExportKeepsWhatIsWithheld(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		declare := func(name string) Policy {
			t.Helper()
			b.exec(t, "CREATE TABLE user."+name+" (id BIGINT, at DATETIME, PRIMARY KEY (id, at)) PARTITION BY RANGE "+
				"COLUMNS (at) (PARTITION p0 VALUES LESS THAN ('2001-01-01'), PARTITION p1 VALUES LESS THAN ('2002-01-01'))")
			return b.declare(t, b.named(name))
		}
		exchange := func(name string) {
			t.Helper()
			b.exec(t, "CREATE TABLE user.old_"+name+" (id BIGINT, at DATETIME, PRIMARY KEY (id, at))")
			b.exec(t, "INSERT INTO user.old_"+name+" VALUES (1, '2001-06-01')")
			b.exec(t, "ALTER TABLE user."+name+" EXCHANGE PARTITION p1 WITH TABLE user.old_"+name)
		}

		declare("plain")
		held := declare("held")
		exchange("held")
		if _, _, err := b.Recognize(t.Context(), "test", held); err != nil {
			t.Fatal(err)
		}
		b.wantHeld(t, held, "p1")

		declare("unseen")
		exchange("unseen")
		replaced := b.declare(t, b.table(t, "replaced"))
		b.exec(t, "DROP TABLE user.replaced")
		b.exec(t, "INSERT INTO "+b.table(t, "replaced").String()+" VALUES (1, '2001-06-01')")

		braked := b.job(t, b.declare(t, b.table(t, "braked")), 1)
		if err := b.Ask(t.Context(), "test", braked, "far more than usual"); err != nil {
			t.Fatal(err)
		}
		b.declare(t, b.table(t, "staged"))
		b.stage(t, Intent{Kind: IntentAlter, Table: b.named("staged"), Imports: "IMPORT TABLESPACE"})

		got, err := b.Export(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for name, comment := range map[string]string{
			"plain":    "",
			"held":     "-- partition p1 is held: partition p1 was ",
			"unseen":   "-- not looked at yet: partition p1 was ",
			"replaced": "-- not looked at yet: the table was rebuilt or replaced",
			"braked":   "-- waits for approval: far more than usual",
			"staged":   "-- waits for approval: rows are being brought in by IMPORT TABLESPACE",
		} {
			on, comments := exported(t, got, b.named(name))
			said := comment == "" || slices.ContainsFunc(comments, func(c string) bool { return strings.HasPrefix(c, comment) })
			if on != (comment == "") || !said {
				t.Errorf("%s comes back switched on: %t, with %q, want %q", name, on, comments, comment)
			}
		}
		if p, err := b.PolicyByID(t.Context(), replaced.ID); err != nil || !sameRow(p, replaced) {
			t.Errorf("to export has changed a policy: %+v, %v", p, err)
		}
	})
}

// sameRow reports whether a policy is the same in all that an export could have changed.
func sameRow(p, q Policy) bool { return p.sameAs(q) && p.State == q.State && p.Approval == q.Approval }

// exported returns whether a table's policy comes back switched on, and the comments above its statement.
func exported(t *testing.T, text string, table Table) (on bool, comments []string) {
	t.Helper()
	for line := range strings.Lines(text) {
		switch line = strings.TrimSpace(line); {
		case strings.HasPrefix(line, "--"):
			comments = append(comments, line)
		case strings.HasPrefix(line, "ALTER TABLE "+table.String()+" "):
			return strings.Contains(line, "TTL_ENABLE='ON'"), comments
		default:
			comments = nil
		}
	}
	t.Errorf("no statement declares %s:\n%s", table, text)
	return false, nil
}

// TestExportOfAHeldServerPausesEverything: a new catalog has nothing to tell the server by that is held.
func TestExportOfAHeldServerPausesEverything(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		if err := b.Hold(t.Context(), "the server is\nanother one"); err != nil {
			t.Fatal(err)
		}
		const held = "-- the server is held: the server is another one\n"
		if got, err := b.Export(t.Context()); err != nil || got != held+"PAUSE TTL;\n" {
			t.Errorf("got %q, %v", got, err)
		}

		if err := b.Pause(t.Context(), "dba@%", PauseAll, "", time.Time{}); err != nil {
			t.Fatal(err)
		}
		if got, err := b.Export(t.Context()); err != nil || got != held+"-- paused by dba@%\nPAUSE TTL;\n" {
			t.Errorf("paused as well: got %q, %v", got, err)
		}
	})
}
