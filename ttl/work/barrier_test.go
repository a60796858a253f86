package work

import (
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/ttl/pace"
	"github.com/ttlproxy/ttlproxy/ttl/plan"
	"github.com/ttlproxy/ttlproxy/ttl/ttltest"
)

// clauses are the parts of the packet that keep rows safe. Each test disturbs the world between the
// engine's decision and its packet, then sends the packet twice: as it is, which must delete
// nothing, and without the clause, which must do the harm. The second half proves that the clause
// is what prevents it.
var clauses = []struct {
	name    string
	disturb []string // {t} is the user's schema, {c} the catalog
	without string   // regular expression of what is taken out
	inside  bool     // it stands in the DELETE: until there all is well
}{
	{"fence", []string{"UPDATE {c}.task SET fence = 8"}, ` AND fence = 7`, false},
	{"batch", []string{"UPDATE {c}.task SET batch = 4"}, ` AND batch = 3`, false},
	{"entered", []string{"UPDATE {c}.task SET batch = 4"}, `@ttlproxy_entered = 1 AND `, false},
	{"state", []string{"UPDATE {c}.task SET state = 'waiting', owner = NULL"}, ` AND state = 'running'`, false},
	{"version", []string{"UPDATE {c}.policy SET version = 2"}, ` AND version = 1`, false},
	{"armed", []string{"UPDATE {c}.policy SET state = 'disarmed', reason = 'test'"}, ` AND armed`, false},
	{"enabled", []string{"UPDATE {c}.policy SET enabled = FALSE"}, ` AND armed`, false},
	{
		"removed",
		[]string{"SET FOREIGN_KEY_CHECKS = 0", "DELETE FROM {c}.policy", "SET FOREIGN_KEY_CHECKS = 1"},
		` AND EXISTS \(SELECT 1 FROM \S+policy[^)]*\)`, false,
	},
	{
		"paused",
		[]string{"UPDATE {c}.pause SET paused = TRUE, paused_at = NOW() WHERE policy_id = 1"},
		` AND NOT \(paused AND[^)]*\([^)]*\)[^)]*\)\)`, false,
	},
	{
		"all paused",
		[]string{"UPDATE {c}.pause SET paused = TRUE, paused_at = NOW() WHERE policy_id = 0"},
		` AND NOT \(paused AND[^)]*\([^)]*\)[^)]*\)\)`, false,
	},
	{
		"held",
		[]string{"UPDATE {c}.pause SET held = TRUE, held_reason = 'test' WHERE policy_id = 0"},
		` AND NOT held`,
		false,
	},
	{
		"swapped",
		[]string{"RENAME TABLE {t}.t TO {t}.old, {t}.fresh TO {t}.t"},
		`(?s) AND \(SELECT COUNT\(\*\) FROM information_schema.*?\) = 1`, true,
	},
	{
		"exchanged",
		[]string{
			"ALTER TABLE {t}.fresh PARTITION BY RANGE (id) (PARTITION p VALUES LESS THAN MAXVALUE)",
			"ALTER TABLE {t}.fresh EXCHANGE PARTITION p WITH TABLE {t}.t",
		},
		`(?s) AND \(SELECT COUNT\(\*\) FROM information_schema.innodb.*?\) = 1`, true,
	},
	{
		"altered in place",
		[]string{"ALTER TABLE {t}.t RENAME COLUMN made TO born, RENAME COLUMN other TO made"},
		`(?s) AND \(SELECT COUNT\(\*\) FROM information_schema.tables.*?\) = 1`, true,
	},
	{"refreshed", []string{"UPDATE {t}.t SET made = '2030-01-01'"}, ` AND \(.made. >= .*\) IS TRUE`, true},
	{
		"zero date",
		[]string{"SET SESSION sql_mode = ''", "UPDATE {t}.t SET made = '0000-00-00'"},
		".made. >= \\S+ \\S+ AND ", true,
	},
	{"null", []string{"UPDATE {t}.t SET made = NULL"}, ` AND \(.made. >= .*\) IS TRUE`, true},
}

