package work

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/ttl/pace"
	"github.com/ttlproxy/ttlproxy/ttl/plan"
	"github.com/ttlproxy/ttlproxy/ttl/ttltest"
)

// clan makes tables one below the other: t and child point at their own rows as well, rows of loses stay
// without their parent. The first row of t has about a hundred below it, some others a few, and each
// tenth one another row of t.
func (f *fixture) clan() {
	f.T.Helper()
	f.Fill("t", 60)
	f.Exec(f.In("ALTER TABLE {t}.t ADD boss INT NULL, ADD FOREIGN KEY (boss) REFERENCES {t}.t (id) ON DELETE CASCADE"),
		f.In("UPDATE {t}.t SET boss = id - 9 WHERE id % 10 = 0"))
	for _, table := range []string{"child t", "grand child", "great grand", "last great", "loses child"} {
		var name, parent, rule string
		_, _ = fmt.Sscan(table, &name, &parent)
		if name == "loses" {
			rule = " ON DELETE SET NULL"
		}
		f.Exec(fmt.Sprintf(f.In("CREATE TABLE {t}.%s (id INT PRIMARY KEY AUTO_INCREMENT, p INT NULL, FOREIGN KEY (p) "+
			"REFERENCES {t}.%s (id)%s)"), name, parent, rule))
	}
	f.Exec(f.In("ALTER TABLE {t}.child ADD after INT NULL, ADD FOREIGN KEY (after) REFERENCES {t}.child (id)"),
		f.In("INSERT INTO {t}.child (p) SELECT id FROM {t}.t WHERE id % 3 = 0"),
		f.In("INSERT INTO {t}.child (p) SELECT 1 FROM {t}.t LIMIT 7"),
		f.In("UPDATE {t}.child SET after = id - 1 WHERE id % 4 = 2"))
	for _, to := range []string{"grand (p) SELECT id FROM {t}.child", "great (p) SELECT id FROM {t}.grand"} {
		f.Exec(f.In("INSERT INTO {t}."+to), f.In("INSERT INTO {t}."+to))
	}
	f.Exec(f.In("INSERT INTO {t}.last (p) SELECT id FROM {t}.great"),
		f.In("INSERT INTO {t}.loses (p) SELECT id FROM {t}.child"))
	f.Open()
}

// countingTable is a table that counts the batches that delete families.
type countingTable struct {
	*serverTable
	batches int
}

func (c *countingTable) deleteAlong(
	ctx context.Context, keys []tables.Key, at checkpoint, b bounds,
) (taken, error) {
	c.batches++
	return c.serverTable.deleteAlong(ctx, keys, at, b)
}

func (c *countingTable) deleteBelow(ctx context.Context, key tables.Key, at checkpoint, b bounds) (taken, error) {
	c.batches++
	return c.serverTable.deleteBelow(ctx, key, at, b)
}

// TestSmallPartsGoOn: however few rows may go at once, the rows of a deep clan go in a bounded number of
// batches; what somebody has locked holds up nothing but what it depends on.
func TestSmallPartsGoOn(t *testing.T) {
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		for _, most := range []int{1, 3, 10} {
			t.Run(fmt.Sprint(most), func(t *testing.T) {
				t.Parallel()
				f := newFixture(t, cfg, 0)
				f.clan()
				table := &countingTable{serverTable: f.serverTable()}
				table.along = &along{forest: f.forest(), same: "TRUE"}
				walk := func() {
					t.Helper()
					w := newWalk(table, plan.WalkRange, plan.Range{}, pace.NewBatchSize(1000, 1000, time.Second),
						pace.NewRates(NewMetrics(nil).Waited), f.noPoison)
					w.along, w.named, w.mostAlong = true, true, most
					f.toEnd(w)
				}

				was, due := f.clanRows(), f.Number(f.In("SELECT COUNT(*) FROM {t}.t WHERE made < '2025-01-01'"))
				first := f.Number(f.In("SELECT MIN(id) FROM {t}.child WHERE p = 1"))
				letGo := f.Hold(fmt.Sprintf("SELECT * FROM "+f.Schema+".child WHERE id = %d FOR UPDATE", first))
				walk()
				if left := f.clanLeft(); left != "1/1" {
					t.Errorf("%s rows and children are left of what is due while one child is locked, want 1/1", left)
				}
				letGo()
				walk()
				if left := f.clanLeft(); left != "0/0" {
					t.Errorf("%s rows and children are left of what is due, want 0/0", left)
				}

				gone := was - f.clanRows()
				if counted := f.Number(f.In("SELECT deleted FROM {t}_c.task")); counted != gone {
					t.Errorf("%d rows count as deleted, and %d have gone", counted, gone)
				}
				if bound := gone + 3*due; table.batches > bound {
					t.Errorf("%d batches for %d rows, want %d at most", table.batches, gone, bound)
				}
			})
		}
	})
}

