package ttl

import (
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/setting"
	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
	"github.com/ttlproxy/ttlproxy/ttl/ttltest"
)

// sparing declares a policy on t that keeps what foreign keys point at.
func (f *fixture) sparing() catalog.Policy {
	f.T.Helper()
	p, err := f.Store.Declare(f.T.Context(), catalog.Client{Account: "test"}, catalog.Declaration{
		Table: catalog.Table{Schema: f.Schema, Name: "t"},
		Rule: catalog.Rule{
			Column: "made", Literal: "1", Unit: "DAY", Enabled: true, JobInterval: "1s",
			TimeZone: "UTC", ZoneSource: catalog.ZoneFromTable,
			Options: map[string]string{ddl.OptionForeignKeys: ddl.ForeignKeysSkip, ddl.OptionBatchSize: "50"},
		},
	})
	if err != nil {
		f.T.Fatal(err)
	}
	return p
}

// families makes children of t: of every third row by one key, of every fifth by another, and of
// every seventh by a third, two columns of which one may be NULL.
func (f *fixture) families(rows int, index string) {
	f.T.Helper()
	f.Fill("t", rows)
	f.Exec(f.In("ALTER TABLE {t}.t ADD u INT NULL, ADD UNIQUE (id), ADD UNIQUE (u, id)"+index),
		f.In("UPDATE {t}.t SET u = IF(id % 2, id, NULL)"),
		f.In("CREATE TABLE {t}.cascades (id INT PRIMARY KEY AUTO_INCREMENT, t INT, "+
			"FOREIGN KEY (t) REFERENCES {t}.t (id) ON DELETE CASCADE ON UPDATE CASCADE)"),
		f.In("CREATE TABLE {t}.nulls (id INT PRIMARY KEY AUTO_INCREMENT, t INT, "+
			"FOREIGN KEY (t) REFERENCES {t}.t (id) ON DELETE SET NULL)"),
		f.In("CREATE TABLE {t}.refuses (id INT PRIMARY KEY AUTO_INCREMENT, u INT, t INT, "+
			"FOREIGN KEY (u, t) REFERENCES {t}.t (u, id))"),
		f.In("INSERT INTO {t}.cascades (t) SELECT id FROM {t}.t WHERE id % 3 = 0"),
		f.In("INSERT INTO {t}.nulls (t) SELECT id FROM {t}.t WHERE id % 5 = 0"),
		f.In("INSERT INTO {t}.refuses (u, t) SELECT u, id FROM {t}.t WHERE id % 7 = 0 AND u = id"),
		f.In("INSERT INTO {t}.refuses (u, t) VALUES (NULL, 11), (NULL, 13)")) // which point at nothing
}

// referenced counts the rows that are due, and those of them that something points at.
func (f *fixture) referenced() (due, kept int) {
	f.T.Helper()
	const kept1 = "EXISTS (SELECT 1 FROM {t}.cascades c WHERE c.t = t.id) OR EXISTS (SELECT 1 FROM {t}.nulls c WHERE " +
		"c.t = t.id) OR EXISTS (SELECT 1 FROM {t}.refuses c WHERE c.t = t.id AND c.u = t.u)"
	return f.Number(f.In("SELECT COUNT(*) FROM {t}.t WHERE made < '2025-01-01'")),
		f.Number(f.In("SELECT COUNT(*) FROM {t}.t WHERE made < '2025-01-01' AND (" + kept1 + ")"))
}

// TestReferencedRowsStay: while jobs run, applications add children to rows that are due, some of
// them between a batch's look and its DELETE. Whatever was committed is still there at the end, and
// every row without children has gone.
func TestReferencedRowsStay(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		for name, index := range map[string]string{"range": "", "index": ", ADD INDEX (made)"} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				const rows = 3000
				f := newFixture(t, cfg, 0)
				f.families(rows, index)
				f.set(setting.BrakeFactor, "0")
				f.sparing()

				added := &adoptions{f: f}
				stop := f.run(func(c *Config) { c.beforePacket = func() { added.one("cascades") } })
				defer stop()

				var apps sync.WaitGroup
				for _, table := range []string{"cascades", "nulls"} {
					apps.Go(func() {
						for range 200 {
							added.one(table)
						}
					})
				}
				apps.Wait()

				f.Wait("the rows without children to go", func() bool {
					due, kept := f.referenced()
					return due == kept && kept > 0
				})
				added.check()
				if n := f.Number(f.In("SELECT COUNT(*) FROM {t}_c.row_error")); n != 0 {
					t.Errorf("%d rows count as undeletable, want none", n)
				}
			})
		}
	})
}

