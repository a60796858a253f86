package catalog

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestUninstallLeavesNothing(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		node := b.node(t)
		if _, err := b.Uninstall(t.Context()); !errors.Is(err, ErrInUse) {
			t.Errorf("with a live node: got %v, want %v", err, ErrInUse)
		}
		if err := b.Leave(t.Context(), node); err != nil {
			t.Fatal(err)
		}

		removal, err := b.Uninstall(t.Context())
		if err != nil || removal.Kept != "" {
			t.Fatalf("got %+v, %v, want the schema to go", removal, err)
		}
		if !strings.HasPrefix(removal.Account, "'root'@'") {
			t.Errorf("got account %s", removal.Account)
		}
		if err := removal.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if b.scalar(t, "SELECT COUNT(*) FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = '"+b.Schema()+"'") != 0 {
			t.Error("the schema is still there")
		}
		if _, err := OpenExisting(t.Context(), b.db, Config{Schema: b.Schema()}); !errors.Is(err, ErrNoCatalog) {
			t.Errorf("got %v, want %v", err, ErrNoCatalog)
		}
	})
}

// TestUninstallNamesWhatPartitionsHaveBecome: every table that a partition has become, or may have become, is named. When
// the catalog is gone nobody else knows.
func TestUninstallNamesWhatPartitionsHaveBecome(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		for _, state := range []DepartureState{
			DepartureReady, DepartureBarred, DepartureWaits, DepartureRefused, DepartureTaken, DepartureSettled,
			DepartureKept, DepartureEnding, DepartureRestored,
		} {
			for _, side := range []string{"", "side_" + string(state)} {
				b.exec(t, "INSERT INTO "+b.Name("departure")+" (policy_id, partition_name, how, job_id, task_id, fence, "+
					"server, due, state, state_at, reason, side_schema, side_name) VALUES (7, 'p"+side+string(state)+
					"', 'EXCHANGE', 1, 1, 1, '', 0, '"+string(state)+"', UTC_TIMESTAMP(6), '', 'shop', '"+side+"')")
			}
		}

		r, err := b.Uninstall(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		named := func(tables []Table) (names []string) {
			for _, t := range tables {
				names = append(names, t.Name)
			}
			return names
		}
		if got, want := named(r.Asides), []string{
			"side_ending", "side_kept", "side_restored", "side_taken",
		}; !slices.Equal(got, want) {
			t.Errorf("what is there: got %q, want %q", got, want)
		}
		if got, want := named(r.MaybeAsides), []string{
			"side_barred", "side_ready", "side_refused", "side_waits",
		}; !slices.Equal(got, want) {
			t.Errorf("what may be there: got %q, want %q", got, want)
		}
	})
}

// TestUninstallDropsOnlyWhatIsOurs puts other people's things into the schema before the catalog
// goes, of every kind, also between the question and the answer.
func TestUninstallDropsOnlyWhatIsOurs(t *testing.T) {
	t.Parallel()
	for kind, create := range map[string]string{
		"table":    "CREATE TABLE important (id INT PRIMARY KEY)",
		"view":     "CREATE VIEW important AS SELECT 1 AS id",
		"function": "CREATE FUNCTION important() RETURNS INT DETERMINISTIC RETURN 1",
		"event":    "CREATE EVENT important ON SCHEDULE EVERY 1 DAY DISABLE DO DO 1",
		"library":  "CREATE LIBRARY important LANGUAGE JAVASCRIPT AS $$ export function f(n) { return n } $$",
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			onServers(t, func(t *testing.T, b *bench) {
				if kind == "library" && b.scalar(t, "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = "+
					"'information_schema' AND TABLE_NAME = 'LIBRARIES'") == 0 {
					t.Skip("MariaDB, and MySQL before 9.2, have none")
				}
				removal, err := b.Uninstall(t.Context())
				if err != nil {
					t.Fatal(err)
				}

				b.exec(t, strings.Replace(create, "important", b.schema+".important", 1))

				if err := removal.Run(t.Context()); err != nil {
					t.Fatal(err)
				}
				if removal.Kept == "" {
					t.Error("the schema is said to be dropped")
				}

				got, err := b.contents(t.Context())
				want := []object{{strings.ToUpper(kind), "important"}}
				if err != nil || !slices.Equal(got, want) {
					t.Errorf("got %v, %v, want %v to be left, and nothing else", got, err, want)
				}
			})
		})
	}
}

