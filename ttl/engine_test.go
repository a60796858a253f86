package ttl

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/setting"
	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
	"github.com/ttlproxy/ttlproxy/ttl/ttltest"
)

// asks reports whether the policy waits for approval because its table is not the one that it was,
// and a job says so.
func (f *fixture) asks() bool {
	f.T.Helper()
	return f.Text("SELECT COALESCE(MAX(approval_reason), '') FROM "+f.Schema+
		"_c.policy WHERE approval_required") != "" &&
		f.Text("SELECT COALESCE(MAX(state), '') FROM "+f.Schema+"_c.job") == "needs approval"
}

// remaining is how many rows a table has, but for those that jobs which have ended left to the next one. A batch that
// was cut off, by a change or with its engine, keeps its rows locked until a busy server notices.
func (f *fixture) remaining(table string) int {
	f.T.Helper()
	return f.Number("SELECT COUNT(*) - (SELECT COALESCE(SUM(skipped), 0) FROM " + f.Schema + "_c.job_history" +
		" WHERE table_name = '" + table + "') FROM " + f.Schema + "." + table)
}

// request asks for a run.
func (f *fixture) request(p catalog.Policy) {
	f.T.Helper()
	if _, err := f.Store.RequestRun(f.T.Context(), "test", p.ID); err != nil {
		f.T.Fatal(err)
	}
}

// run starts an engine and returns how to stop it.
func (f *fixture) run(change func(*Config)) (stop func()) {
	f.T.Helper()
	_, stop = f.engineOf(change)
	return stop
}

func (f *fixture) engineOf(change func(*Config)) (e *Engine, stop func()) {
	f.T.Helper()
	return f.loggedEngine(f.T.Output(), change)
}

func (f *fixture) loggedEngine(log io.Writer, change func(*Config)) (e *Engine, stop func()) {
	f.T.Helper()
	cfg := Config{Backend: f.Config, Node: catalog.Node{Name: "test"}, Tick: 100 * time.Millisecond}
	if change != nil {
		change(&cfg)
	}

	e, err := New(cfg, f.Store, slog.New(slog.NewTextHandler(log, nil)), nil)
	if err != nil {
		f.T.Fatal(err)
	}

	ctx, cancel := context.WithCancel(f.T.Context())
	done := make(chan error, 1)
	go func() { done <- e.Run(ctx) }()
	stop = func() {
		cancel()
		select {
		case err := <-done:
			if err != nil {
				f.T.Error(err)
			}
		case <-time.After(mysqltest.Patience):
			f.T.Error("the engine does not stop")
		}
	}

	return e, stop
}

func TestEngineDeletesWhatIsDue(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		f.Fill("t", 3000)
		f.Declare("t")
		defer f.run(nil)()

		f.Wait("the expired rows to go", func() bool { return f.Rows("t") == "1500" })
		f.Wait("the job to end", func() bool {
			return f.Text("SELECT COUNT(*) FROM "+f.Schema+
				"_c.job_history WHERE state = 'finished' AND deleted = 1500 AND examined = 3000") == "1"
		})
		if left := f.Text("SELECT COUNT(*) FROM " + f.Schema + ".t WHERE made < NOW()"); left != "0" {
			t.Errorf("%s expired rows are left", left)
		}
	})
}

// TestSwapInTheSameSecond: tables created within one second differ in InnoDB's id only; a swap
// between choosing a batch and sending it must not reach the other one, whatever it is called and
// whoever may see it.
func TestSwapInTheSameSecond(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		for name, c := range map[string]struct {
			other string // behind the schema's name
			least bool   // the engine has rights on its own schemas only
		}{
			"another name":     {".other", false},
			"an unseen schema": {"_u.other", true},
		} {
			t.Run(name, func(t *testing.T) {
				f := newFixture(t, cfg, 0)
				f.swapInTheSameSecond(f.Schema+c.other, c.least)
			})
		}
	})
}

