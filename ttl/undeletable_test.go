package ttl

import (
	"fmt"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/catalog/setting"
	"github.com/ttlproxy/ttlproxy/ttl/ttltest"
)

// undeletable is what the last finished job had to leave: rows, and when the first of them expired.
func (f *fixture) undeletable() string {
	f.T.Helper()
	return f.Text(f.In("SELECT COALESCE(MAX(CONCAT_WS(' ', undeletable, LEFT(oldest_undeletable, 19))), '') FROM " +
		"{t}_c.schedule WHERE last_state = 'finished'"))
}

// counted is undeletable when no job is running: then it is not empty.
func (f *fixture) counted() (undeletable string) {
	f.T.Helper()
	f.Wait("a job to end", func() bool {
		undeletable = f.undeletable()
		return undeletable != ""
	})
	return undeletable
}

// jobsEnd waits for more jobs to come to their end.
func (f *fixture) jobsEnd(more int) {
	f.T.Helper()
	ended := func() int {
		return f.Number(f.In("SELECT COALESCE(SUM(runs), 0) FROM {t}_c.job_history WHERE state = 'finished'"))
	}
	had := ended()
	f.Wait("jobs to end", func() bool { return ended() >= had+more })
}

// TestUndeletableRowsAreCounted: rows that foreign keys keep, and rows to which a trigger objects, are
// counted by every job that comes by, tried or not, with the date of the oldest, whatever the plan.
func TestUndeletableRowsAreCounted(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		for name, index := range map[string]string{"range": "", "index": ", ADD INDEX (made)"} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				f := newFixture(t, cfg, 0)
				f.families(3000, index)
				f.Exec(f.In("UPDATE {t}.t SET made = '2001-02-03 04:05:06' WHERE id = 9"))
				_, kept := f.referenced()
				f.set(setting.BrakeFactor, "0")
				f.sparing()
				defer f.run(nil)()

				want := fmt.Sprint(kept, " 2001-02-04 04:05:06")
				f.Wait("the rows that stay to be counted", func() bool { return f.undeletable() == want })
				f.jobsEnd(2) // which find no other rows
				if got := f.counted(); got != want {
					t.Errorf("got %s undeletable rows and the oldest, want %s", got, want)
				}

				f.Exec(f.In("CREATE TRIGGER {t}.poison BEFORE DELETE ON {t}.t FOR EACH ROW IF OLD.id > 5000 THEN "+
					"SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'not this one'; END IF"),
					f.In("INSERT INTO {t}.t (id, made) VALUES (5001, '2000-01-01'), (5002, '2002-01-01'), "+
						"(4001, '2000-01-01'), (5003, '2002-01-01')"))
				want = fmt.Sprint(kept+3, " 2000-01-02 00:00:00")
				f.Wait("the poison rows to be counted, too", func() bool { return f.undeletable() == want })
				f.jobsEnd(2) // in which they rest
				if got := f.counted(); got != want {
					t.Errorf("got %s undeletable rows and the oldest while three rest, want %s", got, want)
				}

				f.Exec(f.In("DELETE FROM {t}.cascades"), f.In("DELETE FROM {t}.nulls"), f.In("DELETE FROM {t}.refuses"),
					f.In("UPDATE {t}.t SET made = '2037-01-01' WHERE id = 5001"))
				f.Wait("the others to go", func() bool { return f.undeletable() == "2 2002-01-02 00:00:00" })
			})
		}
	})
}

// TestManyPoisonRows: rows that could not be deleted are tried again in bounded numbers, and the others
// go.
func TestManyPoisonRows(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		const poison = 20_000
		f := newFixture(t, cfg, 0)
		f.Fill("t", poison+2000)
		f.Exec(f.In("UPDATE {t}.t SET made = '2020-01-01' WHERE made > '2020-01-01'"),
			f.In("CREATE TRIGGER {t}.poison BEFORE DELETE ON {t}.t FOR EACH ROW IF OLD.id % 11 THEN "+
				"SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'not this one'; END IF"))
		p := f.Declare("t")
		f.Exec(fmt.Sprintf(f.In("INSERT INTO {t}_c.row_error (policy_id, key_hash, row_key, error_number, reason, "+
			"expired_at, first_at, last_at, next_try_at) SELECT %d, SHA2(k, 256), k, 1644, '', '2020-01-02', "+
			"UTC_TIMESTAMP(6), UTC_TIMESTAMP(6), UTC_TIMESTAMP(6) + INTERVAL IF(id > 900, 1, -1) HOUR "+
			"FROM (SELECT id, CONCAT('[\"', id, '\"]') AS k FROM {t}.t WHERE id %% 11) AS stuck"), p.ID))
		defer f.run(nil)()

		f.Wait("the other rows to go", func() bool { return f.Rows("t") == fmt.Sprint(poison) })
		if got, want := f.counted(), fmt.Sprint(poison, " 2020-01-02 00:00:00"); got != want {
			t.Errorf("got %s undeletable rows and the oldest, want %s", got, want)
		}
		if n := f.Number(f.In("SELECT MAX(failed) FROM {t}_c.job_history")); n == 0 || n > 500 {
			t.Errorf("%d rows were tried again in one job, want 500 at most", n)
		}
	})
}