// TestProbesOfOthersAreNotOurs: what a checkup leaves behind goes with the schema, and is told from what others keep by
// more than how its name begins.
func TestProbesOfOthersAreNotOurs(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		probe := b.schema + "." + ProbePrefix + "abcdefghijklmnopqrstuvwx27"
		b.exec(t, "CREATE TABLE "+probe+" (id INT PRIMARY KEY)")
		b.exec(t, "CREATE VIEW "+probe+"_view AS SELECT 1 AS id")
		if removal, err := b.Uninstall(t.Context()); err != nil || removal.Kept != "" {
			t.Errorf("with a probe: got %+v, %v, want the schema to go", removal, err)
		}

		for kind, create := range map[string]string{
			"TABLE":    "CREATE TABLE {s}.check_probe_results (id INT PRIMARY KEY)",
			"VIEW":     "CREATE VIEW {s}.check_probe_results AS SELECT 1 AS id",
			"FUNCTION": "CREATE FUNCTION {s}.check_probe_abcdefghijklmnopqrstuvwx27() RETURNS INT DETERMINISTIC RETURN 1",
		} {
			b.exec(t, strings.Replace(create, "{s}", b.schema, 1))
			removal, err := b.Uninstall(t.Context())
			if err != nil || !strings.Contains(removal.Kept, strings.ToLower(kind)+" `check_probe_") {
				t.Errorf("with a %s of others: got %+v, %v, want the schema to stay", kind, removal, err)
			}
			if kind == "FUNCTION" {
				b.exec(t, "DROP FUNCTION "+probe)
			} else {
				b.exec(t, "DROP "+kind+" "+b.schema+".check_probe_results")
			}
		}
	})
}

// TestUninstallDropsNoMoreThanItSaid: a schema of which people were told that it stays is not
// dropped, whatever has left it since.
func TestUninstallDropsNoMoreThanItSaid(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		b.exec(t, "CREATE TABLE "+b.schema+".important (id INT PRIMARY KEY)")
		removal, err := b.Uninstall(t.Context())
		if err != nil || removal.Kept == "" {
			t.Fatalf("got %+v, %v", removal, err)
		}

		b.exec(t, "DROP TABLE "+b.schema+".important")

		if err := removal.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := b.scalar(t, "SELECT COUNT(*) FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = '"+b.Schema()+
			"'"); n != 1 {
			t.Error("the schema was dropped")
		}
	})
}

// TestNamesAloneAreNotOurs: tables and views that are called like some of ours are other people's
// as long as there is no catalog.
func TestNamesAloneAreNotOurs(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		event := b.table(t, "event")
		b.exec(t, "CREATE VIEW "+event.Schema+".jobs AS SELECT 1 AS mine")

		if _, err := Open(t.Context(), b.db, Config{Schema: event.Schema}); !errors.Is(err, ErrSharedSchema) {
			t.Errorf("got %v, want %v", err, ErrSharedSchema)
		}

		got := b.scalar(t, "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = '"+event.Schema+"'")
		mine := b.scalar(t, "SELECT mine FROM "+event.Schema+".jobs")
		if got != 2 || mine != 1 {
			t.Errorf("%d tables and views, want 2; the view says %d", got, mine)
		}
	})
}

