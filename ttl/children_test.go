package ttl

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/setting"
	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
	"github.com/ttlproxy/ttlproxy/ttl/ttltest"
)

// taking declares a policy on t that takes along what depends on its rows, by somebody who may delete
// from these tables.
func (f *fixture) taking(dependents ...string) catalog.Policy {
	f.T.Helper()
	return f.takingBy(ddl.ForeignKeysChildren, dependents...)
}

// takingBy is taking by a value of TTL_FK.
func (f *fixture) takingBy(value string, dependents ...string) catalog.Policy {
	f.T.Helper()
	names := []string{}
	for _, name := range dependents {
		name, nulls, _ := strings.Cut(name, " ")
		names = append(names, strings.TrimSpace(ddl.QuoteTable(f.Schema, name)+" "+nulls))
	}
	text, err := json.Marshal(names)
	if err != nil {
		f.T.Fatal(err)
	}

	p, err := f.Store.Declare(f.T.Context(), catalog.Client{Account: "test"}, catalog.Declaration{
		Table: catalog.Table{Schema: f.Schema, Name: "t"},
		Rule: catalog.Rule{
			Column: "made", Literal: "1", Unit: "DAY", Enabled: true, JobInterval: "1s",
			TimeZone: "UTC", ZoneSource: catalog.ZoneFromTable,
			Options: map[string]string{
				ddl.OptionForeignKeys: value, ddl.OptionDependents: string(text),
			},
		},
	})
	if err != nil {
		f.T.Fatal(err)
	}
	return p
}

// parents makes rows of t with n children each, by a key that refuses, and a policy on them.
func (f *fixture) parents(rows, n int) catalog.Policy {
	f.T.Helper()
	return f.parentsBy(ddl.ForeignKeysChildren, rows, n)
}

// parentsBy is parents by a value of TTL_FK, under which the key may have to cascade.
func (f *fixture) parentsBy(value string, rows, n int) catalog.Policy {
	f.T.Helper()
	f.Fill("t", rows)
	f.Exec(f.In("CREATE TABLE {t}.child (id INT PRIMARY KEY AUTO_INCREMENT, t INT, " +
		"FOREIGN KEY (t) REFERENCES {t}.t (id)" + onDelete(value) + ")"))
	for range n {
		f.Exec(f.In("INSERT INTO {t}.child (t) SELECT id FROM {t}.t"))
	}
	f.set(setting.BrakeFactor, "0")
	return f.takingBy(value, "child")
}

// onDelete is what foreign keys say so that rows can go by a value of TTL_FK.
func onDelete(value string) string {
	if value == ddl.ForeignKeysCascade {
		return " ON DELETE CASCADE"
	}
	return ""
}

// due counts the rows of t that have expired.
func (f *fixture) due() int {
	f.T.Helper()
	return f.Number(f.In("SELECT COUNT(*) FROM {t}.t WHERE made < '2025-01-01'"))
}

// TestNamesThatDifferByCase: two tables whose names differ by case only point at t, and two columns of t
// that are one by more letters than the servers know are pointed at. Only rows that depend on expired ones
// go, and only from tables that were agreed to.
func TestNamesThatDifferByCase(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		f.Exec(f.In("CREATE TABLE {t}.t (id INT PRIMARY KEY, made DATETIME, `aɁ` INT UNIQUE, `aɂ` INT UNIQUE)"),
			f.In("INSERT INTO {t}.t VALUES (1, '2024-01-01', 11, 12), (2, '2099-01-01', 12, 11)"),
			f.In("CREATE TABLE {t}.`Child` (id INT PRIMARY KEY, t INT, other INT, KEY (other), "+
				"CONSTRAINT upper FOREIGN KEY (t) REFERENCES {t}.t (id))"),
			f.In("INSERT INTO {t}.`Child` VALUES (10, 2, 1), (11, 1, 2)"),
			f.In("CREATE TABLE {t}.child (id INT PRIMARY KEY, other INT, "+
				"CONSTRAINT lower FOREIGN KEY (other) REFERENCES {t}.t (id) ON DELETE CASCADE)"),
			f.In("INSERT INTO {t}.child VALUES (20, 1), (21, 2)"),
			f.In("CREATE TABLE {t}.one (id INT PRIMARY KEY, a INT, FOREIGN KEY (a) REFERENCES {t}.t (`aɁ`))"),
			f.In("CREATE TABLE {t}.two (id INT PRIMARY KEY, a INT, FOREIGN KEY (a) REFERENCES {t}.t (`aɂ`))"),
			f.In("INSERT INTO {t}.one VALUES (1, 11), (2, 12)"), f.In("INSERT INTO {t}.two VALUES (1, 12), (2, 11)"))

		f.taking("Child", "one", "two")
		stop := f.run(nil)
		f.heldFor("`child` depend on the table, and did not")
		stop()

		f.taking("Child", "child", "one", "two")
		defer f.run(nil)()
		f.Wait("the expired row to go", func() bool { return f.Rows("t") == "1" })
		for table, want := range map[string]string{"t": "2", "Child": "10", "child": "21", "one": "2", "two": "2"} {
			query := f.In("SELECT GROUP_CONCAT(id ORDER BY id) FROM {t}.`" + table + "`")
			if got := f.Text(query); got != want {
				t.Errorf("the rows %s of %s are left, want %s", got, table, want)
			}
		}
	})
}