func (f *fixture) swapInTheSameSecond(other string, least bool) {
	f.T.Helper()
	table, unseen := f.Schema+".t", f.Schema+"_u"
	f.Exec("DROP DATABASE IF EXISTS "+unseen, "CREATE DATABASE "+unseen)
	defer f.Exec("DROP DATABASE " + unseen)

	for same := false; !same; {
		f.Exec("DROP TABLE IF EXISTS "+table+", "+other,
			"CREATE TABLE "+table+" (id INT PRIMARY KEY, made DATETIME NULL, pad VARCHAR(200))",
			"CREATE TABLE "+other+" LIKE "+table)
		same = f.Text("SELECT COUNT(*) = 2 AND COUNT(DISTINCT CREATE_TIME) = 1 FROM information_schema.TABLES"+
			" WHERE TABLE_SCHEMA IN ('"+f.Schema+"', '"+unseen+"')") == "1"
	}

	for _, name := range []string{table, other} {
		f.Exec("INSERT INTO " + name + " VALUES (1, '2020-01-01', ''), (2, '2020-01-01', ''), (3, '2020-01-01', '')")
	}

	f.Declare("t")
	engine := f.Config
	if least {
		engine = f.serviceAccount()
	}

	var once sync.Once
	defer f.run(func(c *Config) {
		c.Backend = engine
		c.beforePacket = func() {
			once.Do(func() {
				f.Exec("RENAME TABLE " + table + " TO " + f.Schema + ".x, " + other + " TO " + table + ", " + f.Schema +
					".x TO " + other)
			})
		}
	})()

	f.Wait("a person to be asked", f.asks)
	for _, name := range []string{table, other} {
		if left := f.Text("SELECT COUNT(*) FROM " + name); left != "3" {
			f.T.Errorf("%s has %s rows left, want all 3", name, left)
		}
	}
}

// serviceAccount makes the account that `ttlproxy init` does for the fixture's schema, by whose name it goes.
func (f *fixture) serviceAccount() *mysql.Config {
	f.T.Helper()
	account := catalog.ServiceAccount{
		User: f.Schema, Password: "s3cret", Catalog: f.Schema + "_c",
		Schemas: []string{f.Schema},
	}
	f.Exec("DROP USER IF EXISTS " + account.User)
	for _, g := range account.Grants(f.Store.Server().MariaDB) {
		f.Exec(g.SQL)
	}
	cfg := f.Config.Clone()
	cfg.User, cfg.Passwd = account.User, account.Password
	return cfg
}

// TestTwinTakesOverMidJob: a table of the same second takes the place of another in the middle of
// its job, and the original is dropped. An engine that comes later must not carry the job on there,
// nor try to for ever, whether the job has just been started or long ago.
func TestTwinTakesOverMidJob(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		for _, ago := range []string{"0 SECOND", "1 HOUR"} {
			t.Run(ago, func(t *testing.T) {
				t.Parallel()
				f := newFixture(t, cfg, 0)
				f.Fill("seed", 20_000)
				for same := false; !same; {
					f.Exec("DROP TABLE IF EXISTS "+f.Schema+".t, "+f.Schema+".other",
						"CREATE TABLE "+f.Schema+".t LIKE "+f.Schema+".seed",
						"CREATE TABLE "+f.Schema+".other LIKE "+f.Schema+".t")
					same = f.Text("SELECT COUNT(DISTINCT CREATE_TIME) FROM information_schema.TABLES WHERE TABLE_NAME <> "+
						"'seed' AND TABLE_SCHEMA = '"+f.Schema+"'") == "1"
				}

				for _, table := range []string{"t", "other"} {
					f.Exec("INSERT INTO " + f.Schema + "." + table + " SELECT * FROM " + f.Schema + ".seed")
				}

				f.set(setting.DeleteRowsLimit, "100")
				f.Declare("t")
				stop := f.run(nil)
				f.Wait("the first rows to go", func() bool { return f.Rows("t") != "20000" })
				stop()
				f.Exec("RENAME TABLE "+f.Schema+".t TO "+f.Schema+".x, "+f.Schema+".other TO "+f.Schema+".t",
					"DROP TABLE "+f.Schema+".x",
					"UPDATE "+f.Schema+"_c.job SET created_at = UTC_TIMESTAMP(6) - INTERVAL "+ago)
				f.set(setting.DeleteRowsLimit, "0")
				defer f.run(nil)()

				f.Wait("a person to be asked", f.asks)
				if left := f.Rows("t"); left != "20000" {
					t.Errorf("%s rows are left of the table that nobody gave a TTL, want all 20000", left)
				}
			})
		}
	})
}

