package work

import (
	"errors"
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
		forest := f.forest()
		table.along = &along{forest: forest, same: "TRUE"}

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

// forest is what depends on rows of the table.
func (f *fixture) forest() *family.Forest {
	f.T.Helper()
	facts, err := tables.ReadFacts(f.T.Context(), f.Admin, f.Schema, "t")
	if err != nil {
		f.T.Fatal(err)
	}
	forest, why, err := family.Read(f.T.Context(), f.Admin, &facts.Layout, facts.Children)
	if err != nil || why != "" {
		f.T.Fatal(why, err)
	}
	return forest
}

// cascading is the table with a row of child for each of its own, and one of grandchild for each of
// those, that go by what their keys say.
func (f *fixture) cascading() *serverTable {
	f.T.Helper()
	f.Exec(f.In("CREATE TABLE {t}.child (id INT PRIMARY KEY, t INT, FOREIGN KEY (t) REFERENCES {t}.t (id) "+
		"ON DELETE CASCADE)"),
		f.In("CREATE TABLE {t}.grandchild (id INT PRIMARY KEY, child INT, FOREIGN KEY (child) REFERENCES {t}.child (id) "+
			"ON DELETE CASCADE)"),
		f.In("INSERT INTO {t}.child SELECT id, id FROM {t}.t"), f.In("INSERT INTO {t}.grandchild SELECT id, id FROM {t}.t"))
	f.Look()
	table, forest := f.serverTable(), f.forest()
	if why := forest.Cascade(); why != "" {
		f.T.Fatal(why)
	}
	table.along = &along{forest: forest, same: "TRUE"}
	return table
}

// left counts the rows of all three tables.
func (f *fixture) left() string {
	f.T.Helper()
	return f.Rows("t") + "/" + f.Rows("child") + "/" + f.Rows("grandchild")
}

// TestCascadeTakesWhatWasCounted: between the count and the DELETE, a session that checks no foreign
// keys adds a grandchild. Nothing goes, and with the next try it goes with the others.
func TestCascadeTakesWhatWasCounted(t *testing.T) {
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 100)
		table := f.cascading()
		keys, b := []tables.Key{{"1"}, {"3"}}, bounds{along: 100, listed: 1}
		gather := func() *family.Family {
			t.Helper()
			if err := table.beginAlong(t.Context()); err != nil {
				t.Fatal(err)
			}
			some, err := table.along.forest.Gather(t.Context(), table.session, keys, b.along)
			if err != nil {
				t.Fatal(err)
			}
			return some
		}

		counted := gather()
		unchecked, err := f.Admin.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer unchecked.Close()
		for _, s := range []string{"SET foreign_key_checks = 0", "INSERT INTO {t}.grandchild VALUES (1000, 3)"} {
			if _, err := unchecked.ExecContext(t.Context(), f.In(s)); err != nil {
				t.Fatal(err)
			}
		}
		done, err := table.endAlong(t.Context(), counted, checkpoint{cursor: keys[1]}, b, taken{rows: 6})
		if !errors.Is(err, errObstinate) || f.left() != "100/100/101" {
			t.Errorf("got %+v, %v, and %s rows are left; want none to go", done, err, f.left())
		}

		counted = gather()
		if counted.Size() != 7 {
			t.Errorf("then %d rows were counted, want 7", counted.Size())
		}
		done, err = table.endAlong(t.Context(), counted, checkpoint{cursor: keys[1]}, b, taken{rows: 7})
		if err != nil || f.left() != "98/98/98" {
			t.Errorf("then got %+v, %v, and %s rows are left; want 98/98/98", done, err, f.left())
		}
	})
}

// TestCascadeThatDoesNotCome: a trigger of the table keeps MariaDB from checking foreign keys, and so from
// cascading. Then no row goes without those that depend on it.
func TestCascadeThatDoesNotCome(t *testing.T) {
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 100)
		table := f.cascading()
		f.Exec(f.In("CREATE TABLE {t}.log (id INT PRIMARY KEY)"),
			f.In("CREATE TRIGGER {t}.unchecked BEFORE DELETE ON {t}.t FOR EACH ROW BEGIN SET foreign_key_checks = 0; "+
				"INSERT INTO {t}.log VALUES (OLD.id); END"))
		keys, b := []tables.Key{{"1"}, {"3"}}, bounds{along: 100, listed: 100}
		done, err := table.deleteAlong(t.Context(), keys, checkpoint{cursor: keys[1]}, b)
		if f.Store.Server().MariaDB {
			if !errors.Is(err, errObstinate) || f.left() != "100/100/100" {
				t.Errorf("got %+v, %v, and %s rows are left; want none to go", done, err, f.left())
			}
		} else if err != nil || f.left() != "98/98/98" {
			t.Errorf("got %+v, %v, and %s rows are left; want 98/98/98", done, err, f.left())
		}
	})
}