// heldFor waits until a job is held for a reason. There may be others: of the children.
func (f *fixture) heldFor(reason string) {
	f.T.Helper()
	f.Wait("a job to be held for: "+reason, func() bool {
		return strings.Contains(f.Text(f.In("SELECT COALESCE(GROUP_CONCAT(reason), '') FROM {t}_c.job")), reason)
	})
}

// clan makes children and grandchildren of t: three children of every fourth row with two children
// each, 2500 of the first row, rows that lose their parent, and rows of t that depend on others, but for
// a server that cascades.
func (f *fixture) clan(rows int, value, index string) {
	f.T.Helper()
	f.Fill("t", rows)
	f.Exec(f.In("ALTER TABLE {t}.t ADD u INT, ADD UNIQUE (u)"+index), f.In("UPDATE {t}.t SET u = id + 100000"))
	if value != ddl.ForeignKeysCascade {
		f.Exec(f.In("ALTER TABLE {t}.t ADD boss INT NULL, ADD FOREIGN KEY (boss) REFERENCES {t}.t (id) ON DELETE "+
			"CASCADE"),
			f.In("UPDATE {t}.t SET boss = IF(id % 10 = 0, id - 1, IF(id % 10 = 5, id, NULL))"))
	}
	f.Exec(
		f.In("CREATE TABLE {t}.child (id INT PRIMARY KEY AUTO_INCREMENT, t INT, "+
			"FOREIGN KEY (t) REFERENCES {t}.t (id) ON DELETE CASCADE)"),
		f.In("CREATE TABLE {t}.grandchild (id INT PRIMARY KEY AUTO_INCREMENT, child INT, "+
			"FOREIGN KEY (child) REFERENCES {t}.child (id)"+onDelete(value)+")"),
		f.In("CREATE TABLE {t}.stays (id INT PRIMARY KEY, u INT NULL, "+
			"FOREIGN KEY (u) REFERENCES {t}.t (u) ON DELETE SET NULL)"))
	for range 3 {
		f.Exec(f.In("INSERT INTO {t}.child (t) SELECT id FROM {t}.t WHERE id % 4 < 2"))
	}
	f.Exec(f.In("INSERT INTO {t}.child (t) SELECT 1 FROM {t}.t LIMIT 2500"),
		f.In("INSERT INTO {t}.grandchild (child) SELECT id FROM {t}.child"),
		f.In("INSERT INTO {t}.grandchild (child) SELECT id FROM {t}.child"),
		f.In("INSERT INTO {t}.stays SELECT id, u FROM {t}.t WHERE id % 7 = 0"),
		f.In("CREATE TABLE {t}.born (child INT PRIMARY KEY, t INT)"))
}

// TestFamiliesGo: while jobs run, applications add children to rows that are due and to others, and
// connections of the engine are killed. At the end every row of a parent that is there is there, none
// is left of one that is gone, and each that went was counted once.
func TestFamiliesGo(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		for name, c := range map[string]struct {
			value, index string
			dependents   []string
			stay         int // rows of t
		}{
			"range": {ddl.ForeignKeysChildren, "", []string{"t"}, 1200},
			"index": {ddl.ForeignKeysChildren, ", ADD INDEX (made)", []string{"t"}, 1200},
			// the first row takes 7,503 others along
			"cascade": {ddl.ForeignKeysCascade, "", nil, 1500},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				const rows = 3000
				f := newFixture(t, cfg, 0)
				f.clan(rows, c.value, c.index)
				f.set(setting.BrakeFactor, "0")
				if c.value == ddl.ForeignKeysCascade {
					f.set(setting.MaxChildren, "10000")
				}
				was := f.census()
				f.takingBy(c.value, append(c.dependents, "child", "grandchild", "stays SET NULL")...)
				stop := f.run(nil)

				var apps sync.WaitGroup
				for app := range 2 {
					apps.Go(func() {
						for n := range 150 {
							f.bear(1 + (n*734+app*371)%rows)
						}
					})
				}
				apps.Go(f.killSessions)
				apps.Wait()

				f.Wait("the expired rows to go", func() bool { return f.due() == 0 })
				stop()
				f.checkClan(was, c.stay)
			})
		}
	})
}