// TestTakenOverMidJob: whatever takes the place of a table while its job runs keeps all its rows,
// even if it was created in the very second that is remembered.
func TestTakenOverMidJob(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		const oneEach, parts = " PARTITION BY RANGE (id) (PARTITION p0 VALUES LESS THAN MAXVALUE)",
			" PARTITION BY RANGE (id) (PARTITION p0 VALUES LESS THAN (10000), PARTITION p1 VALUES LESS THAN MAXVALUE)"
		for name, c := range map[string]struct {
			partitions, others string // of the table with a policy, and of the one that takes its place
			take               []string
		}{
			"exchanged": {
				"", oneEach,
				[]string{"ALTER TABLE {t}.other EXCHANGE PARTITION p0 WITH TABLE {t}.t"},
			},
			"of the same time":    {"", "", []string{"RENAME TABLE {t}.t TO {t}.old, {t}.other TO {t}.t"}},
			"partitions are gone": {parts, "", []string{"RENAME TABLE {t}.t TO {t}.old, {t}.other TO {t}.t"}},
			"partitions are new": {
				"", parts, // the name is never nobody's: then the policy would be disarmed, and nobody asked
				[]string{"RENAME TABLE {t}.t TO {t}.old, {t}.other TO {t}.t", "DROP TABLE {t}.old"},
			},
			"other partitions": {parts, parts, []string{"RENAME TABLE {t}.t TO {t}.old, {t}.other TO {t}.t"}},
		} {
			takenOver := func(t *testing.T, waits bool) {
				t.Parallel()
				f := newFixture(t, cfg, 0)
				f.Fill("seed", 20_000)
				const columns = " (id INT PRIMARY KEY, made DATETIME NULL, pad VARCHAR(200))"
				f.Exec("CREATE TABLE "+f.Schema+".t"+columns+c.partitions,
					"INSERT INTO "+f.Schema+".t SELECT * FROM "+f.Schema+".seed")

				p := f.DeclareEvery("t", "1h")
				if _, err := f.Store.Consent(t.Context(), "test", p.ID, p.Version, catalog.Consent{}); err != nil {
					t.Fatal(err)
				}

				f.set(setting.DeleteRowsLimit, "100")
				stop := filepath.Join(t.TempDir(), "stop")
				defer f.run(func(c *Config) { c.StopFile = stop })()

				f.Wait("the first rows to go", func() bool { return f.Rows("t") != "20000" })

				f.Admin.SetMaxOpenConns(1)
				f.Exec("SET timestamp = "+
					f.Text("SELECT UNIX_TIMESTAMP(CREATE_TIME) FROM information_schema.TABLES WHERE TABLE_SCHEMA = '"+
						f.Schema+"' AND TABLE_NAME = 't'"),
					"CREATE TABLE "+f.Schema+".other"+columns+c.others, "SET timestamp = DEFAULT",
					"INSERT INTO "+f.Schema+".other SELECT id, '2020-01-01', pad FROM "+f.Schema+".seed")
				f.Admin.SetMaxOpenConns(0)

				if waits {
					if err := os.WriteFile(stop, nil, 0o600); err != nil {
						t.Fatal(err)
					}
					f.Wait("nobody to work on it", func() bool {
						return f.Text(f.In("SELECT COUNT(*) FROM {t}_c.task WHERE owner IS NOT NULL")) == "0"
					})
				}
				for _, s := range c.take {
					f.Exec(strings.ReplaceAll(s, "{t}", f.Schema))
				}
				if waits {
					f.Wait("the job to be older than a moment", f.NextSecond())
					if err := os.Remove(stop); err != nil {
						t.Fatal(err)
					}
				}

				f.Wait("a person to be asked", f.asks)
				if left := f.Rows("t"); left != "20000" {
					t.Errorf("%s rows are left of the table that nobody gave a TTL, want all 20000", left)
				}
			}
			t.Run(name, func(t *testing.T) { takenOver(t, false) })
			t.Run(name+", while it waits", func(t *testing.T) { takenOver(t, true) })
		}
	})
}

// TestPauseHoldsAtOnce: when Pause has answered no further row goes, and Resume goes on at the
// cursor.
func TestPauseHoldsAtOnce(t *testing.T) {
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		f.Fill("t", 20_000)
		f.set(setting.DeleteRowsLimit, "2000")
		p := f.Declare("t")
		defer f.run(nil)()

		f.Wait("the first rows to go", func() bool { return f.Rows("t") != "20000" })
		if err := f.Store.Pause(t.Context(), "test", p.ID, "a look", time.Time{}); err != nil {
			t.Fatal(err)
		}

		left := f.Rows("t")
		f.Wait("a while", elapsed(aWhile))
		if now := f.Rows("t"); now != left {
			t.Errorf("%s rows when Pause had answered, %s later", left, now)
		}

		f.set(setting.DeleteRowsLimit, "0")
		if err := f.Store.Resume(t.Context(), "test", p.ID); err != nil {
			t.Fatal(err)
		}

		f.Wait("the rest to go", func() bool { return f.Rows("t") == "10000" })
		f.Wait("one job with true counts", func() bool {
			return f.Text("SELECT COALESCE(MAX(CONCAT_WS(' ', state, deleted, refreshed, failed, skipped)), '') FROM "+
				f.Schema+"_c.job_history WHERE deleted > 0") == "finished 10000 0 0 0"
		})
	})
}

