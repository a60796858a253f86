package catalog

import (
	"strings"
	"testing"
)

// TestOKIsNoProof: a statement that got OK but was not done to the table, as one of another text
// would, changes nothing.
func TestOKIsNoProof(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		p := b.declare(t, b.table(t, "a"))
		for _, kind := range []IntentKind{IntentDrop, IntentTruncate} {
			if err := b.stage(t, Intent{Kind: kind, Table: p.Table}).Commit(t.Context()); err != nil {
				t.Fatal(err)
			}
			b.wantState(t, "a", PolicyArmed)
		}

		got, err := b.Policy(t.Context(), p.Table)
		if err != nil || got.ID != p.ID {
			t.Errorf("got policy %d, %v, want the one it was, %d", got.ID, err, p.ID)
		}
	})
}

// TestStatementHidesNothing: what was done around the proxy before a statement through it is
// noticed all the same: columns made anew are looked at by the brake, and an exchanged partition is
// held.
func TestStatementHidesNothing(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		follow := func(p Policy, statement string) {
			t.Helper()
			g := b.stage(t, Intent{Kind: IntentAlter, Table: p.Table})
			b.exec(t, statement)
			if err := g.Commit(t.Context()); err != nil {
				t.Fatal(err)
			}
		}

		b.exec(t, "CREATE TABLE user.a (id INT PRIMARY KEY, at DATETIME, n INT)")
		b.exec(t, "INSERT INTO user.a VALUES (1, NOW(), 1)") // MySQL builds an empty table anew
		p := b.declare(t, b.named("a"))
		if _, err := b.Consent(t.Context(), "dba", p.ID, p.Version, Consent{}); err != nil {
			t.Fatal(err)
		}

		b.settleClock(t)
		b.exec(t, "ALTER TABLE user.a DROP COLUMN at, ADD COLUMN at DATETIME DEFAULT '2001-01-01' AFTER id")
		follow(p, "ALTER TABLE user.a COMMENT 'x'")
		if got, err := b.Policy(t.Context(), p.Table); err != nil || !got.Armed() || got.Approved() {
			t.Errorf("got %s %q, approved %v, %v, want it armed and not approved",
				got.State, got.Reason, got.Approved(), err)
		}

		const columns = " (id INT PRIMARY KEY, at DATETIME)"
		b.exec(t, "CREATE TABLE user.p"+columns+
			" PARTITION BY RANGE (id) (PARTITION p0 VALUES LESS THAN (10), PARTITION p1 VALUES LESS THAN (20))")
		b.exec(t, "CREATE TABLE user.before"+columns)
		b.exec(t, "INSERT INTO user.before VALUES (1, NOW())")
		b.exec(t, "CREATE TABLE user.meantime"+columns)
		p = b.declare(t, b.named("p"))
		b.exec(t, "ALTER TABLE user.p EXCHANGE PARTITION p0 WITH TABLE user.before")
		g := b.stage(t, Intent{Kind: IntentAlter, Table: p.Table})
		b.exec(t, "ALTER TABLE user.p EXCHANGE PARTITION p1 WITH TABLE user.meantime")
		b.exec(t, "ALTER TABLE user.p ADD PARTITION (PARTITION p2 VALUES LESS THAN (30))")

		if err := g.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}

		b.wantHeld(t, p, "p0", "p1")
	})
}

// wantHeld checks which of the partitions are held; a policy that is disarmed as a whole holds them
// all.
func (b *bench) wantHeld(t *testing.T, p Policy, want ...string) {
	t.Helper()
	all, err := b.Identities(t.Context(), p.ID)
	if err != nil {
		t.Fatal(err)
	}

	var held []string
	for _, i := range all {
		if i.Held.Holds() {
			held = append(held, i.Partition)
		}
	}

	if got := strings.Join(held, " "); got != strings.Join(want, " ") {
		t.Errorf("got partitions %q held, want %q", got, want)
	}
}
