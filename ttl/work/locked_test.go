package work

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/ttl/pace"
	"github.com/ttlproxy/ttlproxy/ttl/plan"
	"github.com/ttlproxy/ttlproxy/ttl/ttltest"
)

// lockWaits is how often anybody on the server has waited for a row so far.
func (f *fixture) lockWaits() int {
	f.T.Helper()
	var name, n string
	if err := f.Admin.QueryRowContext(f.T.Context(), "SHOW GLOBAL STATUS LIKE 'Innodb_row_lock_waits'").Scan(&name,
		&n); err != nil {
		f.T.Fatal(err)
	}
	waits, err := strconv.Atoi(n)
	if err != nil {
		f.T.Fatal(err)
	}
	return waits
}

// wantWaits demands that nobody has waited for a row more than so many times on MySQL since, and
// never on MariaDB.
func (f *fixture) wantWaits(before, most int) {
	f.T.Helper()
	if f.Store.Server().MariaDB {
		most = 0
	}
	if waits := f.lockWaits() - before; waits > most {
		f.T.Errorf("the walk waited %d times, want %d at most", waits, most)
	}
}

// TestLockedRowsHoldNobodyUp: whatever an application holds of a table, and wherever, all other
// rows go at once, and what is left is counted. Nobody is waited for.
func TestLockedRowsHoldNobodyUp(t *testing.T) {
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		for _, c := range lockings {
			t.Run(strings.ReplaceAll(c.name, " ", "_"), func(t *testing.T) {
				f.T = t
				f.holdsNobodyUp(c)
			})
		}
		f.T = t
	})
}

// small makes a table of 900 rows, all of them expired.
var small = []string{"DELETE FROM {t} WHERE id > 900", "UPDATE {t} SET made = '2020-01-01'"}

// locking is what an application holds of a table.
type locking struct {
	name    string
	way     plan.Way
	prepare []string
	hold    []string
	held    int // expired rows among them
	left    int // rows in the end
}

var lockings = []locking{
	{
		name: "two in the middle of a small table", way: plan.WalkRange,
		prepare: small,
		hold:    []string{"SELECT * FROM {t} WHERE id IN (449, 450) FOR UPDATE"},
		held:    2, left: 2,
	},
	{
		name: "the first and the last", way: plan.WalkRange,
		prepare: small,
		hold:    []string{"SELECT * FROM {t} WHERE id IN (1, 900) FOR UPDATE"},
		held:    2, left: 2,
	},
	{
		name: "two of a large table", way: plan.WalkRange,
		hold: []string{"SELECT * FROM {t} WHERE id IN (7001, 7003) FOR UPDATE"},
		held: 2, left: 5002,
	},
	{
		name: "a thousand, scattered", way: plan.WalkRange,
		hold: []string{"SELECT * FROM {t} FORCE INDEX (PRIMARY) WHERE id IN (" + everyTenth() + ") FOR UPDATE"},
		held: 1000, left: 6000,
	},
	{
		name: "only rows that stay", way: plan.WalkRange,
		hold: []string{"SELECT * FROM {t} WHERE id IN (2, 5000, 10000) FOR UPDATE"},
		held: 0, left: 5000,
	},
	{
		name: "gaps", way: plan.WalkRange,
		prepare: []string{"DELETE FROM {t} WHERE id BETWEEN 5000 AND 6000"},
		hold:    []string{"SELECT * FROM {t} WHERE id BETWEEN 4990 AND 6009 FOR UPDATE"},
		held:    10, left: 4509,
	},
	{
		name: "by an index on time", way: plan.WalkIndex,
		prepare: []string{
			"ALTER TABLE {t} ADD INDEX (made)",
			"UPDATE {t} SET made = '2020-02-01' WHERE id IN (501, 503)",
		},
		hold: []string{
			"SELECT * FROM {t} WHERE made = '2020-02-01' FOR UPDATE",
			"SELECT * FROM {t} WHERE id IN (2, 7002) FOR UPDATE",
		},
		held: 2, left: 5002,
	},
	{
		name: "by an index on time of a small table", way: plan.WalkIndex,
		prepare: slices.Concat(small, []string{"ALTER TABLE {t} ADD INDEX (made)"}),
		hold:    []string{"SELECT * FROM {t} WHERE id IN (449, 450) FOR UPDATE"},
		held:    2, left: 2,
	},
}

func everyTenth() string {
	var ids []string
	for id := 1; id < 10_000; id += 10 {
		ids = append(ids, strconv.Itoa(id))
	}
	return strings.Join(ids, ", ")
}

// holdsNobodyUp makes the table anew and walks it.
func (f *fixture) holdsNobodyUp(c locking) {
	f.T.Helper()
	f.Exec("DROP TABLE IF EXISTS " + f.Schema + ".t")
	f.Fill("t", 10_000)
	for _, s := range slices.Concat(c.prepare, []string{"ANALYZE TABLE {t}"}) {
		f.Exec(strings.ReplaceAll(s, "{t}", f.Schema+".t"))
	}

	f.reopen()
	defer f.Hold(c.hold...)()

	before, began := f.lockWaits(), time.Now()
	table := f.serverTable()
	table.contested = newContested()
	w := newWalk(table, c.way, plan.Range{}, pace.NewBatchSize(firstBlock, largestBlock, 50*time.Millisecond),
		pace.NewRates(NewMetrics(nil).Waited), nil)
	f.toEnd(w)
	w.revisit(f.T.Context(), revisits)

	if took := time.Since(began); took > 15*time.Second {
		f.T.Errorf("the walk took %v", took)
	}

	f.wantWaits(before, 0)
	if left := f.Number("SELECT COUNT(*) FROM " + f.Schema + ".t"); left != c.left {
		f.T.Errorf("%d rows are left, want %d", left, c.left)
	}
	if got, want := f.Text("SELECT CONCAT_WS(' ', skipped, refreshed, failed) FROM "+f.Schema+
		"_c.task"), fmt.Sprintf("%d 0 0", c.held); got != want {
		f.T.Errorf("the task says %q of rows skipped, refreshed and failed, want %q", got, want)
	}
}