// census counts rows that can go, and those that can lose their parent.
func (f *fixture) census() int {
	f.T.Helper()
	return f.Number(f.In("SELECT (SELECT COUNT(*) FROM {t}.t) + (SELECT COUNT(*) FROM {t}.child) + " +
		"(SELECT COUNT(*) FROM {t}.grandchild) + (SELECT COUNT(u) FROM {t}.stays)"))
}

// bear adds a child with its own child to a row, if that is still there.
func (f *fixture) bear(row int) {
	tx, err := f.Admin.BeginTx(f.T.Context(), nil)
	if err != nil {
		f.T.Error(err)
		return
	}
	defer func() { _ = tx.Rollback() }()

	for _, s := range []string{
		fmt.Sprintf("INSERT INTO {t}.child (t) VALUES (%d)", row), "SET @child = LAST_INSERT_ID()",
		"INSERT INTO {t}.grandchild (child) VALUES (@child), (@child)",
		fmt.Sprintf("INSERT INTO {t}.born VALUES (@child, %d)", row),
	} {
		if _, err = tx.ExecContext(f.T.Context(), f.In(s)); err != nil {
			break
		}
	}
	if err == nil {
		err = tx.Commit()
	}
	if my, refused := errors.AsType[*mysql.MySQLError](err); refused &&
		!slices.Contains([]uint16{1452, 1205, 1213}, my.Number) || err != nil && !refused {
		f.T.Error(err)
	}
}

// killSessions ends connections of the engine while they delete.
func (f *fixture) killSessions() {
	for killed, tries := 0, 0; killed < 5 && tries < 200; tries++ {
		id, err := firstID(f.Admin, f.T, "SELECT id FROM information_schema.processlist WHERE info LIKE "+
			"'%ttlproxy job=%"+f.Schema+"%' AND info NOT LIKE '%processlist%'") // nor those that have just asked so
		if err != nil {
			f.T.Error(err)
			return
		}
		if id == 0 {
			continue
		}
		if _, err := f.Admin.ExecContext(f.T.Context(), fmt.Sprintf("KILL %d", id)); err == nil {
			killed++
		}
	}
}

func firstID(db *sql.DB, t *testing.T, query string) (id int, err error) {
	t.Helper()
	err = db.QueryRowContext(t.Context(), query).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	return id, err
}

// checkClan compares what is left with what should be.
func (f *fixture) checkClan(was, stay int) {
	f.T.Helper()
	for what, query := range map[string]string{
		"children without a parent": "SELECT COUNT(*) FROM {t}.child c LEFT JOIN {t}.t ON t.id = c.t " +
			"WHERE t.id IS NULL",
		"children without a child": "SELECT COUNT(*) FROM {t}.child c WHERE (SELECT COUNT(*) FROM {t}.grandchild g " +
			"WHERE g.child = c.id) <> 2",
		"parents with other children than they should have": "SELECT COUNT(*) FROM {t}.t WHERE " +
			"(SELECT COUNT(*) FROM {t}.child c WHERE c.t = t.id) <> IF(t.id % 4 < 2, 3, 0) + " +
			"(SELECT COUNT(*) FROM {t}.born b WHERE b.t = t.id)",
		"rows that should have stayed": fmt.Sprintf("SELECT %d - COUNT(*) FROM {t}.t", stay),
		"rows that have lost a parent without reason": "SELECT COUNT(*) FROM {t}.stays s LEFT JOIN {t}.t " +
			"ON t.id = s.id WHERE (t.id IS NULL) <> (s.u IS NULL)",
		"rows that went although their parents stay": fmt.Sprintf("SELECT %d - COUNT(*) FROM {t}.stays", 3000/7),
	} {
		if n := f.Number(f.In(query)); n != 0 {
			f.T.Errorf("%s: %d", what, n)
		}
	}

	was += 3 * f.Number(f.In("SELECT COUNT(*) FROM {t}.born"))
	counted := f.Number(f.In("SELECT (SELECT COALESCE(SUM(deleted), 0) FROM {t}_c.job_history) + " +
		"(SELECT COALESCE(SUM(deleted), 0) FROM {t}_c.task)"))
	if gone := was - f.census(); gone != counted {
		f.T.Errorf("%d rows count as deleted, and %d have gone", counted, gone)
	}
	if born := f.Number(f.In("SELECT COUNT(*) FROM {t}.born")); born == 0 {
		f.T.Error("no child was added meanwhile")
	}
}