func (f *fixture) set(name, value string) {
	f.T.Helper()
	if err := f.Store.Set(f.T.Context(), "test", map[string]string{name: value}); err != nil {
		f.T.Fatal(err)
	}
}

// aWhile is long enough for several ticks of an engine, in which it shows whether it stays still.
const aWhile = 600 * time.Millisecond

func elapsed(d time.Duration) func() bool {
	began := time.Now()
	return func() bool { return time.Since(began) > d }
}

// TestLostConnection: when a connection dies with its packet, no row is left out and none is counted
// twice.
func TestLostConnection(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		f.Fill("t", 10_000)
		f.Declare("t")
		var packets atomic.Int64
		defer f.run(func(c *Config) {
			c.beforePacket = func() {
				if packets.Add(1)%3 != 0 {
					return
				}
				if id := f.Text("SELECT COALESCE(MAX(connection), 0) FROM " + f.Schema + "_c.task"); id != "0" {
					_, _ = f.Admin.ExecContext(t.Context(), "KILL "+id) // it may have gone already
				}
			}
		})()

		f.Wait("the expired rows to go", func() bool { return f.Rows("t") == "5000" })
		f.Wait("true counts", func() bool {
			return f.Text("SELECT COALESCE(SUM(deleted), 0) FROM "+f.Schema+"_c.job_history") == "5000"
		})
	})
}

// TestTakeOver: a second engine goes on where the first one vanished without a word.
func TestTakeOver(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		f.Fill("t", 4000)
		f.Declare("t")
		f.set(setting.DeleteRowsLimit, "500")
		stop := f.run(nil)
		f.Wait("the first rows to go", func() bool { return f.Rows("t") < "4000" })

		// As after kill -9: the node stays registered and its tasks stay claimed, but nothing beats
		// any more.
		f.Exec("CREATE TABLE "+f.Schema+".saved_node AS SELECT * FROM "+f.Schema+"_c.node",
			"CREATE TABLE "+f.Schema+".saved_task AS SELECT * FROM "+f.Schema+"_c.task")
		stop()
		f.Exec("UPDATE "+f.Schema+"_c.node n JOIN "+f.Schema+
			".saved_node s ON s.id = n.id SET n.left_at = NULL, n.heartbeat_at = UTC_TIMESTAMP(6)",
			"UPDATE "+f.Schema+"_c.task t JOIN "+f.Schema+
				".saved_task s ON s.id = t.id SET t.state = 'running', t.owner = 1 WHERE t.state <> 'finished'")
		cursor := f.Text("SELECT COALESCE(MAX(cursor_key), '') FROM " + f.Schema + "_c.task")
		f.set(setting.DeleteRowsLimit, "0")
		defer f.run(nil)()

		f.Wait("the rest to go", func() bool { return f.Rows("t") == "2000" })
		f.Wait("true counts", func() bool {
			return f.Text("SELECT COALESCE(SUM(deleted), 0) FROM "+f.Schema+"_c.job_history") == "2000"
		})
		if cursor == "" {
			t.Error("nothing was committed before the take-over")
		}
	})
}

// TestBrakeWaitsForApproval: a surprising job is there, says how many rows are due, and starts when
// approved.
func TestBrakeWaitsForApproval(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newBrakedFixture(t, cfg, 0)
		f.Fill("t", 3000)
		f.Exec("UPDATE " + f.Schema + ".t SET made = '2020-01-01' WHERE id > 100")
		p := f.Declare("t")
		defer f.run(nil)()

		f.Wait("the job to need approval", func() bool {
			return f.Text("SELECT COALESCE(MAX(state), '') FROM "+f.Schema+"_c.job") == "needs approval"
		})
		reason := f.Text("SELECT reason FROM " + f.Schema + "_c.job")
		if !strings.Contains(reason, "2950 of 3000 rows") {
			t.Errorf("the reason is %q, want the numbers in it", reason)
		}

		f.Wait("a while", elapsed(aWhile))
		if left := f.Rows("t"); left != "3000" {
			t.Fatalf("%s rows are left before approval", left)
		}
		if _, err := f.Store.Consent(t.Context(), "test", p.ID, p.Version, catalog.Consent{}); err != nil {
			t.Fatal(err)
		}

		f.Wait("the expired rows to go", func() bool { return f.Rows("t") == "50" })
	})
}