func TestEveryClauseOfTheBarrier(t *testing.T) {
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		for _, c := range clauses {
			t.Run(strings.ReplaceAll(c.name, " ", "_"), func(t *testing.T) {
				t.Parallel()
				f := newFixture(t, cfg, 100)
				f.Admin.SetMaxOpenConns(1)
				f.Exec("ALTER TABLE "+f.Schema+".t ADD other DATETIME DEFAULT '2020-01-01', ALGORITHM=COPY",
					"CREATE TABLE "+f.Schema+".fresh LIKE "+f.Schema+".t",
					"INSERT INTO "+f.Schema+".fresh SELECT id, '2020-01-01', pad, made FROM "+f.Schema+".t")
				f.Wait("the clock's next second", f.NextSecond())
				f.Exec("ALTER TABLE " + f.Schema + ".t COMMENT 'armed'")
				f.Look()
				f.Wait("the clock's next second", f.NextSecond())

				table := f.serverTable()
				if err := table.session.Ready(t.Context()); err != nil {
					t.Fatal(err)
				}

				for _, s := range c.disturb {
					f.Exec(strings.NewReplacer("{t}", f.Schema, "{c}", f.Schema+"_c").Replace(s))
				}

				before := f.Rows("t")
				packet, err := table.packet(plan.Range{To: tables.Key{"100"}},
					checkpoint{cursor: tables.Key{"100"}, scanned: 100})
				if err != nil {
					t.Fatal(err)
				}

				found, err := table.session.packet(t.Context(), packet.statements...)
				if err != nil {
					t.Fatal(err)
				}
				if !c.inside && found[packet.enter] != 0 {
					t.Error("the task was entered")
				}
				if after := f.Rows("t"); after != before {
					t.Fatalf("the barrier let rows go: %s of %s are left", after, before)
				}

				if c.name != "refreshed" && c.name != "null" && c.name != "zero date" {
					if cursor := f.Text("SELECT cursor_key FROM " + f.Schema + "_c.task"); cursor != "" {
						t.Errorf("the cursor moved to %s although nothing was done", cursor)
					}
				}

				if c.name != "batch" && c.name != "entered" { // the first packet may have entered
					f.Exec("UPDATE " + f.Schema + "_c.task SET batch = 3")
				}

				without := regexp.MustCompile(strings.ReplaceAll(c.without, " ", `\s+`))
				for i, s := range packet.statements {
					packet.statements[i] = without.ReplaceAllString(s, "")
				}

				if _, err := table.session.packet(t.Context(), packet.statements...); err != nil {
					t.Fatalf("without the clause: %v\n%s", err, strings.Join(packet.statements, "\n"))
				}
				if after := f.Rows("t"); after == before {
					t.Errorf("without %q nothing happens either: the clause is not what is tested\n%s",
						c.without, strings.Join(packet.statements, "\n"))
				}
			})
		}
	})
}

func TestPacketDeletesCountsAndMoves(t *testing.T) {
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 1000)
		table := f.serverTable()
		end := tables.Key{"500"}

		deleted, err := table.deleteRange(t.Context(), plan.Range{To: end}, checkpoint{cursor: end, scanned: 500})
		if err != nil || deleted != 250 {
			t.Fatalf("got %d rows, %v; want 250", deleted, err)
		}

		due, err := dueKeys(t, table, plan.Range{From: end})
		if err != nil || len(due) != 250 {
			t.Fatalf("got %d keys, %v; want 250", len(due), err)
		}

		f.Exec("UPDATE " + f.Schema + ".t SET made = '2030-01-01' WHERE id = 501") // refreshed meanwhile
		deleted, err = table.deleteKeys(t.Context(), due, checkpoint{cursor: due[249], chosen: 250, scanned: 500})
		if err != nil || deleted != 249 {
			t.Fatalf("got %d rows, %v; want 249", deleted, err)
		}

		got := f.Text("SELECT CONCAT_WS(' ', batch, cursor_key, examined, deleted, refreshed) FROM " + f.Schema +
			"_c.task")
		if want := `5 ["999"] 1000 499 1`; got != want {
			t.Errorf("task is %s, want %s", got, want)
		}
		if left := f.Rows("t"); left != "501" {
			t.Errorf("%s rows are left, want 501", left)
		}
	})
}