// TestFamiliesAreWhole: a row of which something cannot go stays with all that depends on it, and all
// others go.
func TestFamiliesAreWhole(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		whole := func(f *fixture, row, children int) {
			f.T.Helper()
			f.Wait("the other rows to go", func() bool { return f.due() == 1 })
			f.Wait("the job to end", func() bool {
				return f.Number(f.In("SELECT COUNT(*) FROM {t}_c.job_history WHERE deleted > 0")) > 0
			})
			if n := f.Number(fmt.Sprintf(f.In("SELECT COUNT(*) FROM {t}.child WHERE t = %d"), row)); n != children {
				f.T.Errorf("%d children of row %d are left of %d", n, row, children)
			}
		}

		t.Run("locked", func(t *testing.T) {
			f := newFixture(t, cfg, 0)
			f.parents(200, 3)
			letGo := f.Hold("SELECT * FROM " + f.Schema + ".child WHERE t = 51 LIMIT 1 FOR UPDATE")
			defer f.run(nil)()
			whole(f, 51, 3)
			letGo()
			f.Wait("the row to go", func() bool { return f.due() == 0 })
		})

		t.Run("objected to", func(t *testing.T) {
			f := newFixture(t, cfg, 0)
			f.parents(200, 3)
			f.Exec(f.In("CREATE TRIGGER {t}.objects BEFORE DELETE ON {t}.child FOR EACH ROW " +
				"IF OLD.t = 51 AND OLD.id > 200 THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'not this one'; " +
				"END IF"))
			defer f.run(nil)()
			whole(f, 51, 3)
			f.Wait("the row to be listed", func() bool {
				return f.Text(f.In("SELECT CONCAT(COUNT(*), MAX(row_key), MAX(reason)) FROM {t}_c.row_error")) ==
					`1["51"]not this one`
			})
		})

		t.Run("in a circle", func(t *testing.T) {
			f := newFixture(t, cfg, 0)
			f.parents(200, 3)
			f.Exec(f.In("ALTER TABLE {t}.t ADD c INT, ADD FOREIGN KEY (c) REFERENCES {t}.child (id)"),
				f.In("UPDATE {t}.t SET c = (SELECT MIN(id) FROM {t}.child WHERE t = 51) WHERE id = 51"))
			table := catalog.Table{Schema: f.Schema, Name: "t"}
			if err := f.Store.Remove(t.Context(), catalog.Client{}, table); err != nil {
				t.Fatal(err)
			}
			f.taking("child", "t")
			defer f.run(nil)()
			whole(f, 51, 3)
			f.Wait("the row to be listed", func() bool {
				return strings.Contains(f.Text(f.In("SELECT COALESCE(MAX(reason), '') FROM {t}_c.row_error")),
					"in a circle")
			})
		})

		t.Run("shared", func(t *testing.T) { // a trigger takes rows that are to go
			f := newFixture(t, cfg, 0)
			f.parents(200, 3)
			f.Exec(f.In("CREATE TABLE {t}.pet (id INT PRIMARY KEY, t INT, FOREIGN KEY (t) REFERENCES {t}.t (id))"),
				f.In("INSERT INTO {t}.pet VALUES (1, 51)"),
				f.In("CREATE TRIGGER {t}.takes AFTER DELETE ON {t}.child FOR EACH ROW "+
					"DELETE FROM {t}.pet WHERE t = OLD.t"))
			f.taking("child", "pet")
			defer f.run(nil)()
			whole(f, 51, 3)
			if left := f.Rows("pet"); left != "1" {
				t.Errorf("%s pets are left of 1", left)
			}
		})
	})
}