// adoptions are children that were added while jobs ran.
type adoptions struct {
	f    *fixture
	mu   sync.Mutex
	next int
	made map[string][]int // by table, the rows that they point at
}

// one adds a child to a row that is due, if that is still there.
func (a *adoptions) one(table string) {
	a.mu.Lock()
	a.next = (a.next + 734) % 3000
	row := a.next | 1
	a.mu.Unlock()

	_, err := a.f.Admin.ExecContext(a.f.T.Context(),
		fmt.Sprintf(a.f.In("INSERT INTO {t}.%s (t) VALUES (%d)"), table, row))
	if refused, ok := errors.AsType[*mysql.MySQLError](err); ok {
		if !slices.Contains([]uint16{1452, 1205, 1213}, refused.Number) {
			a.f.T.Error(err)
		}
		return
	}

	a.mu.Lock()
	defer a.mu.Unlock()
	if a.made == nil {
		a.made = map[string][]int{}
	}
	a.made[table] = append(a.made[table], row)
}

// check finds every child that was added, and its parent.
func (a *adoptions) check() {
	a.f.T.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	for table, rows := range a.made {
		for _, row := range rows {
			if a.f.Number(fmt.Sprintf(a.f.In("SELECT COUNT(*) FROM {t}.%s c JOIN {t}.t ON t.id = c.t WHERE c.t = %d"),
				table, row)) == 0 {
				a.f.T.Errorf("a row of %s that pointed at row %d is gone, or points at nothing", table, row)
			}
		}
	}
	if len(a.made["cascades"]) == 0 {
		a.f.T.Error("no child was ever added")
	}
}

// TestForeignKeyComesMidJob: a foreign key is added between a batch's look and its DELETE, with rows
// that point at some of those to be deleted.
func TestForeignKeyComesMidJob(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		for name, end := range map[string]string{
			"cascade":   "REFERENCES {t}.t (id) ON DELETE CASCADE",
			"refusing":  "REFERENCES {t}.t (id)",
			"secondary": "REFERENCES {t}.t (u) ON DELETE CASCADE",
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				f := newFixture(t, cfg, 0)
				f.Fill("t", 1000)
				f.Exec(f.In("ALTER TABLE {t}.t ADD u INT, ADD UNIQUE (u)"), f.In("UPDATE {t}.t SET u = id"),
					f.In("CREATE TABLE {t}.late (id INT PRIMARY KEY, KEY (id))"),
					f.In("INSERT INTO {t}.late SELECT id FROM {t}.t WHERE id % 3 = 0"))
				f.sparing()

				var once sync.Once
				late := func() { f.Exec(f.In("ALTER TABLE {t}.late ADD FOREIGN KEY (id) " + end)) }
				defer f.run(func(c *Config) { c.beforePacket = func() { once.Do(late) } })()

				if name == "secondary" {
					f.Wait("the job to be held", func() bool {
						job := f.Text(f.In("SELECT COALESCE(MAX(CONCAT(state, reason)), '') FROM {t}_c.job"))
						return strings.Contains(job, "InnoDB could change a child")
					})
					if left := f.Rows("t"); left != "1000" {
						t.Errorf("%s rows are left of 1000", left)
					}
					return
				}

				f.Wait("the rows without children to go", func() bool {
					return f.Text(f.In("SELECT COUNT(*) FROM {t}.t WHERE made < '2025-01-01' AND id % 3")) == "0"
				})
				if left := f.Rows("late"); left != "333" {
					t.Errorf("%s rows are left of 333 that point at others", left)
				}
				if n := f.Number(f.In("SELECT COUNT(*) FROM {t}_c.row_error")); n != 0 {
					t.Errorf("%d rows count as undeletable, want none", n)
				}
			})
		}
	})
}

// TestTableComesMidStatement: a table is created that points at rows which a running DELETE has not
// reached yet. MariaDB lets it, and a row into it.
func TestTableComesMidStatement(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		f.Fill("t", 100)
		f.Exec(f.In("CREATE TRIGGER {t}.halt BEFORE DELETE ON {t}.t FOR EACH ROW " +
			"SET @halt = GET_LOCK('{t}', IF(OLD.id = 1, 10, 0)), @halt = RELEASE_LOCK('{t}')"))
		f.sparing()

		gate, err := f.Admin.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer gate.Close()
		mustExec(t, gate, f.In("DO GET_LOCK('{t}', 10)"), "SET lock_wait_timeout = 1")

		defer f.run(nil)()
		f.Wait("a DELETE to reach its first row", func() bool {
			return f.Number(f.In("SELECT COUNT(*) FROM information_schema.processlist WHERE state = 'User lock' AND "+
				"info LIKE '%{t}%'")) > 0
		})

		_, err = gate.ExecContext(t.Context(), f.In("CREATE TABLE {t}.late (id INT PRIMARY KEY, FOREIGN KEY (id) "+
			"REFERENCES {t}.t (id) ON DELETE CASCADE)"))
		came := err == nil
		if came {
			mustExec(t, gate, f.In("INSERT INTO {t}.late VALUES (51), (53)"))
		}
		mustExec(t, gate, f.In("DO RELEASE_LOCK('{t}')"))

		left := "50"
		if came {
			left = "52"
		}
		f.Wait("the other rows to go", func() bool { return f.Rows("t") == left })
		if came && f.Rows("late") != "2" {
			t.Errorf("%s rows are left of 2 that were added while a DELETE ran", f.Rows("late"))
		}
	})
}

