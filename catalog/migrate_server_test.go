package catalog

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
)

// steps returns the embedded migrations.
func steps(t *testing.T) []migration {
	t.Helper()
	all, err := migrations(migrationFiles)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// columns lists every column of the catalog.
func (b *bench) columns(t *testing.T) string {
	t.Helper()
	rows, err := b.db.QueryContext(t.Context(), `SELECT CONCAT(table_name, '.', column_name, ' ', column_type, ' ',
 is_nullable)
 FROM information_schema.columns WHERE table_schema = ? ORDER BY 1`, b.Schema())
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()

	var out []string
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			t.Fatal(err)
		}
		out = append(out, line)
	}

	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}

	return strings.Join(out, "\n")
}

func TestMigratesFromEveryEarlierVersion(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		want := b.columns(t)
		all := steps(t)
		for n := range all {
			b.exec(t, "DROP DATABASE "+b.Schema())
			if err := b.migrate(t.Context(), all[:n]); err != nil {
				t.Fatal(err)
			}
			if _, err := Open(t.Context(), b.db, b.Store.cfg); err != nil {
				t.Fatalf("from step %d: %v", n, err)
			}
			if got := b.columns(t); got != want {
				t.Errorf("from step %d: got\n%s\nwant\n%s", n, got, want)
			}
		}
	})
}

// TestMigrationGoesOnWhereItWasKilled: a migration is killed behind each of its statements in turn,
// and goes on from the first one each time.
func TestMigrationGoesOnWhereItWasKilled(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		want := b.columns(t)
		b.exec(t, "DROP DATABASE "+b.Schema())

		for i, m := range steps(t) {
			for done := range m.statements {
				half := m
				half.statements = append(slices.Clone(m.statements[:done+1]), "SIGNAL SQLSTATE '45000'")
				err := b.migrate(t.Context(), append(steps(t)[:i], half))
				if !isServerError(err, 1644) {
					t.Fatalf("%s killed after statement %d: got %v, want the signal", m.name, done+1, err)
				}
			}
		}

		if _, err := Open(t.Context(), b.db, b.Store.cfg); err != nil {
			t.Fatal(err)
		}
		if got := b.columns(t); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	})
}

func TestManyProxiesMigrateAtOnce(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		b.exec(t, "DROP DATABASE "+b.Schema())
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				if _, err := Open(t.Context(), b.db, b.Store.cfg); err != nil {
					t.Error(err)
				}
			})
		}

		wg.Wait()
		if n := b.scalar(t, "SELECT COUNT(*) FROM {migration}"); n != len(steps(t)) {
			t.Errorf("got %d migrations applied, want %d", n, len(steps(t)))
		}
		if n := b.scalar(t, "SELECT COUNT(*) FROM {lineage}"); n != 1 {
			t.Errorf("got %d servers in the lineage, want 1", n)
		}
	})
}

func TestOlderProxyRefusesANewerCatalog(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		all := steps(t)
		p := b.declare(t, b.table(t, "a"))
		b.exec(t, "INSERT INTO {migration} VALUES (?, 'next', REPEAT('0', 64), UTC_TIMESTAMP(6), 'v99')", len(all)+1)
		if _, err := Open(t.Context(), b.db, b.Store.cfg); !errors.Is(err, ErrNewerCatalog) ||
			!strings.Contains(fmt.Sprint(err), "v99") {
			t.Errorf("an older proxy starts: got %v, want %v naming the version that made it", err, ErrNewerCatalog)
		}
		if _, err := b.Policy(t.Context(), p.Table); err != nil {
			t.Errorf("an older proxy that runs already, during a rolling upgrade: %v", err)
		}
	})
}

func TestChangedMigrationIsDamage(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		b.exec(t, "UPDATE {migration} SET checksum = 'x' WHERE number = 2")
		if _, err := Open(t.Context(), b.db, b.Store.cfg); !errors.Is(err, ErrDamagedCatalog) {
			t.Errorf("got %v, want %v", err, ErrDamagedCatalog)
		}
	})
}