// TestHoldsAndLetsGo: a foreign key that points at the table pauses its job until it is gone.
func TestHoldsAndLetsGo(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		f.Fill("t", 20_000)
		f.set(setting.DeleteRowsLimit, "100")
		child := "CREATE TABLE " + f.Schema + ".child (t INT, CONSTRAINT fk FOREIGN KEY (t) REFERENCES " + f.Schema +
			".t (id) ON DELETE CASCADE)"
		f.Exec(child)
		f.DeclareEvery("t", "1h")
		defer f.run(nil)()

		held := func() bool {
			return strings.Contains(f.Text("SELECT COALESCE(MAX(CONCAT(state, reason)), '') FROM "+f.Schema+"_c.job"),
				"foreign key")
		}
		f.Wait("the job to be held", held)
		if first := f.Text("SELECT COUNT(*) FROM " + f.Schema +
			"_c.task WHERE batch > 0 OR examined > 0"); f.Rows("t") != "20000" || first != "0" {
			t.Errorf("%s rows are left when the job is held, want all 20000", f.Rows("t"))
		}

		f.Exec("DROP TABLE " + f.Schema + ".child")
		f.Wait("the first rows to go", func() bool { return f.Rows("t") != "20000" })
		f.Exec(child) // again, in the middle of the job
		f.Wait("the job to be held again", held)
		left := f.Rows("t")
		f.Wait("a while", elapsed(aWhile))

		if now := f.Rows("t"); now != left || left == "10000" {
			t.Errorf("%s rows when the job was held again, %s later", left, now)
		}

		f.set(setting.DeleteRowsLimit, "0")
		f.Exec("DROP TABLE " + f.Schema + ".child")
		f.Wait("the expired rows to go", func() bool { return f.remaining("t") == 10_000 })
	})
}

// TestPoisonRowStandsAlone: one row that a trigger keeps is reported, and all others go. The jobs
// after that leave it alone until its next try, or until somebody runs one by hand.
func TestPoisonRowStandsAlone(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		t.Run("range", func(t *testing.T) { poisonRow(t, cfg, "range", 1000) })
		t.Run("index", func(t *testing.T) { poisonRow(t, cfg, "index", 40, "ADD INDEX (made)") })
	})
}

func poisonRow(t *testing.T, cfg *mysql.Config, way string, due int, alter ...string) {
	f := newFixture(t, cfg, 0)
	f.Fill("t", 2000)
	for _, change := range alter {
		f.Exec("ALTER TABLE " + f.Schema + ".t " + change)
	}

	f.Exec(fmt.Sprintf("UPDATE %s.t SET made = IF((id - 777) %% %d = 0, '2020-01-01', '2037-01-01')",
		f.Schema, 2000/due),
		"ANALYZE TABLE "+f.Schema+".t", "CREATE TRIGGER "+f.Schema+".keep BEFORE DELETE ON "+f.Schema+
			".t FOR EACH ROW IF OLD.id = 777 THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'not this one'; END IF")
	p := f.Declare("t")
	defer f.run(nil)()

	f.Wait("the expired rows to go", func() bool { return f.Rows("t") == strconv.Itoa(2001-due) })
	listed := func() string {
		return f.Text("SELECT COALESCE(MAX(CONCAT_WS(' ', row_key, error_number, reason, attempts)), '') FROM " +
			f.Schema + "_c.row_error")
	}
	f.Wait("the row to be reported", func() bool { return listed() == `["777"] 1644 not this one 1` })
	ended := func(counts string) func() bool {
		return func() bool {
			return f.Text("SELECT COUNT(*) FROM "+f.Schema+
				"_c.job_history WHERE CONCAT_WS(' ', state, deleted, failed, skipped) = '"+counts+"'") != "0"
		}
	}

	f.Wait("true counts", ended(fmt.Sprintf("finished %d 1 0", due-1)))
	if plan := f.Text("SELECT plan FROM " + f.Schema + "_c.job_history ORDER BY job_id LIMIT 1"); plan != way {
		t.Errorf("the plan was %s, want %s", plan, way)
	}

	f.Wait("a job that leaves the row alone", ended("finished 0 0 1"))
	if got := listed(); got != `["777"] 1644 not this one 1` {
		t.Errorf("got %s, want one attempt", got)
	}

	f.Exec("UPDATE " + f.Schema + "_c.row_error SET next_try_at = last_at")
	f.Wait("another try", func() bool { return listed() == `["777"] 1644 not this one 2` })
	if pause := f.Text("SELECT TIMESTAMPDIFF(MINUTE, last_at, next_try_at) FROM " + f.Schema +
		"_c.row_error"); pause != "120" {
		t.Errorf("the third try comes after %s minutes, want 120", pause)
	}

	f.Exec("DROP TRIGGER " + f.Schema + ".keep")
	if _, err := f.Store.RequestRun(t.Context(), "test", p.ID); err != nil {
		t.Fatal(err)
	}

	f.Wait("the row to go too", func() bool { return f.Rows("t") == strconv.Itoa(2000-due) })
	f.Wait("its error to be forgotten", func() bool { return listed() == "" })
}