// clanRows counts rows that can go, and those that can lose their parent.
func (f *fixture) clanRows() int {
	f.T.Helper()
	return f.Number(f.In("SELECT (SELECT COUNT(*) FROM {t}.t) + (SELECT COUNT(*) FROM {t}.child) + (SELECT COUNT(*) " +
		"FROM {t}.grand) + (SELECT COUNT(*) FROM {t}.great) + (SELECT COUNT(*) FROM {t}.last) + (SELECT COUNT(p) " +
		"FROM {t}.loses)"))
}

// clanLeft counts rows that are due, and what points at them.
func (f *fixture) clanLeft() string {
	f.T.Helper()
	return f.Text(f.In("SELECT CONCAT((SELECT COUNT(*) FROM {t}.t WHERE made < '2025-01-01'), '/', (SELECT COUNT(*) " +
		"FROM {t}.child c JOIN {t}.t ON t.id = c.p WHERE t.made < '2025-01-01'))"))
}

// TestLargeBranchesGo: of a row whose branches are each no larger than may go at once, and together
// larger, none is taken for a circle: not when the first of them has become empty, nor if it is the row
// itself that comes first.
func TestLargeBranchesGo(t *testing.T) {
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		for _, most := range []int{1, 12} {
			t.Run(fmt.Sprint(most), func(t *testing.T) {
				t.Parallel()
				f := newFixture(t, cfg, 0)
				f.Fill("t", 1)
				f.Exec(f.In("ALTER TABLE {t}.t ADD boss INT NULL, ADD FOREIGN KEY (boss) REFERENCES {t}.t (id) ON DELETE CASCADE"),
					f.In("INSERT INTO {t}.t (id, made, boss) VALUES (2, '2030-01-01', 1), (3, '2030-01-01', 1), "+
						"(4, '2030-01-01', 1)"),
					f.In("UPDATE {t}.t SET boss = 1 WHERE id = 1"),
					f.In("CREATE TABLE {t}.child (id INT PRIMARY KEY AUTO_INCREMENT, p INT, FOREIGN KEY (p) REFERENCES {t}.t (id))"))
				for range 7 {
					f.Exec(f.In("INSERT INTO {t}.child (p) SELECT id FROM {t}.t WHERE id > 1"))
				}
				f.Open()
				table := f.serverTable()
				table.along = &along{forest: f.forest(), same: "TRUE"}
				w := newWalk(table, plan.WalkRange, plan.Range{}, pace.NewBatchSize(1000, 1000, time.Second),
					pace.NewRates(NewMetrics(nil).Waited), f.noPoison)
				w.along, w.named, w.mostAlong = true, true, most
				f.toEnd(w)
				if left := f.Rows("t") + "/" + f.Rows("child"); left != "0/0" {
					t.Errorf("%s rows are left, want 0/0", left)
				}
			})
		}
	})
}

