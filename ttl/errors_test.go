package ttl

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/setting"
	"github.com/ttlproxy/ttlproxy/ttl/ttltest"
)

// failing makes deletes of table t fail with an error number of the server until works is called.
func (f *fixture) failing(number int) (works func()) {
	f.T.Helper()
	f.Exec("CREATE TABLE "+f.Schema+".failing (n INT)", "INSERT INTO "+f.Schema+".failing VALUES (1)",
		fmt.Sprintf("CREATE TRIGGER %[1]s.fail BEFORE DELETE ON %[1]s.t FOR EACH ROW IF EXISTS (SELECT 1 FROM "+
			"%[1]s.failing) THEN"+
			" SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = %[2]d, MESSAGE_TEXT = 'as the test wants'; END IF", f.Schema,
			number))
	return func() { f.Exec("DELETE FROM " + f.Schema + ".failing") }
}

// TestErrorsByConsequence makes deletes fail with what servers say in bad times: the job tries
// again, or waits, gives the reason, and goes on by itself. No row is lost, counted twice, or taken
// for a bad one.
func TestErrorsByConsequence(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		number int
		held   string // the reason the job pauses with; empty when it just tries again
	}{
		{"deadlock or Galera certification", 1213, ""},
		{"record changed since last read", 1020, ""},
		{"killed query", 1317, ""},
		{"error during commit", 1180, ""},
		{"out of the primary component", 1047, "1047"},
		{"read-only after a fail-over", 1290, "read-only"},
		{"disk full", 1021, "1021"},
		{"table full", 1114, "1114"},
		{"replication group refuses", 3100, "3100"},
	} {
		t.Run(strings.ReplaceAll(c.name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
				f := newFixture(t, cfg, 0)
				f.Fill("t", 1000)
				works := f.failing(c.number)
				var packets atomic.Int64
				f.Declare("t")
				defer f.run(func(cfg *Config) {
					cfg.beforePacket = func() {
						if packets.Add(1) == 4 && c.held == "" { // three have failed
							works()
						}
					}
				})()

				if c.held != "" {
					f.Wait("the job to be held", func() bool {
						return strings.Contains(f.Text("SELECT COALESCE(MAX(CONCAT(state, reason)), '') FROM "+f.Schema+
							"_c.job WHERE state = 'paused'"), c.held)
					})
					works()
				}

				f.Wait("the job to end", func() bool {
					return f.Text("SELECT COALESCE(MAX(CONCAT_WS(' ', state, deleted, refreshed, failed, skipped)), "+
						"'') FROM "+f.Schema+"_c.job_history WHERE deleted > 0") == "finished 500 0 0 0"
				})
				if left := f.Rows("t"); left != "500" {
					t.Errorf("%s rows are left, want 500", left)
				}
				if n := f.Text("SELECT COUNT(*) FROM " + f.Schema + "_c.row_error"); n != "0" {
					t.Errorf("%s rows count as bad ones", n)
				}
			})
		})
	}
}

// TestUnknownErrorEndsTheJob: an error that nobody knows is left to a person; the job says what it
// was.
func TestUnknownErrorEndsTheJob(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		f.Fill("t", 100)
		f.failing(4999)
		f.Declare("t")
		defer f.run(nil)()
		f.Wait("the job to fail", func() bool {
			reason := f.Text("SELECT COALESCE(MAX(reason), '') FROM " + f.Schema +
				"_c.job_history WHERE state = 'failed'")
			return strings.Contains(reason, "4999") && strings.Contains(reason, "as the test wants")
		})
	})
}

// TestDroppedIndexIsPlannedAnew: a job whose index goes away ends, and another one takes the way
// that is left at once.
func TestDroppedIndexIsPlannedAnew(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		f.Fill("t", 30_000)
		f.Exec("ALTER TABLE "+f.Schema+".t ADD INDEX (made)",
			"UPDATE "+f.Schema+".t SET made = IF(id % 30 = 1, '2020-01-01', '2037-01-01')",
			"ANALYZE TABLE "+f.Schema+".t")
		f.set(setting.DeleteRowsLimit, "50")
		f.set(setting.DefaultJobInterval, "24h")
		f.Declare("t")
		f.Exec("UPDATE " + f.Schema + "_c.policy SET job_interval = '24h'") // the next job is not due by itself
		defer f.run(nil)()

		f.Wait("the first rows to go", func() bool { return f.Rows("t") != "30000" })
		f.Exec("ALTER TABLE " + f.Schema + ".t DROP INDEX made")
		f.set(setting.DeleteRowsLimit, "0")
		f.Wait("the rest to go", func() bool { return f.Rows("t") == "29000" })
		f.Wait("both jobs to end", func() bool {
			return f.Text("SELECT COALESCE(GROUP_CONCAT(CONCAT_WS(' ', state, plan, triggered_by) ORDER BY job_id "+
				"SEPARATOR '; '), '') FROM "+f.Schema+"_c.job_history") ==
				"cancelled index ; finished range "+catalog.Replanner
		})

		if got := f.Text("SELECT SUM(deleted) FROM " + f.Schema + "_c.job_history"); got != "1000" {
			t.Errorf("%s rows are counted, want 1000", got)
		}
	})
}

// TestKilledQueryIsTakenAgain: an administrator's KILL QUERY costs the batch a second try.
func TestKilledQueryIsTakenAgain(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		f.Fill("t", 1000)
		f.Exec(f.In("CREATE TRIGGER {t}.halt BEFORE DELETE ON {t}.t FOR EACH ROW IF OLD.id = 501 THEN " +
			"SET @halt = GET_LOCK('{t}', 600), @halt = RELEASE_LOCK('{t}'); END IF"))
		gate, err := f.Admin.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer gate.Close()
		mustExec(t, gate, f.In("DO GET_LOCK('{t}', 600)"))
		f.Declare("t")
		defer f.run(nil)()

		var halted string
		f.Wait("a DELETE to halt", func() bool {
			halted = f.Text("SELECT COALESCE(MAX(p.ID), 0) FROM information_schema.PROCESSLIST p JOIN " + f.Schema +
				"_c.task t ON t.connection = p.ID WHERE p.STATE = 'User lock'")
			return halted != "0"
		})
		mustExec(t, gate, "KILL QUERY "+halted, f.In("DO RELEASE_LOCK('{t}')"))

		f.Wait("the job to end", func() bool {
			return f.Text("SELECT COALESCE(MAX(CONCAT_WS(' ', state, deleted, failed)), '') FROM "+f.Schema+
				"_c.job_history WHERE deleted > 0") == "finished 500 0"
		})
	})
}
