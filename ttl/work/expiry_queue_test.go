package work

import (
	"context"
	"database/sql"
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/ttl/pace"
	"github.com/ttlproxy/ttlproxy/ttl/plan"
	"github.com/ttlproxy/ttlproxy/ttl/ttltest"
)

// queuedTable is serverTable with an expiry queue, and its entries of all rows.
func (f *fixture) queuedTable() (*serverTable, []plan.Entry) {
	f.T.Helper()
	table := f.serverTable()
	table.contested = newContested()
	table.queue = &expiryQueue{ExpiryQueue: plan.ExpiryQueue{Table: f.Store.Name("expiry_entry"), ID: 1, Shards: 1}}

	seen, err := table.dates(f.T.Context(), plan.Range{})
	if err != nil {
		f.T.Fatal(err)
	}
	var entries []plan.Entry
	for _, s := range seen {
		if e, ok := table.entryOf(s); ok {
			entries = append(entries, e)
		}
	}
	return table, entries
}

// due are the entries of the first n rows that have expired.
func (f *fixture) dueEntries(all []plan.Entry, n int) (keys []tables.Key, due []plan.Entry) {
	for _, e := range all {
		if e.Date < "2025" && len(due) < n {
			keys, due = append(keys, e.Key), append(due, e)
		}
	}
	return keys, due
}

func (f *fixture) entriesLeft() int {
	f.T.Helper()
	return f.Number("SELECT COUNT(*) FROM " + f.Store.Name("expiry_entry"))
}

// TestEntriesGoWithTheirRows: in one transaction, or neither.
func TestEntriesGoWithTheirRows(t *testing.T) {
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 100)
		table, all := f.queuedTable()
		if err := table.record(t.Context(), nil, all, checkpoint{}); err != nil {
			t.Fatal(err)
		}
		if n := f.entriesLeft(); n != 100 {
			t.Fatalf("got %d entries of 100 rows", n)
		}

		keys, due := f.dueEntries(all, 10)
		remove := func(want int64, entries int) {
			t.Helper()
			got, err := table.deleteKeys(t.Context(), keys, checkpoint{chosen: 10, entries: due})
			if n := f.entriesLeft(); err == nil && got != want || n != entries {
				t.Errorf("%d rows went (%v), and %d entries are left, want %d and %d", got, err, n, want, entries)
			}
		}

		f.Exec("UPDATE " + f.Schema + "_c.task SET fence = 8")
		remove(0, 100)
		f.Exec("UPDATE " + f.Schema + "_c.task SET fence = 7")

		f.Exec("UPDATE " + f.Schema + ".t SET made = '2030-01-01' WHERE id = 3") // refreshed meanwhile
		remove(9, 100)
		f.Exec("DELETE FROM " + f.Schema + ".t WHERE id = 3")
		remove(0, 90)

		keys, due = f.dueEntries(all[20:], 10)
		remove(10, 80)
	})
}

// TestQueueIsWrittenByTheOwner of the task only: whoever lost it writes nothing.
func TestQueueIsWrittenByTheOwner(t *testing.T) {
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 100)
		table, all := f.queuedTable()
		for _, lost := range []string{
			"fence = 8", "fence = 7, state = 'waiting', owner = NULL", "state = 'running', owner = 1, batch = 4",
		} {
			f.Exec("UPDATE " + f.Schema + "_c.task SET " + lost)
			if err := table.record(t.Context(), nil, all, checkpoint{}); !errors.Is(err, errRefused) {
				t.Errorf("%s: got %v, want it refused", lost, err)
			}
		}
		if n := f.entriesLeft(); n != 0 {
			t.Errorf("%d entries were written", n)
		}
	})
}

// TestCensusLeavesNothingOut: until a block is in the queue the task's cursor stays in front of it.
func TestCensusLeavesNothingOut(t *testing.T) {
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 100)
		table, _ := f.queuedTable()
		take := func(w *walk) (bool, error) {
			w.adopt(&Limits{ScanBatch: 500, DeleteBatch: 100}, 50*time.Millisecond)
			return w.stepCensus(t.Context())
		}
		walkFrom := func(at tables.Key) *walk {
			poison := func(context.Context, tables.Key, time.Time, error) error { return errors.New("there is no poison") }
			return newWalk(table, plan.Census, plan.Range{From: at, To: tables.Key{"100"}},
				pace.NewBatchSize(1000, 1000, time.Second), pace.All{}, poison)
		}

		entry := f.Store.Name("expiry_entry")
		f.Exec("RENAME TABLE " + entry + " TO " + f.Schema + "_c.away")
		if _, err := take(walkFrom(nil)); err == nil {
			t.Fatal("the census went on without a queue")
		}
		if n, at := f.Rows("t"), f.Text("SELECT cursor_key FROM "+f.Schema+"_c.task"); n != "50" || at != "" {
			t.Fatalf("%s rows are left and the cursor is at %q, want 50, and the beginning", n, at)
		}

		f.Exec("RENAME TABLE " + f.Schema + "_c.away TO " + entry)
		done, err := take(walkFrom(nil))
		if err != nil || !done {
			t.Fatalf("got %v, %v", done, err)
		}
		if n, at := f.entriesLeft(), f.Text("SELECT cursor_key FROM "+f.Schema+"_c.task"); n != 50 || at != `["100"]` {
			t.Errorf("%d entries, and the cursor is at %s, want 50, and the end", n, at)
		}
	})
}

// TestQueueIsReadByItsKey: however long the queue is, a page and a batch cost what they hold.
func TestQueueIsReadByItsKey(t *testing.T) {
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 5000)
		table, all := f.queuedTable()
		if err := table.record(t.Context(), nil, all, checkpoint{}); err != nil {
			t.Fatal(err)
		}
		f.Exec("ANALYZE TABLE " + f.Store.Name("expiry_entry"))

		page, err := table.queue.Page(0, ttltest.Cutoff, all[100].Position(), 20)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			statement string
			reads     int
		}{
			{page, 20}, {table.queue.Due(1, ttltest.Cutoff), 1}, {table.queue.Remove(all[:20], "@ttlproxy_left IS NULL"), 20},
		} {
			if reads := readsOf(t, table.session, c.statement); reads > 3*c.reads+5 {
				t.Errorf("%d rows were read for %d by %.120s", reads, c.reads, c.statement)
			}
		}
	})
}

// readsOf is how many rows and index entries a statement reads.
func readsOf(t *testing.T, s *Session, statement string) (reads int) {
	t.Helper()
	count := func() (n int) {
		t.Helper()
		rows, err := plan.QueryKeys(t.Context(), s, "SHOW SESSION STATUS LIKE 'Handler_read%'", 2)
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range rows {
			one, err := strconv.Atoi(string(row[1]))
			if err != nil {
				t.Fatal(err)
			}
			n += one
		}
		return n
	}

	if err := s.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	count()
	own := -count()
	own += count() // what counting costs
	before := count()
	if err := tables.EachRow(t.Context(), s, statement, nil, func(*sql.Rows) error { return nil }); err != nil {
		t.Fatal(err)
	}
	return count() - before - own
}
