package catalog

import (
	"context"
	"reflect"
	"testing"

	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
)

// TestFamiliarIsWhatRecognizeSays: tables that are in every way what is remembered of them, however
// they are called, are familiar, with what Recognize says of them; all others are not.
func TestFamiliarIsWhatRecognizeSays(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		const columns = " (id BIGINT NOT NULL, n INT NOT NULL, at DATE, s VARCHAR(9) COLLATE utf8mb4_bin," +
			" d DATE AS (at + INTERVAL 1 DAY) STORED, PRIMARY KEY (n, id))"
		declare := func(name Table, made string) Policy {
			t.Helper()
			b.exec(t, "CREATE TABLE "+ddl.QuoteTable(name.Schema, name.Name)+made)
			return b.declare(t, name)
		}

		other := b.user + " 50%?"
		b.exec(t, "CREATE DATABASE "+ddl.Quote(other))
		t.Cleanup(func() {
			if err := mysqltest.Insist(context.Background(), b.db, "DROP DATABASE "+ddl.Quote(other)); err != nil {
				t.Error(err)
			}
		})

		var same []Policy
		for _, name := range []string{"plain", "PLAIN", "a-b.c/d#p#e", `ta'b\`, "été", "表 ?", "$x`y", "50%d"} {
			same = append(same, declare(b.named(name), columns))
		}

		same = append(same,
			declare(Table{Schema: other, Name: "plain"}, columns),
			declare(b.named("keyless"), " (id INT, at DATE)"),
			declare(b.named("unique"), " (id INT NOT NULL UNIQUE, at DATE)"),
		)

		// Where only the id or the time differs, that alone tells.
		asked, different := same, map[uint64]string{}
		differs := func(what string, p Policy, statements ...string) {
			t.Helper()
			asked = append(asked, p)
			different[p.ID] = what
			for _, s := range statements {
				b.exec(t, s)
			}

			seen, err := b.Look(t.Context(), p.Table)
			if err != nil {
				t.Fatal(err)
			}
			if seen.Exists && what != "of another id" {
				b.exec(t, "UPDATE {policy_identity} SET innodb_table_id = ? WHERE policy_id = ?",
					seen.Incarnation.Table().TableID, p.ID)
			}
			if seen.Exists && what != "of another time" {
				b.exec(t, "UPDATE {policy_identity} SET create_time = ? WHERE policy_id = ?",
					seen.Incarnation.Table().CreateTime, p.ID)
			}
		}

		differs("grown", declare(b.named("g"), columns), "ALTER TABLE user.g ADD COLUMN more INT")
		differs("retyped", declare(b.named("r"), columns),
			"ALTER TABLE user.r MODIFY s VARCHAR(9) COLLATE utf8mb4_general_ci")
		differs("of another key", declare(b.named("k"), columns),
			"ALTER TABLE user.k DROP PRIMARY KEY, ADD PRIMARY KEY (id, n)")
		differs("of another id", declare(b.named("i"), columns), "ALTER TABLE user.i FORCE")
		differs("gone", declare(b.named("x"), columns), "DROP TABLE user.x")
		differs("partitioned", declare(b.named("p"),
			" (id INT PRIMARY KEY, at DATE) PARTITION BY HASH (id) PARTITIONS 2"))
		late := declare(b.named("l"), columns)
		differs("of another time", late)
		b.exec(t, "UPDATE {policy_identity} SET create_time = create_time - INTERVAL 1 SECOND WHERE policy_id = ?",
			late.ID)
		held := declare(b.named("h"), columns)
		differs("held", held)
		b.exec(t, "UPDATE {policy_identity} SET held = ? WHERE policy_id = ?", string(tables.FirstSight), held.ID)
		first := declare(b.named("f"), columns)
		differs("seen for the first time", first)
		b.exec(t, "UPDATE {policy_identity} SET server = 'elsewhere' WHERE policy_id = ?", first.ID)

		familiar, err := b.Familiar(t.Context(), asked)
		if err != nil {
			t.Fatal(err)
		}

		for _, p := range same {
			want, why, err := b.Recognize(t.Context(), "test", p)
			if err != nil || why != "" || len(want) != 1 || !reflect.DeepEqual(familiar[p.ID], want) {
				t.Errorf("%s: got %+v, want %+v, %q, %v", p.Table, familiar[p.ID], want, why, err)
			}
		}

		for id, what := range different {
			if got, found := familiar[id]; found {
				t.Errorf("a table that is %s is familiar: %+v", what, got)
			}
		}
	})
}