// TestChildrenThatNobodyChecks: a session that does not check foreign keys adds children while a batch
// deletes their parents, without waiting for it. They go with their parents, and are counted.
func TestChildrenThatNobodyChecks(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		f.Fill("t", 200)
		f.Exec(f.In("CREATE TABLE {t}.child (id INT PRIMARY KEY AUTO_INCREMENT, t INT, "+
			"FOREIGN KEY (t) REFERENCES {t}.t (id) ON DELETE CASCADE)"),
			f.In("CREATE TABLE {t}.grandchild (id INT PRIMARY KEY AUTO_INCREMENT, child INT, "+
				"FOREIGN KEY (child) REFERENCES {t}.child (id) ON DELETE CASCADE)"),
			f.In("INSERT INTO {t}.child (t) SELECT id FROM {t}.t"),
			f.In("INSERT INTO {t}.grandchild (child) SELECT id FROM {t}.child"),
			f.In("CREATE TRIGGER {t}.halt BEFORE DELETE ON {t}.grandchild FOR EACH ROW "+
				"SET @halt = GET_LOCK('{t}', 10), @halt = RELEASE_LOCK('{t}')"))
		f.set(setting.BrakeFactor, "0")
		f.taking("child", "grandchild")

		gate, err := f.Admin.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer gate.Close()
		mustExec(t, gate, f.In("DO GET_LOCK('{t}', 10)"), "SET foreign_key_checks = 0")
		defer f.run(nil)()
		f.Wait("a batch to reach a grandchild", func() bool {
			return f.Number(f.In("SELECT COUNT(*) FROM information_schema.processlist WHERE state = 'User lock' AND "+
				"info LIKE '%{t}%'")) > 0
		})
		mustExec(t, gate, f.In("INSERT INTO {t}.child (t) VALUES (51), (53)"),
			f.In("INSERT INTO {t}.grandchild (child) SELECT id FROM {t}.child WHERE t IN (55, 57)"),
			f.In("DO RELEASE_LOCK('{t}')"))

		f.Wait("the expired rows to go", func() bool { return f.due() == 0 })
		f.Wait("a job to end", func() bool {
			return f.Number(f.In("SELECT COUNT(*) FROM {t}_c.job_history WHERE deleted > 0")) > 0
		})
		if left := f.Rows("t") + "/" + f.Rows("child") + "/" + f.Rows("grandchild"); left != "100/100/100" {
			t.Errorf("%s rows are left, want 100/100/100", left)
		}
		if n := f.Number(f.In("SELECT SUM(deleted) FROM {t}_c.job_history")); n != 304 {
			t.Errorf("%d rows count as deleted, want 304", n)
		}
	})
}

// TestDependentsChange: tables that rows go along from are replaced, get children of their own, or a
// policy that is paused, between the choice of a batch and its beginning.
func TestDependentsChange(t *testing.T) {
	t.Parallel()
	grandchild := []string{
		"CREATE TABLE {t}.late (id INT PRIMARY KEY, KEY (id))",
		"INSERT INTO {t}.late SELECT id FROM {t}.child",
		"ALTER TABLE {t}.late ADD FOREIGN KEY (id) REFERENCES {t}.child (id) ON DELETE CASCADE",
	}
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		for name, c := range map[string]struct {
			change []string
			held   string
			keeps  string // a table of which no row may go
			value  string
		}{
			"replaced": {
				[]string{
					"CREATE TABLE {t}.other (id INT PRIMARY KEY, t INT, KEY (t))",
					"INSERT INTO {t}.other SELECT id, t FROM {t}.child",
					"RENAME TABLE {t}.child TO {t}.gone, {t}.other TO {t}.child",
				},
				"`gone` depend on the table, and did not", "child", ddl.ForeignKeysChildren,
			},
			"a child more": {
				[]string{
					"CREATE TABLE {t}.late (id INT PRIMARY KEY, KEY (id))",
					"INSERT INTO {t}.late SELECT id FROM {t}.t",
					"ALTER TABLE {t}.late ADD FOREIGN KEY (id) REFERENCES {t}.t (id) ON DELETE CASCADE",
				},
				"`late` depend on the table, and did not", "late", ddl.ForeignKeysChildren,
			},
			"a grandchild":           {grandchild, "`late` depend on the table, and did not", "late", ddl.ForeignKeysChildren},
			"a cascading grandchild": {grandchild, "`late` depend on the table, and did not", "late", ddl.ForeignKeysCascade},
			"another column": {
				[]string{
					"ALTER TABLE {t}.child DROP PRIMARY KEY, CHANGE id was INT, ADD id INT PRIMARY KEY AUTO_INCREMENT",
				},
				"", "", ddl.ForeignKeysChildren,
			},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				f := newFixture(t, cfg, 0)
				f.parentsBy(c.value, 1000, 2)
				var once sync.Once
				change := func() {
					f.Exec(strings.Split(f.In(strings.Join(c.change, "|")), "|")...)
				}
				defer f.run(func(c *Config) { c.beforePacket = func() { once.Do(change) } })()

				if c.held == "" {
					f.Wait("the expired rows to go", func() bool { return f.due() == 0 })
					if left := f.Rows("child"); left != "1000" {
						t.Errorf("%s children are left of 1000", left)
					}
					return
				}

				f.heldFor(c.held)
				if left := f.Rows("t"); left != "1000" {
					t.Errorf("%s rows are left of 1000", left)
				}
				all := map[string]string{"child": "2000", "late": "1000"}[c.keeps]
				if strings.HasSuffix(name, "grandchild") {
					all = "2000"
				}
				if left := f.Rows(c.keeps); left != all {
					t.Errorf("%s rows of %s are left of %s", left, c.keeps, all)
				}
				if n := f.Number(f.In("SELECT COUNT(*) FROM {t}_c.row_error")); n != 0 {
					t.Errorf("%d rows count as undeletable, want none: %s", n,
						f.Text(f.In("SELECT MAX(reason) FROM {t}_c.row_error")))
				}

				if c.keeps == "late" { // and somebody agrees to it
					f.takingBy(c.value, "child", "late")
					f.Wait("the expired rows to go", func() bool { return f.due() == 0 })
				}
			})
		}
	})
}

