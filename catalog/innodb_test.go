package catalog

import (
	"strings"
	"testing"
	"unicode"

	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/ddl"
)

// Tables are found by their names, each by its own, whatever letters those are of.
func TestTableIDsOfNamesBeyondASCII(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		var names []string
		for _, alphabet := range []rune{
			0xC0, 0x100, 0x180, 0x370, 0x400, 0x530, 0x1E00, 0x1F00, 0x2160, 0x24B6, 0x4E00,
			0xAC00, 0xFF21,
		} {
			var name strings.Builder
			for c := alphabet; c < alphabet+48; c++ {
				if unicode.IsGraphic(c) {
					name.WriteRune(c)
				}
			}
			names = append(names, name.String())
		}

		names = append(names, "表 日本語", "a-b.c/d#p#e", "tab", "TAB", "été", "Été", "$x`y")
		ids := map[uint64]string{}
		for _, name := range names {
			b.exec(t, "CREATE TABLE user."+ddl.Quote(name)+
				" (id INT PRIMARY KEY) PARTITION BY RANGE (id) (PARTITION `Pé` VALUES LESS THAN (10), PARTITION q "+
				"VALUES LESS THAN (20))")
			seen, err := b.Look(t.Context(), b.named(name))
			if err != nil || len(seen.Incarnation) != 3 {
				t.Fatalf("%s: got %+v, %v", name, seen, err)
			}

			for _, i := range seen.Incarnation[1:] {
				if other, known := ids[i.TableID]; known || i.TableID == 0 {
					t.Errorf("%s, partition %s: got id %d, which is that of %q", name, i.Partition, i.TableID, other)
				}

				ids[i.TableID] = name
				condition, ok := b.IdentityCondition(b.named(name), seen.Incarnation.Table().CreateTime, i)
				if !ok || b.scalar(t, "SELECT "+condition) != 1 {
					t.Errorf("%s, partition %s: the condition does not hold: %s", name, i.Partition, condition)
				}
			}
		}

		if len(ids) != 2*len(names) {
			t.Errorf("got %d ids of %d tables", len(ids), len(names))
		}
	})
}

// A partition has the ids of all its subpartitions: it is another one when any of them is.
func TestIdentityOfSubpartitions(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		b.exec(t,
			"CREATE TABLE user.s (id INT, n INT, PRIMARY KEY (id, n)) PARTITION BY RANGE (id) SUBPARTITION BY HASH (n)"+
				" (PARTITION p VALUES LESS THAN (10) (SUBPARTITION a, SUBPARTITION b, SUBPARTITION c), PARTITION q "+
				"VALUES LESS THAN (20) (SUBPARTITION d, SUBPARTITION e, SUBPARTITION f))")
		b.exec(t, "CREATE TABLE user.other (id INT, n INT, PRIMARY KEY (id, n))")
		before, err := b.Look(t.Context(), b.named("s"))
		if err != nil || len(before.Incarnation) != 3 {
			t.Fatalf("got %+v, %v", before, err)
		}

		holds := func(i tables.Identity) bool {
			condition, ok := b.IdentityCondition(b.named("s"), before.Incarnation[0].CreateTime, i)
			return ok && b.scalar(t, "SELECT "+condition) == 1
		}
		if p, q := before.Incarnation[1], before.Incarnation[2]; !holds(p) || !holds(q) {
			t.Errorf("got %v of p and %v of q, want both conditions to hold", holds(p), holds(q))
		}

		b.exec(t, "ALTER TABLE user.s EXCHANGE PARTITION b WITH TABLE user.other")
		if p, q := before.Incarnation[1], before.Incarnation[2]; holds(p) || !holds(q) {
			t.Errorf("got %v of p and %v of q, want that of the one with another subpartition not to hold",
				holds(p), holds(q))
		}

		after, err := b.Look(t.Context(), b.named("s"))
		if err != nil {
			t.Fatal(err)
		}

		got := tables.Compare(before.Shape, "", before.Incarnation, after)
		if got.How != tables.Changed || !got.Now[1].Held.Holds() || got.Now[2].Held.Holds() {
			t.Errorf("got %+v, want p to be held alone", got)
		}
	})
}

// MySQL knows no id of a table in a tablespace that it shares: nothing is deleted from it, and with
// a file of its own it counts as another.
func TestSharedTablespaceHasNoIDs(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		if b.Server().MariaDB {
			return // which has ids of tables
		}

		b.exec(t, "CREATE TABLE user.shared (id INT PRIMARY KEY) TABLESPACE = innodb_system")
		before, err := b.Look(t.Context(), b.named("shared"))
		if err != nil {
			t.Fatal(err)
		}
		if condition, ok := b.IdentityCondition(b.named("shared"), before.Incarnation[0].CreateTime,
			before.Incarnation[0]); ok {
			t.Errorf("got condition %q, want none", condition)
		}

		b.exec(t, "ALTER TABLE user.shared TABLESPACE = innodb_file_per_table")
		after, err := b.Look(t.Context(), b.named("shared"))
		if err != nil {
			t.Fatal(err)
		}
		if got := tables.Compare(before.Shape, "", before.Incarnation, after); got.How != tables.Stranger {
			t.Errorf("got %+v, want another table", got)
		}
	})
}

// TestWithoutIDsItIsSaidWhy: a policy whose table has no id any more, where ids can be read, is disarmed for what that
// comes from, and not for a right that nobody lacks.
func TestWithoutIDsItIsSaidWhy(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		cases := map[string]string{"ENGINE = MyISAM": "its engine is MyISAM, not InnoDB"}
		if !b.Server().MariaDB { // which has ids of tables
			cases["TABLESPACE = innodb_system"] = "innodb_file_per_table"
		}
		for option, want := range cases {
			name := strings.ToLower(strings.Fields(option)[0]) + "s"
			p := b.declare(t, b.table(t, name))
			b.exec(t, "UPDATE {policy_identity} SET create_time = create_time - INTERVAL 1 SECOND")
			b.exec(t, "ALTER TABLE user."+name+" "+option)
			_, why, err := b.Recognize(t.Context(), "node", p)
			if err != nil || !strings.Contains(why, want) || strings.Contains(why, "PROCESS") {
				t.Errorf("%s: got %q, %v, want %q", option, why, err, want)
			}
			b.wantState(t, name, PolicyDisarmed)
		}
	})
}