// TestLockedRowsAreGoneRound: rows that the application has locked do not hold up their neighbours.
func TestLockedRowsAreGoneRound(t *testing.T) {
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 20000)
		tx, err := f.Admin.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback()

		for _, id := range []string{"2", "3"} { // one that stays and one that is due
			if _, err := tx.ExecContext(t.Context(),
				"SELECT * FROM "+f.Schema+".t WHERE id = "+id+" FOR UPDATE"); err != nil {
				t.Fatal(err)
			}
		}

		table := f.serverTable()
		end := tables.Key{"1000"}
		before := f.lockWaits()

		_, err = table.deleteRange(t.Context(), plan.Range{To: end}, checkpoint{cursor: end})
		if err == nil || classify(err) != locked {
			t.Fatalf("got %v, want a lock wait timeout", err)
		}
		f.wantWaits(before, 1)
		wait, asks := 0, table.session.QueryRowContext(t.Context(), "SELECT @@innodb_lock_wait_timeout")
		if err := asks.Scan(&wait); err != nil || wait != 1 {
			t.Errorf("each wait may take %d seconds, %v; want one", wait, err)
		}

		w := newWalk(table, plan.WalkRange, plan.Range{To: end}, pace.NewBatchSize(1000, 1000, time.Second),
			pace.NewRates(NewMetrics(nil).Waited), nil)
		if done, err := w.step(t.Context()); err != nil || !done {
			t.Fatalf("got %v, %v; want the walk done", done, err)
		}
		if got := f.Text("SELECT CONCAT_WS(' ', cursor_key, deleted, refreshed, skipped) FROM " + f.Schema +
			"_c.task"); got != `["1000"] 499 0 1` {
			t.Errorf(`task is %s, want ["1000"] 499 0 1`, got)
		}
	})
}

// TestFrozenEngineLetsGo: an engine that stops in the middle of a transaction holds nobody up for
// long, and what it then sends is refused.
func TestFrozenEngineLetsGo(t *testing.T) {
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 100)
		table := f.serverTable()
		table.beforePacket = func() { // inside the transaction: the task row is locked
			f.Exec("SET SESSION innodb_lock_wait_timeout = 20")
			began := time.Now()
			f.Exec("UPDATE " + f.Schema + "_c.task SET fence = fence + 1")
			if took := time.Since(began); took > 8*time.Second {
				t.Errorf("the change waited %v", took)
			}
		}

		f.Admin.SetMaxOpenConns(1)
		due, err := dueKeys(t, table, plan.Range{})
		if err != nil {
			t.Fatal(err)
		}

		_, _, err = table.deleteFree(t.Context(), due, checkpoint{cursor: due[0]})
		if err == nil {
			t.Error("the frozen batch was carried out")
		}
		if left := f.Rows("t"); left != "100" {
			t.Errorf("%s rows are left, want all 100", left)
		}

		table.beforePacket = nil
		if _, err = table.deleteKeys(t.Context(), due, checkpoint{cursor: due[0]}); !errors.Is(err, errRefused) {
			t.Errorf("got %v, want refused", err)
		}
	})
}

// TestRolledBackEntryDeletesNothing: going round locked rows takes two packets. When the server has
// rolled the first one back in between, as a cluster does whose other member won, the session still
// remembers that it entered; the task's row does not.
func TestRolledBackEntryDeletesNothing(t *testing.T) {
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 100)
		table := f.serverTable()
		due, err := dueKeys(t, table, plan.Range{})
		if err != nil {
			t.Fatal(err)
		}

		table.beforePacket = func() { table.session.rollback(t.Context()) }
		if _, _, err := table.deleteFree(t.Context(), due, checkpoint{cursor: due[0]}); err == nil {
			t.Error("the batch was carried out outside its transaction")
		}
		if cursor := f.Text("SELECT cursor_key FROM " + f.Schema + "_c.task"); cursor != "" {
			t.Errorf("the cursor moved to %s although nothing was done", cursor)
		}
		if left := f.Rows("t"); left != "100" {
			t.Errorf("%s rows are left, want all 100", left)
		}
	})
}

// TestCheckpointOfALostTaskIsRefused: progress through rows that stay is written without a batch,
// and belongs to the owner alone.
func TestCheckpointOfALostTaskIsRefused(t *testing.T) {
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 10)
		for _, lost := range []string{"fence = 8", "batch = 4", "state = 'waiting', owner = NULL"} {
			f.Exec("UPDATE " + f.Schema + "_c.task SET fence = 7, batch = 3, state = 'running', owner = 1")
			table := f.serverTable()
			if err := table.move(t.Context(), checkpoint{cursor: tables.Key{"1"}}); err != nil {
				t.Fatal(err)
			}

			f.Exec("UPDATE " + f.Schema + "_c.task SET " + lost)
			if err := table.move(t.Context(), checkpoint{cursor: tables.Key{"9"}}); !errors.Is(err, errRefused) {
				t.Errorf("%s: got %v, want refused", lost, err)
			}
			if cursor := f.Text("SELECT cursor_key FROM " + f.Schema + "_c.task"); cursor != `["1"]` {
				t.Errorf("%s: the cursor is %s", lost, cursor)
			}
		}
	})
}
