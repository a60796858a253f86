package work

import (
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/ttl/family"
	"github.com/ttlproxy/ttlproxy/ttl/ttltest"
)

// TestFrozenFamilyIsLetGo: an engine is frozen between locking a row with all that depends on it and
// deleting them. Others get the rows after a few seconds, and the engine deletes nothing when it
// wakes up.
func TestFrozenFamilyIsLetGo(t *testing.T) {
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 100)
		f.Exec(f.In("CREATE TABLE {t}.child (id INT PRIMARY KEY, t INT, FOREIGN KEY (t) REFERENCES {t}.t (id))"),
			f.In("INSERT INTO {t}.child SELECT id, id FROM {t}.t"))
		f.Look()
		table := f.serverTable()
		facts, err := tables.ReadFacts(t.Context(), f.Admin, f.Schema, "t")
		if err != nil {
			t.Fatal(err)
		}
		forest, why, err := family.Read(t.Context(), f.Admin, &facts.Layout, facts.Children)
		if err != nil || why != "" {
			t.Fatal(why, err)
		}
		table.along = &along{forest: forest, same: map[tables.Target]string{}, all: "TRUE"}

		keys := []tables.Key{{"1"}, {"3"}}
		b := bounds{along: 100, listed: 100}
		if err := table.beginAlong(t.Context()); err != nil {
			t.Fatal(err)
		}
		free, _, err := table.lockFree(t.Context(), keys)
		if err != nil {
			t.Fatal(err)
		}
		frozen, err := forest.Gather(t.Context(), table.session, free, b.along)
		if err != nil || frozen.Size() != 4 {
			t.Fatalf("got %d rows, %v; want 4", frozen.Size(), err)
		}

		lock := f.In("SELECT id FROM {t}.child WHERE id = 3 FOR UPDATE NOWAIT")
		if _, err := f.Admin.ExecContext(t.Context(), lock); err == nil {
			t.Error("a row that depends on one that is about to go is not locked")
		}
		f.Wait("the server to let go of the rows", func() bool {
			_, err := f.Admin.ExecContext(t.Context(), lock)
			return err == nil
		})

		if _, err := table.endAlong(t.Context(), frozen, checkpoint{cursor: keys[1]}, b, taken{rows: 4}); err == nil {
			t.Error("the engine has deleted what it had let go of")
		}
		if left := f.Rows("t") + "/" + f.Rows("child"); left != "100/100" {
			t.Errorf("%s rows are left of 100/100", left)
		}

		done, err := table.deleteAlong(t.Context(), keys, checkpoint{cursor: keys[1]}, b)
		if err != nil || done.rows != 4 || f.Rows("t")+"/"+f.Rows("child") != "98/98" {
			t.Errorf("later, got %+v, %v, and %s/%s rows are left; want 98/98", done, err, f.Rows("t"), f.Rows("child"))
		}
	})
}