// TestTriggerHidesNoChildren: a trigger of the table creates a temporary table that has the name of a
// child. It fires in our session, and stays there. Sessions in which triggers did nothing of that kind
// are kept from one batch to the next.
func TestTriggerHidesNoChildren(t *testing.T) {
	t.Parallel()
	const hide = "CREATE TEMPORARY TABLE IF NOT EXISTS {t}.child "
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		for name, does := range map[string]string{
			"itself":              hide + "(t INT)",
			"a likeness":          hide + "LIKE {t}.t",
			"through a procedure": "CALL {t}.hide()",
			"something else":      "INSERT INTO {t}.fired VALUES (CONNECTION_ID())",
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				f := newFixture(t, cfg, 0)
				f.Fill("t", 2000)
				f.Exec(f.In("CREATE TABLE {t}.child (t INT, FOREIGN KEY (t) REFERENCES {t}.t (id) ON DELETE CASCADE)"),
					f.In("INSERT INTO {t}.child SELECT id FROM {t}.t WHERE id > 1000"),
					f.In("CREATE TABLE {t}.fired (session BIGINT)"),
					f.In("CREATE PROCEDURE {t}.hide () "+hide+"(t INT)"),
					f.In("CREATE TRIGGER {t}.hides AFTER DELETE ON {t}.t FOR EACH ROW "+does))
				f.sparing()
				defer f.run(nil)()

				f.Wait("a job to end", func() bool {
					return f.Number(f.In("SELECT COUNT(*) FROM {t}_c.job_history WHERE state = 'finished' AND "+
						"deleted > 0")) > 0
				})
				if left := f.Rows("child") + " and " + f.Rows("t"); left != "1000 and 1500" {
					t.Errorf("%s rows are left of 1000 and 2000", left)
				}
				if n := f.Number(f.In("SELECT COUNT(DISTINCT session) FROM {t}.fired")); n > 7 {
					t.Errorf("%d sessions were needed for 10 batches", n)
				}
			})
		}
	})
}

// TestChildrenNobodyMayRead: a child in another schema, which the engine's account may not read. A
// right on the columns of the key is enough.
func TestChildrenNobodyMayRead(t *testing.T) {
	t.Parallel()
	mysqltest.Both(t, func(t *testing.T, s *mysqltest.Server) {
		f := newFixture(t, s.Config(""), 0)
		f.Fill("t", 100)
		far := s.Database(t)
		f.Exec("CREATE TABLE "+far+".child (id INT PRIMARY KEY, t INT, FOREIGN KEY (t) REFERENCES "+
			f.In("{t}.t (id) ON DELETE CASCADE)"), "INSERT INTO "+far+".child VALUES (1, 51)")
		defer f.Exec("DROP TABLE " + far + ".child") // or its parent stays

		cfg := s.Account(t, "blind", "PROCESS ON *.*", f.In("ALL ON {t}_c.*"), f.In("SELECT, DELETE ON {t}.*"))
		f.set(setting.AllowReplica, "ON")
		f.sparing()
		defer f.run(func(c *Config) { c.Backend = cfg })()

		f.Wait("the job to be held", func() bool {
			return strings.Contains(f.Text(f.In("SELECT COALESCE(MAX(CONCAT(state, reason)), '') FROM {t}_c.job")),
				"GRANT SELECT (`t`) ON `"+far+"`.`child` to it")
		})
		if left := f.Rows("t"); left != "100" {
			t.Errorf("%s rows are left of 100", left)
		}

		f.Exec("GRANT SELECT (t) ON " + far + ".child TO " + cfg.User)
		f.Wait("the rows without children to go", func() bool { return f.Rows("t") == "51" })
	})
}

func mustExec(t *testing.T, conn *sql.Conn, statements ...string) {
	t.Helper()
	for _, s := range statements {
		if _, err := conn.ExecContext(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}