// reopen is open for another table, or another walk.
func (f *fixture) reopen() {
	f.T.Helper()
	c := f.Schema + "_c."
	f.Exec("DELETE FROM "+c+"task", "DELETE FROM "+c+"job", "DELETE FROM "+c+"pause WHERE policy_id = 1",
		"DELETE FROM "+c+"policy")
	f.Open()
}

// toEnd walks to the end. Nothing may fail on the way.
func (f *fixture) toEnd(w *walk) {
	f.T.Helper()
	for done := false; !done; {
		var err error
		if done, err = w.step(f.T.Context()); err != nil {
			f.T.Fatal(err)
		}
	}
}

// TestLockedRowsGoOnceFreed: a walk looks again at what was locked, counts it anew, and does not
// wait for it.
func TestLockedRowsGoOnceFreed(t *testing.T) {
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 20_000)
		letGo := f.Hold("SELECT * FROM {t} WHERE id IN (4001, 4003, 9999) FOR UPDATE")
		table := f.serverTable()
		table.contested = newContested()
		before := f.lockWaits()
		w := newWalk(table, plan.WalkRange, plan.Range{To: tables.Key{"20000"}},
			pace.NewBatchSize(1000, 1000, time.Second),
			pace.NewRates(NewMetrics(nil).Waited), nil)
		f.toEnd(w)

		counts := "SELECT CONCAT_WS(' ', cursor_key, deleted, refreshed, skipped) FROM " + f.Schema + "_c.task"
		if got := f.Text(counts); got != `["20000"] 9997 0 3` {
			t.Errorf(`task is %s, want ["20000"] 9997 0 3`, got)
		}

		w.revisit(t.Context(), revisits)
		if got := f.Text(counts); got != `["20000"] 9997 0 3` {
			t.Errorf("after a look at rows that are held still the task is %s", got)
		}

		f.wantWaits(before, 0)
		letGo()
		f.Exec("UPDATE " + f.Schema + ".t SET made = '2030-01-01' WHERE id = 9999") // it has been refreshed
		w.parked = []tables.Key{{"4001"}, {"4003"}, {"9999"}}
		w.revisit(t.Context(), revisits)

		if got := f.Text(counts); got != `["20000"] 9999 1 0` {
			t.Errorf(`once they are free the task is %s, want ["20000"] 9999 1 0`, got)
		}
	})
}

// TestNothingIsLockedWhileWaiting: a batch that meets a row of somebody else ends at once, in a
// table without a key as well, instead of waiting with what it has deleted locked.
func TestNothingIsLockedWhileWaiting(t *testing.T) {
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		f.Fill("t", 10_000)
		f.Exec("ALTER TABLE " + f.Schema + ".t MODIFY id BIGINT NOT NULL, DROP PRIMARY KEY, ADD INDEX (id)")
		f.Open()
		letGo := f.Hold("SELECT * FROM {t} FORCE INDEX (id) WHERE id = 5001 FOR UPDATE")
		before := f.lockWaits()
		table := f.serverTable()

		if _, err := table.deleteSome(t.Context(), 4000, checkpoint{}); classify(err) != locked {
			t.Errorf("a batch that met a locked row ended by %v", err)
		}
		f.wantWaits(before, 0)
		if left := f.Number("SELECT COUNT(*) FROM " + f.Schema + ".t"); left != 10_000 {
			t.Errorf("%d rows are left of 10000", left)
		}

		letGo()
		if n, err := table.deleteSome(t.Context(), 4000, checkpoint{}); err != nil || n != 4000 {
			t.Errorf("deleted %d rows once the row was free: %v", n, err)
		}
	})
}

// TestLockedBehindARow: whoever reads a column in share mode by an index that covers it holds the
// entry and not the row. MariaDB says so at once, and the row is found; MySQL makes us wait, and
// what was waited for is left with its neighbours.
func TestLockedBehindARow(t *testing.T) {
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		f.Fill("t", 10_000)
		f.Exec("ALTER TABLE "+f.Schema+".t ADD n INT NOT NULL, ADD INDEX (n)", "UPDATE "+f.Schema+".t SET n = id")
		f.Open()
		letGo := f.Hold("SELECT n FROM {t} FORCE INDEX (n) WHERE n = 4001 LOCK IN SHARE MODE")
		mostLeft := 1

		if !f.Store.Server().MariaDB {
			mostLeft = listed
		}

		before := f.lockWaits()
		table := f.serverTable()
		table.contested = newContested()
		w := newWalk(table, plan.WalkRange, plan.Range{}, pace.NewBatchSize(1000, 1000, time.Second),
			pace.NewRates(NewMetrics(nil).Waited), nil)
		f.toEnd(w)
		f.wantWaits(before, 2)

		skipped := f.Number("SELECT skipped FROM " + f.Schema + "_c.task")
		if left := f.Number("SELECT COUNT(*) FROM "+f.Schema+".t") - 5000; left != skipped || left < 1 ||
			left > mostLeft {
			t.Errorf("%d rows are left, %d count as skipped, want %d at most", left, skipped, mostLeft)
		}

		letGo()
	})
}