// stop gives the child a TTL of its own that keeps its rows, and lift lets them go again.
type stop struct {
	held       string // why a job of t does not go on
	stop, lift func(f *fixture) error
}

var stops = map[string]stop{
	"pause": {
		"its own TTL is paused",
		func(f *fixture) error {
			own, err := f.declareChild(true)
			if err != nil {
				return err
			}
			return f.Store.Pause(f.T.Context(), "test", own.ID, "holiday", time.Time{})
		},
		func(f *fixture) error {
			own, err := f.Store.Policy(f.T.Context(), f.child())
			if err != nil {
				return err
			}
			return f.Store.Resume(f.T.Context(), "test", own.ID)
		},
	},
	"off": {
		"its own TTL is off",
		func(f *fixture) error {
			_, err := f.declareChild(false)
			return err
		},
		func(f *fixture) error {
			return f.Store.Remove(f.T.Context(), catalog.Client{Account: "test"}, f.child())
		},
	},
	"dump": {
		"its own TTL waits for approval",
		func(f *fixture) error {
			_, err := f.Store.Declare(f.T.Context(), catalog.Client{Account: "test"},
				catalog.Declaration{Table: f.child(), Rule: f.childRule(true), FromDump: true})
			return err
		},
		func(f *fixture) error {
			own, err := f.Store.Policy(f.T.Context(), f.child())
			if err != nil {
				return err
			}
			_, err = f.Store.Consent(f.T.Context(), "test", own.ID, own.Version, catalog.Consent{})
			return err
		},
	},
	"statement": {
		"its own TTL is staged",
		func(f *fixture) error {
			_, err := f.Store.Stage(f.T.Context(), catalog.Client{
				Account: "test", Server: f.Store.Server().Key(), Boot: f.Store.Server().Boot, Connection: 1,
			}, []catalog.Intent{{Kind: catalog.IntentAlter, Table: f.child(), Rule: new(f.childRule(true)), Declares: true}})
			return err
		},
		func(f *fixture) error { // its client is gone
			_, err := f.Store.Sweep(f.T.Context())
			return err
		},
	},
}

func (f *fixture) child() catalog.Table { return catalog.Table{Schema: f.Schema, Name: "child"} }

func (f *fixture) childRule(on bool) catalog.Rule {
	return catalog.Rule{
		Column: "made", Literal: "1", Unit: "DAY", Enabled: on, JobInterval: "1h",
		TimeZone: "UTC", ZoneSource: catalog.ZoneFromTable,
	}
}

func (f *fixture) declareChild(on bool) (catalog.Policy, error) {
	return f.Store.Declare(f.T.Context(), catalog.Client{Account: "test"},
		catalog.Declaration{Table: f.child(), Rule: f.childRule(on)})
}

