package ttl

import (
	"strings"
	"sync"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/catalog/setting"
	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
	"github.com/ttlproxy/ttlproxy/ttl/ttltest"
)

// TestChildrenGoMidJob: between the choice of a batch and its beginning, a table that its statements name
// goes, or is altered so that they do not fit it any more. The job plans its batches anew, or waits and
// says why: it does not fail, nor count its rows as undeletable.
func TestChildrenGoMidJob(t *testing.T) {
	t.Parallel()
	all := []string{ddl.ForeignKeysSkip, ddl.ForeignKeysChildren, ddl.ForeignKeysCascade}
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		for name, c := range map[string]struct {
			change string
			left   string // rows of the child, if it is there
			held   string // what the job says, but under SKIP
		}{
			"dropped":          {change: "DROP TABLE {t}.child"},
			"without its key":  {change: "ALTER TABLE {t}.child DROP FOREIGN KEY k", left: "300"},
			"without a column": {change: "ALTER TABLE {t}.child DROP FOREIGN KEY k, DROP t", left: "300"},
			"renamed": {
				"RENAME TABLE {t}.child TO {t}.kid; CREATE TABLE {t}.child (id INT)", "0", "`kid` depend on the table, and did not",
			},
			"behind a view": {
				"RENAME TABLE {t}.child TO {t}.kid; CREATE VIEW {t}.child AS SELECT * FROM {t}.kid", "300",
				"`kid` depend on the table, and did not",
			},
			"with another column": {change: "ALTER TABLE {t}.child CHANGE t was INT", left: "150"},
			"with another index":  {change: "ALTER TABLE {t}.child RENAME INDEX k TO j", left: "150"},
			"with another key": {
				change: "ALTER TABLE {t}.child DROP PRIMARY KEY, DROP id, ADD i INT PRIMARY KEY AUTO_INCREMENT",
				left:   "150",
			},
			"with another rule": {
				"ALTER TABLE {t}.child DROP FOREIGN KEY k; " +
					"ALTER TABLE {t}.child ADD CONSTRAINT k FOREIGN KEY (t) REFERENCES {t}.t (id) ON DELETE SET NULL",
				"300", "`child` depend on the table, and did not, or not so",
			},
		} {
			for _, value := range all {
				t.Run(name+"/"+value, func(t *testing.T) {
					t.Parallel()
					f := newFixture(t, cfg, 0)
					f.Fill("t", 300)
					f.Exec(f.In("CREATE TABLE {t}.child (id INT PRIMARY KEY AUTO_INCREMENT, t INT, KEY k (t), "+
						"CONSTRAINT k FOREIGN KEY (t) REFERENCES {t}.t (id) ON DELETE CASCADE)"),
						f.In("INSERT INTO {t}.child (t) SELECT id FROM {t}.t"))
					skip := value == ddl.ForeignKeysSkip
					if skip {
						f.Exec(f.In("DELETE FROM {t}.child WHERE id % 3"))
					}
					f.takingBy(value, "child")
					var once sync.Once
					change := func() { f.Exec(strings.Split(f.In(c.change), "; ")...) }
					defer f.run(func(c *Config) { c.beforePacket = func() { once.Do(change) } })()

					if c.held != "" && !skip {
						f.heldFor(c.held)
					} else {
						stay := 0
						if skip && (c.held != "" || c.left == "150") {
							stay = 50 // something still points at them
						}
						f.Wait("the expired rows to go", func() bool { return f.due() == stay })
					}
					if c.left != "" && !skip {
						if left := f.Rows("child"); left != c.left {
							t.Errorf("%s children are left of %s", left, c.left)
						}
					}
					if n := f.Number(f.In("SELECT (SELECT COUNT(*) FROM {t}_c.row_error) + " +
						"(SELECT COUNT(*) FROM {t}_c.job_history WHERE state <> 'finished')")); n != 0 {
						t.Errorf("%d rows count as undeletable, or jobs did not finish: %s", n,
							f.Text(f.In("SELECT COALESCE(MAX(reason), '') FROM {t}_c.job_history")))
					}
				})
			}
		}
	})
}

// TestRightsOnChildrenGoMidJob: the engine's account loses a right on a child between the choice of a batch
// and its beginning. The job waits for it, and says which.
func TestRightsOnChildrenGoMidJob(t *testing.T) {
	t.Parallel()
	mysqltest.Both(t, func(t *testing.T, s *mysqltest.Server) {
		for value, right := range map[string]string{
			ddl.ForeignKeysSkip: "SELECT (`t`)", ddl.ForeignKeysChildren: "DELETE", ddl.ForeignKeysCascade: "SELECT",
		} {
			t.Run(value, func(t *testing.T) {
				t.Parallel()
				f := newFixture(t, s.Config(""), 0)
				f.parentsBy(value, 100, 1)
				if value == ddl.ForeignKeysSkip {
					f.Exec(f.In("DELETE FROM {t}.child"))
				}
				rights := map[bool]string{true: right, false: "SELECT, DELETE"}[value == ddl.ForeignKeysSkip]
				cfg := s.Account(t, "loses", "PROCESS ON *.*", f.In("ALL ON {t}_c.*"), f.In("SELECT, DELETE ON {t}.t"),
					f.In(rights+" ON {t}.child"))
				f.set(setting.AllowReplica, "ON")
				var once sync.Once
				revoke := func() { f.Exec(f.In("REVOKE " + right + " ON {t}.child FROM " + cfg.User)) }
				defer f.run(func(c *Config) {
					c.Backend = cfg
					c.beforePacket = func() { once.Do(revoke) }
				})()

				f.heldFor("ON `" + f.Schema + "`.`child` to it")
				if left := f.Rows("t"); left != "100" {
					t.Errorf("%s rows are left of 100", left)
				}
				f.Exec(f.In("GRANT " + right + " ON {t}.child TO " + cfg.User))
				f.Wait("the expired rows to go", func() bool { return f.due() == 0 })
				if n := f.Number(f.In("SELECT (SELECT COUNT(*) FROM {t}_c.row_error) + " +
					"(SELECT COUNT(*) FROM {t}_c.job_history WHERE state <> 'finished')")); n != 0 {
					t.Errorf("%d rows count as undeletable, or jobs did not finish", n)
				}
			})
		}
	})
}
