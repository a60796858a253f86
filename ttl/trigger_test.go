package ttl

import (
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/setting"
	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/ttl/ttltest"
)

// TestTriggersReachNoOtherTable: whoever may create triggers on a table with a TTL has a program of
// his own run in a session of the engine. What it leaves behind there, settings and temporary
// tables that hide others, reaches no table of somebody else.
func TestTriggersReachNoOtherTable(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		m := f.at(utc("05-10 12:00:00"))
		f.Fill("trap", 4)
		f.Exec(strings.ReplaceAll(`CREATE TRIGGER SCHEMA.trap AFTER DELETE ON SCHEMA.trap FOR EACH ROW BEGIN
				SET SESSION time_zone = '-12:00', SESSION foreign_key_checks = 0, SESSION sql_safe_updates = 1,
				SESSION lock_wait_timeout = 1000;
				CREATE TEMPORARY TABLE IF NOT EXISTS SCHEMA.t (id INT PRIMARY KEY, made TIMESTAMP NULL);
			END`, "SCHEMA", f.Schema),
			"CREATE TABLE "+f.Schema+".t (id INT PRIMARY KEY, made TIMESTAMP NULL)",
			"INSERT INTO "+f.Schema+".t VALUES (1, '2027-05-09 11:00:00'), (2, '2027-05-09 18:00:00')")

		for _, table := range []string{"trap", "t"} {
			_, err := m.engine.store.Declare(t.Context(), catalog.Client{Account: "test"}, catalog.Declaration{
				Table: catalog.Table{Schema: f.Schema, Name: table},
				Rule: catalog.Rule{
					Column: "made", Literal: "1", Unit: "DAY", Enabled: true, JobInterval: "1h", TimeZone: "UTC",
					ZoneSource: catalog.ZoneFromTable,
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			m.mustTick() // the trap's task is there first
		}

		m.workUntilCalled(t.Context()) // one worker, in one session unless it opens another
		m.mustTick()

		if got := f.Text("SELECT GROUP_CONCAT(id) FROM " + f.Schema + ".t"); got != "2" {
			t.Errorf("rows left: got %s, want 2, which is 18 hours old and kept for a day", got)
		}
		if got := f.Text("SELECT CONCAT_WS(' ', state, deleted) FROM " + f.Schema +
			"_c.job_history WHERE table_name = 't'"); got != "finished 1" {
			t.Errorf("job: got %s, want finished 1", got)
		}
	})
}

// TestTriggerSetsTheZone: a TIMESTAMP is expired or not whatever zone the session is in, and a
// trigger that fires for each row of a batch can put it into one that is twelve hours behind. Half
// of the rows are due, and the others sixteen hours old.
func TestTriggerSetsTheZone(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		for name, columns := range map[string]string{
			"key":   "id INT PRIMARY KEY, made TIMESTAMP NULL",
			"index": "id INT PRIMARY KEY, made TIMESTAMP NULL, INDEX (made)",
			"none":  "id INT, made TIMESTAMP NULL",
			"stamp": "id INT, made TIMESTAMP, PRIMARY KEY (made, id)",
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				f := newFixture(t, cfg, 0)
				f.Fill("numbers", 40)
				f.Exec("CREATE TABLE "+f.Schema+".t ("+columns+")",
					"INSERT INTO "+f.Schema+".t SELECT id, IF(id % 2, '2020-01-01', '2027-05-09 20:00:00') FROM "+
						f.Schema+".numbers", f.In(ttltest.Stray))
				m := f.at(utc("05-10 12:00:00"))
				m.declare("UTC", "1h", map[string]string{ddl.OptionBatchSize: "3"})
				m.pass()

				if kept := f.Number("SELECT COUNT(*) FROM " + f.Schema + ".t WHERE id % 2 = 0"); kept != 20 {
					t.Errorf("%d rows are left of 20 that are not due", kept)
				}

				// Where the key has a TIMESTAMP the zone decides which rows a batch finds: some are
				// left to the next job.
				if due := f.Number("SELECT COUNT(*) FROM " + f.Schema + ".t WHERE id % 2"); due != 0 &&
					name != "stamp" {
					t.Errorf("%d rows are left that are due", due)
				}
			})
		}
	})
}