// TestMendedRowIsForgotten: an error leaves SHOW TTL ERRORS when its row is gone, or has got a new
// date, although it was not tried.
func TestMendedRowIsForgotten(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		f.Fill("t", 200)
		f.Exec("CREATE TRIGGER " + f.Schema + ".keep BEFORE DELETE ON " + f.Schema +
			".t FOR EACH ROW IF OLD.id IN (11, 33, 55) AND @ttlproxy_entered IS NOT NULL THEN SIGNAL SQLSTATE " +
			"'45000' SET MESSAGE_TEXT = 'no'; END IF")
		f.Declare("t")
		defer f.run(nil)()
		f.Wait("three errors", func() bool { return f.Text("SELECT COUNT(*) FROM "+f.Schema+"_c.row_error") == "3" })
		f.Exec("DELETE FROM "+f.Schema+".t WHERE id = 11",
			"UPDATE "+f.Schema+".t SET made = '2037-01-01' WHERE id = 33")
		f.Wait("two to be forgotten", func() bool {
			return f.Text("SELECT COALESCE(GROUP_CONCAT(row_key), '') FROM "+f.Schema+"_c.row_error") == `["55"]`
		})
	})
}

// TestBigJobIsSummedUp: what a big job leaves to the server and to people is in its note; a small
// one says nothing.
func TestBigJobIsSummedUp(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		f.Fill("t", 30_000)
		f.Declare("t")
		defer f.run(nil)()

		f.Wait("two jobs", func() bool {
			return f.Text("SELECT COUNT(DISTINCT deleted) FROM "+f.Schema+
				"_c.job_history WHERE state = 'finished'") == "2"
		})
		note := f.Text("SELECT note FROM " + f.Schema + "_c.job_history WHERE deleted = 15000")
		for _, want := range []string{
			" % of the rows are gone: ANALYZE TABLE `" + f.Schema + "`.`t`", "OPTIMIZE TABLE",
			"MiB of pages",
		} {
			if !strings.Contains(note, want) {
				t.Errorf("the note is %q, want %q in it", note, want)
			}
		}

		if note := f.Text("SELECT note FROM " + f.Schema + "_c.job_history WHERE deleted = 0 LIMIT 1"); note != "" {
			t.Errorf("a job that found nothing notes %q", note)
		}
	})
}

// TestKeylessTableSaysWhy: without a key nothing can be gone round, so the job fails with the
// reason.
func TestKeylessTableSaysWhy(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		f.Exec("CREATE TABLE "+f.Schema+".t (id INT, made DATETIME NULL)",
			"INSERT INTO "+f.Schema+".t VALUES (1, '2020-01-01'), (2, '2020-01-01')",
			"CREATE TRIGGER "+f.Schema+".keep BEFORE DELETE ON "+f.Schema+
				".t FOR EACH ROW IF OLD.id = 2 THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'not this one'; END IF")
		f.Declare("t")
		defer f.run(nil)()
		reason := ""
		f.Wait("the job to fail", func() bool {
			reason = f.Text("SELECT COALESCE(MAX(CONCAT_WS(' ', state, reason)), '') FROM " + f.Schema + "_c.job_history")
			return strings.Contains(reason, "1644 (45000)")
		})
		if strings.Contains(reason, "not this one") {
			t.Errorf("the reason %q has a trigger's words, which may quote the row", reason)
		}
	})
}