// TestRowsAlongAreExpected: how many rows go along is not counted before they do, and a job's note says so of what it
// takes to be due. Where the due rows have no dependents, the others' are taken for theirs.
func TestRowsAlongAreExpected(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		f.parents(20, 2)
		f.Exec(f.In("DELETE FROM {t}.child WHERE t IN (SELECT id FROM {t}.t WHERE made < '2025-01-01')"),
			f.In("ANALYZE TABLE {t}.child"))
		defer f.run(nil)()
		f.Wait("the expired rows to go", func() bool { return f.due() == 0 })
		f.Wait("the job to end", func() bool { return f.Number(f.In("SELECT COUNT(*) FROM {t}_c.job_history")) > 0 })
		got := f.Text(f.In("SELECT CONCAT_WS(' ', deleted, estimated_rows, note) FROM {t}_c.job_history " +
			"ORDER BY job_id LIMIT 1"))
		if want := "10 20 about 10 rows of other tables are expected to go along: nobody has counted them"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

// TestPauseOfADependent: when a statement has answered that lets nothing of a table go, nothing more of it
// goes, not even with rows of another table, nor if the batch that takes it along began before the table had
// a policy.
func TestPauseOfADependent(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		for value, halts := range map[string]string{ddl.ForeignKeysChildren: "child", ddl.ForeignKeysCascade: "t"} {
			for name, by := range stops {
				t.Run(value+" "+name, func(t *testing.T) {
					t.Parallel()
					f := newFixture(t, cfg, 0)
					f.parentsBy(value, 200, 2)
					f.Exec(f.In("ALTER TABLE {t}.child ADD made DATETIME NULL"),
						f.In("CREATE TRIGGER {t}.halt BEFORE DELETE ON {t}."+halts+" FOR EACH ROW "+
							"SET @halt = GET_LOCK('{t}', 10), @halt = RELEASE_LOCK('{t}')"))
					f.stopsDependent(by)
				})
			}
		}
	})
}

// stopsDependent stops the TTL of the child while a batch is halted that deletes rows of t.
func (f *fixture) stopsDependent(by stop) {
	f.T.Helper()
	gate, err := f.Admin.Conn(f.T.Context())
	if err != nil {
		f.T.Fatal(err)
	}
	defer gate.Close()
	mustExec(f.T, gate, f.In("DO GET_LOCK('{t}', 10)"))

	defer f.run(nil)()
	f.Wait("a batch to reach a child", func() bool {
		return f.Number(f.In("SELECT COUNT(*) FROM information_schema.processlist WHERE state = 'User lock' AND "+
			"info LIKE '%{t}%'")) > 0
	})

	stopped := make(chan error, 1)
	go func() { stopped <- by.stop(f) }()
	var answered bool
	select {
	case err = <-stopped:
		answered = true
	case <-time.After(aWhile):
	}
	left := f.Rows("child")
	mustExec(f.T, gate, f.In("DO RELEASE_LOCK('{t}')"))
	if !answered {
		err = <-stopped
		left = f.Rows("child")
	}
	if err != nil {
		f.T.Fatal(err)
	}

	f.heldFor(by.held)
	if now := f.Rows("child"); now != left {
		f.T.Errorf("%s children are left, and %s when it had answered", now, left)
	}

	if err := by.lift(f); err != nil {
		f.T.Fatal(err)
	}
	if why := f.waits(); strings.Contains(why, "would go along") {
		f.T.Errorf("when it was lifted the job is still %s", why)
	}
	f.Wait("the expired rows to go", func() bool { return f.due() == 0 })
}

// TestFamiliesWithinABound: what goes along counts, and a run stops before a family that is too large
// for what is left.
func TestFamiliesWithinABound(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		for _, value := range []string{ddl.ForeignKeysChildren, ddl.ForeignKeysCascade} {
			t.Run(value, func(t *testing.T) {
				t.Parallel()
				f := newFixture(t, cfg, 0)
				f.set(setting.BrakePercent, "0")
				p := f.parentsBy(value, 200, 3)
				f.Exec(f.In("ANALYZE TABLE {t}.child"))
				defer f.run(nil)()
				if why := f.needsApproval(); !strings.Contains(why, "about 400 of about 800 rows") {
					t.Errorf("the job waits because %q, want all rows counted that would go", why)
				}

				f.consent(p, catalog.Consent{UpTo: new(uint64(103))})
				f.Wait("the approved rows to go", func() bool { return f.due() < 100 })
				f.needsApproval()
				if n := f.Number(f.In("SELECT SUM(deleted) FROM {t}_c.task")); n != 100 || f.due() != 75 {
					t.Errorf("%d rows have gone of 103, and %d families are left; want 100, and 75", n, f.due())
				}
				if n := f.Number(f.In("SELECT COUNT(*) FROM {t}.t WHERE " +
					"(SELECT COUNT(*) FROM {t}.child c WHERE c.t = t.id) <> 3")); n != 0 {
					t.Errorf("%d families are not whole", n)
				}
			})
		}
	})
}