// TestTablesThatAreLocked: somebody has locked a table, or a policy, and no row. Whoever takes rows along does not
// look for the culprit among them, and counts none as skipped: he comes back.
func TestTablesThatAreLocked(t *testing.T) {
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		for _, c := range []struct {
			name, lock string
			behind     bool // it is known only when rows are deleted: a few are tried
		}{
			{"table", "LOCK TABLES {t}.t WRITE", false},
			{"child", "LOCK TABLES {t}.child WRITE", false},
			{"grandchild", "LOCK TABLES {t}.grand WRITE", false},
			{"log of a trigger", "LOCK TABLES {t}.log WRITE", true},
			{"pauses", "LOCK TABLES {t}_c.pause WRITE", false},
		} {
			for _, way := range []plan.Way{plan.WalkRange, plan.WalkIndex} {
				t.Run(fmt.Sprintf("%s/%s", strings.ReplaceAll(c.name, " ", "_"), way), func(t *testing.T) {
					t.Parallel()
					f := newFixture(t, cfg, 40)
					f.Exec(f.In("ALTER TABLE {t}.t ADD INDEX (made)"),
						f.In("CREATE TABLE {t}.child (id INT PRIMARY KEY, t INT, FOREIGN KEY (t) REFERENCES {t}.t (id))"),
						f.In("INSERT INTO {t}.child SELECT id, id FROM {t}.t"),
						f.In("CREATE TABLE {t}.grand (id INT PRIMARY KEY, c INT, FOREIGN KEY (c) REFERENCES {t}.child (id))"),
						f.In("INSERT INTO {t}.grand SELECT id, id FROM {t}.child"),
						f.In("CREATE TABLE {t}.log (id INT PRIMARY KEY)"),
						f.In("CREATE TRIGGER {t}.logs BEFORE DELETE ON {t}.child FOR EACH ROW INSERT INTO {t}.log VALUES (OLD.id)"))
					f.Look()
					f.lockedTable(c.lock, c.behind, way)
				})
			}
		}
	})
}

func (f *fixture) lockedTable(lock string, behind bool, way plan.Way) {
	f.T.Helper()
	somebody, err := f.Admin.Conn(f.T.Context())
	if err != nil {
		f.T.Fatal(err)
	}
	defer somebody.Close()
	table := &countingTable{serverTable: f.serverTable()}
	table.along = &along{forest: f.forest(), same: "TRUE"}
	table.beforePacket = func() {
		if _, err := somebody.ExecContext(f.T.Context(), f.In(lock)); err != nil {
			f.T.Error(err)
		}
		table.beforePacket = nil
	}
	w := newWalk(table, way, plan.Range{}, pace.NewBatchSize(1000, 1000, time.Second),
		pace.NewRates(NewMetrics(nil).Waited), f.noPoison)
	w.along, w.named = true, true

	for done := false; err == nil && !done; {
		done, err = w.step(f.T.Context())
	}
	const batches = 10 // on MariaDB, a row has to stand alone before it is told from one that is locked
	if classify(err) != locked || table.batches > batches {
		f.T.Errorf("the walk ended after %d batches with %v; want %d at most, and that something is locked", table.batches,
			err, batches)
	}
	skipped := 0
	if behind {
		skipped = behindLimit
	}
	if n := f.Number(f.In("SELECT skipped FROM {t}_c.task")); n != skipped || len(w.parked) != skipped {
		f.T.Errorf("%d rows count as skipped, and %d are remembered; want %d", n, len(w.parked), skipped)
	}

	if _, err := somebody.ExecContext(f.T.Context(), "UNLOCK TABLES"); err != nil {
		f.T.Fatal(err)
	}
	f.toEnd(w)
	w.revisit(f.T.Context(), revisits)
	if left := f.Rows("t") + "/" + f.Rows("child"); left != "20/20" {
		f.T.Errorf("later %s rows are left, want 20/20", left)
	}
}

// noPoison is for walks on which every row can go.
func (f *fixture) noPoison(_ context.Context, key tables.Key, _ time.Time, err error) error {
	return fmt.Errorf("%v counts as undeletable: %w", key, err)
}