// TestNoReasonQuotesRows: an error of a number that nobody knows ends the job, and may quote what is in a row. Who may
// not read the table reads the job's reason.
func TestNoReasonQuotesRows(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		f.Fill("t", 20)
		f.Exec(f.In("CREATE TRIGGER {t}.objects AFTER DELETE ON {t}.t FOR EACH ROW IF OLD.id = 17 THEN SIGNAL SQLSTATE " +
			"'22007' SET MYSQL_ERRNO = 1918, MESSAGE_TEXT = 'Encountered illegal value ''o''ann'' when converting'; END IF"))
		f.Declare("t")
		defer f.run(nil)()

		reason := ""
		f.Wait("the job to fail", func() bool {
			reason = f.Text(f.In("SELECT COALESCE(MAX(reason), '') FROM {t}_c.job_history WHERE state = 'failed'"))
			return reason != ""
		})
		if want := "1918 (22007): Encountered illegal value '…' when converting"; !strings.HasSuffix(reason, want) {
			t.Errorf("got the reason %q, want … %s", reason, want)
		}
	})
}

// TestTriggersObject: a trigger objects to one row, of the table or of a child, in whatever words. That row
// stays and is listed, and all others go.
func TestTriggersObject(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		for name, c := range map[string]struct{ log, does, reason string }{
			"a number of its own": {
				"(id INT)", "IF OLD.id = 51 THEN SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = 30001, MESSAGE_TEXT = 'no'; END IF",
				"30001 no",
			},
			"the number of a lock": {
				"(id INT)", "IF OLD.id = 51 THEN SIGNAL SQLSTATE '45001' SET MYSQL_ERRNO = 1205, MESSAGE_TEXT = 'no'; END IF",
				"1205 no",
			},
			"a check": {"(id INT, CHECK (id <> 51))", "INSERT INTO {t}.log VALUES (OLD.id)", "constraint"},
			"no partition": {
				"(id INT) PARTITION BY RANGE (id) (PARTITION a VALUES LESS THAN (51), PARTITION b VALUES LESS THAN (52))",
				"INSERT INTO {t}.log VALUES (IF(OLD.id = 51, 52, 1))", "1526 table has no partition for value 52",
			},
		} {
			for _, on := range []string{"t", "child"} {
				t.Run(name+"/"+on, func(t *testing.T) {
					t.Parallel()
					f := newFixture(t, cfg, 0)
					f.Fill("t", 200)
					if on == "child" {
						f.Exec(f.In("CREATE TABLE {t}.child (id INT PRIMARY KEY, FOREIGN KEY (id) REFERENCES {t}.t (id))"),
							f.In("INSERT INTO {t}.child SELECT id FROM {t}.t"))
					}
					f.Exec(f.In("CREATE TABLE {t}.log "+c.log),
						f.In("CREATE TRIGGER {t}.objects AFTER DELETE ON {t}."+on+" FOR EACH ROW "+c.does))
					f.set(setting.BrakeFactor, "0")
					f.taking("child")
					defer f.run(nil)()

					f.Wait("the other rows to go", func() bool { return f.due() == 1 })
					f.Wait("the row to be listed", func() bool {
						listed := f.Text(f.In("SELECT CONCAT(COUNT(*), MAX(row_key), ' ', MAX(error_number), ' ', MAX(reason)) " +
							"FROM {t}_c.row_error"))
						return strings.HasPrefix(listed, `1["51"] `) && strings.Contains(strings.ToLower(listed), c.reason)
					})
				})
			}
		}
	})
}