// TestLargeCascade: a row stays of which the server would let more rows go than may go at once, with all
// of those, and is listed, until that is allowed. All others go.
func TestLargeCascade(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		f.parentsBy(ddl.ForeignKeysCascade, 200, 2)
		f.Exec(f.In("INSERT INTO {t}.child (t) SELECT 51 FROM {t}.t LIMIT 10"))
		f.set(setting.MaxChildren, "11")
		defer f.run(nil)()

		f.Wait("the other rows to go", func() bool { return f.due() == 1 })
		f.Wait("the row to be listed", func() bool {
			return strings.HasPrefix(f.Text(f.In("SELECT CONCAT(COUNT(*), MAX(row_key), MAX(reason)) FROM {t}_c.row_error")),
				`1["51"]more rows depend on this one than ttl_fk_max_children`)
		})
		if n := f.Number(f.In("SELECT COUNT(*) FROM {t}.child WHERE t = 51")); n != 12 {
			t.Errorf("%d children of the row are left of 12", n)
		}

		f.set(setting.MaxChildren, "12")
		f.Exec(f.In("UPDATE {t}_c.row_error SET next_try_at = '2020-01-01'"))
		f.Wait("the row to go", func() bool { return f.due() == 0 && f.Rows("child") == "200" })
	})
}

// TestTableComesMidCascade: while the rows of a batch are going, a table is created that points at them
// by a key in which nothing is locked yet. MariaDB lets it, and rows into it, and would cascade.
func TestTableComesMidCascade(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		f.Fill("t", 100)
		f.Exec(f.In("ALTER TABLE {t}.t ADD u INT, ADD UNIQUE (u)"), f.In("UPDATE {t}.t SET u = id"),
			f.In("CREATE TABLE {t}.child (id INT PRIMARY KEY, FOREIGN KEY (id) REFERENCES {t}.t (id) ON DELETE CASCADE)"),
			f.In("INSERT INTO {t}.child SELECT id FROM {t}.t"),
			f.In("CREATE TRIGGER {t}.halt BEFORE DELETE ON {t}.t FOR EACH ROW "+
				"SET @halt = GET_LOCK('{t}', IF(OLD.id = 1, 10, 0)), @halt = RELEASE_LOCK('{t}')"))
		f.takingBy(ddl.ForeignKeysCascade, "child")
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
		_, err = gate.ExecContext(t.Context(), f.In("CREATE TABLE {t}.late (u INT PRIMARY KEY, FOREIGN KEY (u) "+
			"REFERENCES {t}.t (u) ON DELETE CASCADE)"))
		came := err == nil
		if came {
			mustExec(t, gate, f.In("INSERT INTO {t}.late VALUES (51), (53)"))
		}
		mustExec(t, gate, f.In("DO RELEASE_LOCK('{t}')"))

		if !came {
			f.Wait("the rows to go", func() bool { return f.due() == 0 })
			return
		}
		f.heldFor("`late` depend on the table, and did not")
		if left := f.Rows("late") + "/" + f.Rows("t"); left != "2/100" {
			t.Errorf("%s rows are left of 2/100", left)
		}
	})
}

// TestDependentsNobodyMayDelete: the engine's account may read a child, and not delete from it.
func TestDependentsNobodyMayDelete(t *testing.T) {
	t.Parallel()
	mysqltest.Both(t, func(t *testing.T, s *mysqltest.Server) {
		f := newFixture(t, s.Config(""), 0)
		f.parents(100, 1)
		cfg := s.Account(t, "weak", "PROCESS ON *.*", f.In("ALL ON {t}_c.*"), f.In("SELECT, DELETE ON {t}.t"),
			f.In("SELECT ON {t}.child"))
		f.set(setting.AllowReplica, "ON")
		defer f.run(func(c *Config) { c.Backend = cfg })()

		f.heldFor("GRANT SELECT, DELETE ON `" + f.Schema + "`.`child` to it")
		if left := f.Rows("t") + "/" + f.Rows("child"); left != "100/100" {
			t.Errorf("%s rows are left of 100/100", left)
		}
		f.Exec(f.In("GRANT DELETE ON {t}.child TO " + cfg.User))
		f.Wait("the expired rows to go", func() bool { return f.due() == 0 && f.Rows("child") == "50" })
	})
}