// TestLockedRowIsLeftForTheNextJob: rows that the application holds neither stop their neighbours
// nor count as failed. The table is so small that the servers would rather read all of it.
func TestLockedRowIsLeftForTheNextJob(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		f.Fill("t", 900)
		f.Exec("UPDATE " + f.Schema + ".t SET made = '2020-01-01'")
		letGo := f.Hold("SELECT * FROM {t} WHERE id IN (400, 401) FOR UPDATE")
		f.Declare("t")
		defer f.run(nil)()

		f.Wait("the others to go",
			func() bool { return f.Text("SELECT COUNT(*) FROM "+f.Schema+".t WHERE id NOT IN (400, 401)") == "0" })
		f.Wait("the job to end", func() bool {
			return f.Text("SELECT COALESCE(MAX(CONCAT_WS(' ', state, deleted, refreshed, failed, skipped)), '') FROM "+
				f.Schema+"_c.job_history WHERE deleted > 0") == "finished 898 0 0 2"
		})
		letGo()
		f.Wait("the next job to take them", func() bool { return f.Rows("t") == "0" })
	})
}

// TestAlterIsNotHeldUp: the application's DDL waits for one batch at most. The trigger makes
// batches so slow that any that got in ahead of a waiting ALTER could be counted.
func TestAlterIsNotHeldUp(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		f.Fill("t", 20_000)
		f.Exec("CREATE TRIGGER " + f.Schema + ".slow BEFORE DELETE ON " + f.Schema + ".t FOR EACH ROW DO SLEEP(0.002)")
		f.set(setting.BatchTargetMS, "100")
		f.Declare("t")
		defer f.run(nil)()

		committed := func() string { return f.Text("SELECT COALESCE(SUM(deleted), 0) FROM " + f.Schema + "_c.task") }
		f.Wait("the first rows to go", func() bool { return committed() != "0" })
		batch := f.Number("SELECT MAX(deleted) FROM " + f.Schema + "_c.task") // the first, which is the largest
		for range 5 {
			before := f.Number("SELECT COALESCE(SUM(deleted), 0) FROM " + f.Schema + "_c.task")
			f.Exec("ALTER TABLE " + f.Schema + ".t COMMENT '" + time.Now().String() + "'")
			// One batch was running; another may have begun and ended while we asked.
			if during := f.Number("SELECT COALESCE(SUM(deleted), 0) FROM "+f.Schema+
				"_c.task") - before; during > 2*batch {
				t.Errorf("%d rows went while an ALTER waited, batches have %d at most", during, batch)
			}
		}

		f.Exec("DROP TRIGGER " + f.Schema + ".slow")
		f.Wait("the engine to go on with the same table", func() bool { return f.Rows("t") == "10000" })
	})
}

// TestPartitionsHaveJobsOfTheirOwn, and NULLs and zero dates stay.
func TestPartitionsHaveJobsOfTheirOwn(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		f.Exec("CREATE TABLE "+f.Schema+
			".t (id INT NOT NULL, made DATE NULL, PRIMARY KEY (id)) PARTITION BY RANGE (id) (PARTITION p0 VALUES "+
			"LESS THAN (100), PARTITION p1 VALUES LESS THAN (200), PARTITION p2 VALUES LESS THAN MAXVALUE)",
			"INSERT INTO "+f.Schema+
				".t VALUES (1, '2020-01-01'), (2, '2037-01-01'), (101, '2020-01-01'), (102, NULL), (103, '1969-12-31'), "+
				"(201, '2020-01-01'), (202, CURRENT_DATE)")
		f.Declare("t")
		defer f.run(nil)()

		f.Wait("the expired rows to go", func() bool { return f.Rows("t") == "4" })
		f.Wait("three jobs to end", func() bool {
			return f.Text("SELECT COALESCE(GROUP_CONCAT(DISTINCT CONCAT(partition_name, deleted) ORDER BY "+
				"partition_name), '') FROM "+f.Schema+"_c.job_history WHERE deleted > 0") == "p01,p11,p21"
		})
		if note := f.Text("SELECT note FROM " + f.Schema +
			"_c.job_history WHERE partition_name = 'p1' LIMIT 1"); !strings.Contains(note, "1 row without a date") ||
			!strings.Contains(note, "1 row with a zero date") {
			t.Errorf("the note is %q, want NULL and implausible rows counted", note)
		}
	})
}

