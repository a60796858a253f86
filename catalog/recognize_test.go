package catalog

import (
	"database/sql"
	"fmt"
	"reflect"
	"testing"

	"github.com/ttlproxy/ttlproxy/catalog/tables"
)

// TestFirstSightWaitsForAVoucher: what a member of a cluster sees for the first time is held while
// a node on a member that knows the table can be asked, which lets it go when the table is the same
// there; not when another has taken its name.
func TestFirstSightWaitsForAVoucher(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		other := b.node(t)
		b.exec(t, fmt.Sprintf("UPDATE {node} SET server = 'other', engine = TRUE WHERE id = %d", other))
		const first = tables.FirstSight
		held := func(p Policy, server string) (held tables.HoldCode) {
			t.Helper()
			if err := b.db.QueryRowContext(t.Context(),
				b.sql("SELECT COALESCE(MAX(held_code), MAX(held), '') FROM {policy_identity} "+
					"WHERE policy_id = ? AND server = "+server), p.ID).Scan(&held); err != nil {
				t.Fatal(err)
			}
			return held
		}

		recognize := func(p Policy) tables.Incarnation {
			t.Helper()
			known, why, err := b.Recognize(t.Context(), "test", p)
			if err != nil || why != "" || len(known) != 1 {
				t.Fatalf("got %+v, %q, %v", known, why, err)
			}
			return known
		}

		p := b.declare(t, b.table(t, "a")) // over there, as the catalog says
		b.exec(t, "UPDATE {policy_identity} SET server = 'other'")
		for range 2 {
			if known := recognize(p); known.Table().Held.Code != first || held(p, "{server-key}") != first {
				t.Errorf("got %+v at first sight, want it to be held", known)
			}
		}

		b.exec(t, "UPDATE {node} SET left_at = UTC_TIMESTAMP(6)")
		if known := recognize(p); known.Table().Held.Holds() || held(p, "{server-key}") != "" {
			t.Errorf("got %+v when nobody can be asked, want it to be let go", known)
		}

		// Seen from the other side: this member knows the table, and the other one waits.
		b.exec(t, "UPDATE {node} SET left_at = NULL")
		b.exec(t, "UPDATE {policy_identity} SET held_code = ?, held = 'because' WHERE server = 'other'", string(first))
		if err := b.Vouch(t.Context(), "test"); err != nil || held(p, "'other'") != "" {
			t.Errorf("got %v, held %q, want the other member to be let go", err, held(p, "'other'"))
		}

		// as a version without codes writes it
		b.exec(t, "UPDATE {policy_identity} SET held_code = NULL, held = ? WHERE server = 'other'", string(first))
		b.exec(t, "CREATE TABLE user.twin (id BIGINT PRIMARY KEY, at DATE)")
		b.exec(t, "RENAME TABLE user.a TO user.gone, user.twin TO user.a")
		if err := b.Vouch(t.Context(), "test"); err != nil || held(p, "'other'") != first {
			t.Errorf("got %v, held %q, want nobody to vouch for another table", err, held(p, "'other'"))
		}
		if now, err := b.PolicyByID(t.Context(), p.ID); err != nil || now.State != PolicyDisarmed {
			t.Errorf("the policy is %s, %v, want it to be disarmed", now.State, err)
		}
	})
}

// TestHoldsOfTheServerThatKnowsBest: what is held is what the server says that saw the table last, for whoever asks on
// another one; what ends by itself is not among it.
func TestHoldsOfTheServerThatKnowsBest(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		p, q := b.declare(t, b.table(t, "a")), b.declare(t, b.table(t, "b"))
		remember := func(p Policy, server, partition, code string, minutesAgo int) {
			t.Helper()
			var held sql.Null[string]
			if held.V = code; code != "" {
				held.Valid = true
			}
			b.exec(t, "INSERT INTO {policy_identity} (policy_id, partition_name, server, innodb_table_id, held_code, held, "+
				"seen_at) VALUES (?, ?, ?, 1, ?, ?, UTC_TIMESTAMP(6) + INTERVAL ? MINUTE)", p.ID, partition, server, held, held,
				10-minutesAgo)
		}
		remember(p, "here", "p0", "", 5)
		remember(p, "here", "p1", "", 5)
		remember(p, "there", "p0", "replaced", 2)
		remember(p, "there", "p1", "", 2)
		remember(p, "before", "p1", "made", 9)
		remember(q, "here", "p0", string(tables.FirstSight), 5)
		want := map[uint64]Holds{p.ID: {Places: []HeldPlace{{"p0", "replaced"}}}}
		if got, err := b.Holds(t.Context()); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v, %v, want %+v", got, err, want)
		}

		remember(p, "last", "p0", "replaced", 1)
		want[p.ID] = Holds{Places: []HeldPlace{{"p0", "replaced"}}, All: true}
		if got, err := b.Holds(t.Context()); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("where it is the only partition: got %+v, %v, want %+v", got, err, want)
		}
	})
}