// TestSchemaMustBeOurOwn: where others keep something, no catalog is made and none is opened for
// work.
func TestSchemaMustBeOurOwn(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		ops := b.table(t, "important").Schema
		b.exec(t, "CREATE TABLE "+b.schema+".important (id INT PRIMARY KEY)")

		for _, schema := range []string{ops, b.Schema()} {
			_, err := Open(t.Context(), b.db, Config{Schema: schema})
			if !errors.Is(err, ErrSharedSchema) || !strings.Contains(err.Error(), "table `important`") {
				t.Errorf("schema %s: got %v, want %v and the table", schema, err, ErrSharedSchema)
			}
		}

		if n := b.scalar(t, "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = '"+ops+"'"); n != 1 {
			t.Errorf("%d tables in a schema that is not ours", n)
		}

		// What is there can still be exported and removed.
		store, err := OpenExisting(t.Context(), b.db, Config{Schema: b.Schema()})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := store.Export(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// TestUninstallNeedsToSee: an account that cannot see routines and events does not drop the schema
// around them.
func TestUninstallNeedsToSee(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		db := openDB(t, b.service(t, "sees_"+b.user))
		plan := func() *Removal {
			t.Helper()
			store, err := OpenExisting(t.Context(), db, Config{Schema: b.Schema()})
			if err != nil {
				t.Fatal(err)
			}

			removal, err := store.Uninstall(t.Context())
			if err != nil {
				t.Fatal(err)
			}

			return removal
		}

		if r := plan(); r.Kept != "" {
			t.Errorf("with the rights that init grants: %s", r.Kept)
		}

		b.exec(t, "REVOKE EXECUTE, EVENT ON "+Pattern(b.Schema())+".* FROM sees_"+b.user)
		if r := plan(); !strings.Contains(r.Kept, "EXECUTE and EVENT") {
			t.Errorf("without them: got %q", r.Kept)
		}
	})
}

// TestUninstallOfWhatIsBeingRead: a dump that is under way makes it remove nothing, not the half; and so does whoever
// has had enough of waiting.
func TestUninstallOfWhatIsBeingRead(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		before, err := b.contents(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		reader, err := b.db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := reader.ExecContext(t.Context(), b.sql("SELECT COUNT(*) FROM {policy}")); err != nil {
			t.Fatal(err)
		}

		removal, err := b.Uninstall(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		enough, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		for _, ctx := range []context.Context{enough, t.Context()} {
			if err := removal.Run(ctx); err == nil || !strings.Contains(err.Error(), "nothing was removed") {
				t.Errorf("got %v", err)
			}
			if after, err := b.contents(t.Context()); err != nil || !slices.Equal(after, before) {
				t.Errorf("got %v, %v, want everything to be left: %v", after, err, before)
			}
		}

		if err := reader.Rollback(); err != nil {
			t.Fatal(err)
		}
		if err := removal.Run(t.Context()); err != nil || removal.Kept != "" {
			t.Errorf("once it is not read any more: got %v, %q", err, removal.Kept)
		}
	})
}

// TestUninstallFinishesWhatSomebodyHasBegun: of a catalog that is half removed, the rest can be.
func TestUninstallFinishesWhatSomebodyHasBegun(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		b.exec(t, "DROP TABLE {task}, {node}, {departure}, {live_view}, {policy_identity}")
		b.exec(t, "DROP VIEW {policies}")
		store, err := OpenToRemove(t.Context(), b.db, Config{Schema: b.Schema()})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := store.Export(t.Context()); !errors.Is(err, ErrDamagedCatalog) {
			t.Errorf("export: got %v, want %v", err, ErrDamagedCatalog)
		}

		removal, err := store.Uninstall(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := removal.Run(t.Context()); err != nil || removal.Kept != "" {
			t.Errorf("got %v, %q", err, removal.Kept)
		}
		if _, err := OpenToRemove(t.Context(), b.db, Config{Schema: b.Schema()}); !errors.Is(err, ErrNoCatalog) {
			t.Errorf("afterwards: got %v, want %v", err, ErrNoCatalog)
		}
	})
}

// TestUninstallLooksRightBeforeTheSchemaGoes: whatever has come into the schema while tables were dropped stays.
func TestUninstallLooksRightBeforeTheSchemaGoes(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		removal, err := b.Uninstall(t.Context())
		if err != nil || removal.Kept != "" {
			t.Fatalf("got %+v, %v", removal, err)
		}
		conn, err := b.db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()

		statements := removal.Statements()
		for _, q := range statements[:len(statements)-1] {
			if _, err := conn.ExecContext(t.Context(), q); err != nil {
				t.Fatalf("%s: %v", q, err)
			}
		}
		b.exec(t, "CREATE TABLE "+b.schema+".job (mine INT PRIMARY KEY)") // by the name of one of ours

		if err := removal.dropSchema(t.Context(), conn); err != nil || removal.Kept != "it also holds table `job`" {
			t.Errorf("got %v, kept %q", err, removal.Kept)
		}
		if got, err := b.contents(t.Context()); err != nil || !slices.Equal(got, []object{{"TABLE", "job"}}) {
			t.Errorf("got %v, %v, want what is not ours", got, err)
		}
	})
}