// TestIndexTellsThatNothingIsDue: with an index on time and nothing due, a job costs a handful of
// statements.
func TestIndexTellsThatNothingIsDue(t *testing.T) {
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		f.Fill("t", 60_000)
		f.Exec("UPDATE "+f.Schema+".t SET made = IF(id % 1000 = 1, '2020-01-01', '2037-01-01')",
			"ALTER TABLE "+f.Schema+".t ADD INDEX (made)", // which has never had the former dates
			"ANALYZE TABLE "+f.Schema+".t")
		f.Declare("t")
		before := f.rowsRead()
		stop := f.run(nil)
		f.Wait("the expired rows to go", func() bool {
			return f.Text("SELECT COALESCE(MAX(CONCAT_WS(' ', plan, deleted)), '') FROM "+f.Schema+
				"_c.job_history WHERE deleted > 0") == "index 60"
		})
		stop()

		if read := f.rowsRead() - before; read > 10_000 {
			t.Errorf("%d rows were read to delete 60 of 60000", read)
		}
	})
}

// rowsRead is how many rows anybody has read on the server so far.
func (f *fixture) rowsRead() int {
	f.T.Helper()
	counter := "Innodb_rows_read"
	if f.Store.Server().MariaDB {
		counter = "Rows_read"
	}
	var name string
	var n int
	if err := f.Admin.QueryRowContext(f.T.Context(), "SHOW GLOBAL STATUS LIKE '"+counter+"'").Scan(&name,
		&n); err != nil {
		f.T.Fatal(err)
	}
	return n
}

// TestColumnReplacedInPlace: a column that is dropped and made again, or trades its name with another, keeps the table,
// its id and its columns as they were. The brake looks at what it holds now, also in the middle of a job.
func TestColumnReplacedInPlace(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		const again = "DROP COLUMN made, ADD COLUMN made DATETIME DEFAULT '2020-01-01' AFTER id"
		replace := func(f *fixture, how string) { f.Exec("ALTER TABLE " + f.Schema + ".t " + how) }
		braked := func(f *fixture) func() bool {
			return func() bool {
				return f.Text("SELECT COALESCE(MAX(state), '') FROM "+f.Schema+"_c.job") == "needs approval"
			}
		}

		betweenJobs := func(t *testing.T, before, how string) {
			f := newBrakedFixture(t, cfg, 0)
			f.Fill("t", 4000)
			f.Exec("ALTER TABLE " + f.Schema + ".t " + before)
			f.Declare("t")
			stop := f.run(nil)
			f.Wait("the expired rows to go", func() bool { return f.Rows("t") == "2000" })
			stop()
			replace(f, how)
			defer f.run(nil)()

			f.Wait("the next job to be braked", braked(f))
			if left := f.Rows("t"); left != "2000" {
				t.Errorf("%s rows are left, want 2000", left)
			}
		}

		t.Run("between jobs", func(t *testing.T) { betweenJobs(t, "COMMENT ''", again) })
		t.Run("of partitions", func(t *testing.T) {
			betweenJobs(t, "PARTITION BY RANGE (id) (PARTITION p0 VALUES LESS THAN (2000), "+
				"PARTITION p1 VALUES LESS THAN MAXVALUE)", again)
		})

		const beside = "ADD COLUMN changed DATETIME DEFAULT '2020-01-01' AFTER made"
		t.Run("trading names", func(t *testing.T) {
			betweenJobs(t, beside, "CHANGE changed made DATETIME AFTER id, CHANGE made changed DATETIME AFTER made")
		})
		t.Run("in place of another", func(t *testing.T) {
			betweenJobs(t, beside, "DROP COLUMN changed, RENAME COLUMN made TO changed, "+
				"ADD COLUMN made DATETIME DEFAULT '2020-01-01' AFTER id")
		})
		t.Run("in a job", func(t *testing.T) {
			f := newBrakedFixture(t, cfg, 0)
			f.Fill("t", 20_000)
			f.DeclareEvery("t", "1h")
			var packets atomic.Int64
			var left atomic.Value
			defer f.run(func(c *Config) {
				c.beforePacket = func() {
					if packets.Add(1) == 3 {
						replace(f, again)
						left.Store(f.Rows("t"))
					}
				}
			})()

			f.Wait("a job in its place to be braked", braked(f))
			if now := f.Rows("t"); now != left.Load() {
				t.Errorf("%s rows when the column was replaced, %s later", left.Load(), now)
			}
		})
	})
}
