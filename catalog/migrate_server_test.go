package catalog

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
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

// shape lists every column, index and constraint of the catalog, its views, and the rows that it is
// born with. Of a view's column, what it is without a value is left out: MySQL does not always
// work that out in the same way.
func (b *bench) shape(t *testing.T) (lines []string) {
	t.Helper()
	rows, err := b.db.QueryContext(t.Context(), b.sql(`SELECT CONCAT_WS(' ', table_name, column_name, ordinal_position,
 column_type, collation_name, IF(table_type = 'VIEW', '', CONCAT_WS(' ', is_nullable, column_default, extra,
 generation_expression, column_comment))) AS line
 FROM information_schema.columns JOIN information_schema.tables USING (table_schema, table_name)
 WHERE table_schema = ?
UNION ALL SELECT CONCAT_WS(' ', table_name, index_name, seq_in_index, column_name, non_unique, sub_part)
 FROM information_schema.statistics WHERE table_schema = ?
UNION ALL SELECT CONCAT_WS(' ', table_name, constraint_name, constraint_type)
 FROM information_schema.table_constraints WHERE table_schema = ?
UNION ALL SELECT CONCAT_WS(' ', constraint_name, unique_constraint_name, delete_rule, referenced_table_name)
 FROM information_schema.referential_constraints WHERE constraint_schema = ?
UNION ALL SELECT CONCAT_WS(' ', constraint_name, check_clause)
 FROM information_schema.check_constraints WHERE constraint_schema = ?
UNION ALL SELECT CONCAT_WS(' ', table_name, definer, security_type, REPLACE(view_definition, table_schema, ''))
 FROM information_schema.views WHERE table_schema = ?
UNION ALL SELECT CONCAT_WS(' ', 'migration', number, name, checksum, applied_by) FROM {migration}
UNION ALL SELECT CONCAT_WS(' ', 'pause', policy_id, paused, reason, held, held_reason) FROM {pause}
UNION ALL SELECT CONCAT_WS(' ', 'generation', id, value, catalog_id <> '') FROM {generation}
UNION ALL SELECT CONCAT_WS(' ', 'lineage', server, trusted, trusted_by) FROM {lineage}
UNION ALL SELECT CONCAT_WS(' ', table_name, table_type, engine, table_collation)
 FROM information_schema.tables WHERE table_schema = ? ORDER BY 1`),
		b.Schema(), b.Schema(), b.Schema(), b.Schema(), b.Schema(), b.Schema(), b.Schema())
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()

	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, line)
	}

	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}

	return lines
}

// newShape is the shape of a catalog that this test's account makes: the one that it was given may be
// another account's. There is none any more then.
func (b *bench) newShape(t *testing.T) (lines []string) {
	t.Helper()
	b.exec(t, "DROP DATABASE "+b.Schema())
	if _, err := Open(t.Context(), b.db, b.Store.cfg); err != nil {
		t.Fatal(err)
	}
	lines = b.shape(t)
	b.exec(t, "DROP DATABASE "+b.Schema())
	return lines
}

func TestMigratesFromEveryEarlierVersion(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		want := b.newShape(t)
		all := steps(t)
		for n := range all {
			if err := b.migrate(t.Context(), all[:n]); err != nil {
				t.Fatal(err)
			}
			if _, err := Open(t.Context(), b.db, b.Store.cfg); err != nil {
				t.Fatalf("from step %d: %v", n, err)
			}
			if diff := cmp.Diff(want, b.shape(t)); diff != "" {
				t.Errorf("from step %d (-want, +got):\n%s", n, diff)
			}
			b.exec(t, "DROP DATABASE "+b.Schema())
		}
	})
}

// TestMigrationGoesOnWhereItWasKilled: a migration is killed behind each of its statements in turn,
// and goes on from the first one each time.
func TestMigrationGoesOnWhereItWasKilled(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		want := b.newShape(t)
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
		if diff := cmp.Diff(want, b.shape(t)); diff != "" {
			t.Errorf("(-want, +got):\n%s", diff)
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

// later are the steps of a version that knows one more, which makes a table and then does as told.
func later(t *testing.T, then ...string) []migration {
	t.Helper()
	all := steps(t)
	return append(all, migration{
		number: len(all) + 1, name: "later", checksum: strings.Repeat("0", 64),
		statements: append([]string{"CREATE TABLE IF NOT EXISTS ledger (id INT PRIMARY KEY)"}, then...),
	})
}

// TestUpgradeThatFails: an older version neither starts on half of a step nor takes what the step has made for somebody
// else's; the version that has begun it begins again.
func TestUpgradeThatFails(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		refuses := func(why string) {
			t.Helper()
			_, err := Open(t.Context(), b.db, b.Store.cfg)
			if !errors.Is(err, ErrNewerCatalog) || errors.Is(err, ErrSharedSchema) || !strings.Contains(fmt.Sprint(err), why) {
				t.Errorf("got %v, want %v: %s", err, ErrNewerCatalog, why)
			}
		}

		for range 2 {
			if err := b.migrate(t.Context(), later(t, "SIGNAL SQLSTATE '45000'")); !isServerError(err, 1644) {
				t.Fatalf("got %v, want the signal", err)
			}
			refuses("is under way or was broken off")
		}
		if err := b.migrate(t.Context(), later(t)); err != nil {
			t.Fatal(err)
		}
		refuses("has step")
	})
}

// TestUpgradeThatIsRefused: a step of which nothing has happened keeps no older version from starting.
func TestUpgradeThatIsRefused(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		next := later(t)
		next[len(next)-1].statements = []string{"SIGNAL SQLSTATE '45000'"}
		if err := b.migrate(t.Context(), next); !isServerError(err, 1644) {
			t.Fatalf("got %v, want the signal", err)
		}
		if _, err := Open(t.Context(), b.db, b.Store.cfg); err != nil {
			t.Error(err)
		}
	})
}

// TestUpgradeDuringAnother: a version that waits for a newer one's upgrade does not open what that has made.
func TestUpgradeDuringAnother(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		b.exec(t, "DELETE FROM {migration} WHERE number = ?", len(steps(t)))
		conn, err := b.db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		unlock, err := namedLock(t.Context(), conn, b.migrationLock())
		if err != nil {
			t.Fatal(err)
		}

		opened := make(chan error, 1) // by the older version, for which we wait until it waits
		go func() {
			_, err := Open(t.Context(), b.db, b.Store.cfg)
			opened <- err
		}()
		for len(mysqltest.Processes(t, b.db, "STATE = 'User lock' AND INFO LIKE ?", "%"+b.migrationLock()+"%")) == 0 {
			select {
			case err := <-opened:
				t.Fatalf("the older version does not wait: got %v", err)
			case <-time.After(10 * time.Millisecond):
			}
		}
		for _, m := range later(t)[len(steps(t))-1:] {
			if err := b.apply(t.Context(), conn, m); err != nil {
				t.Fatal(err)
			}
		}
		unlock()
		if err := <-opened; !errors.Is(err, ErrNewerCatalog) {
			t.Errorf("got %v, want %v", err, ErrNewerCatalog)
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
