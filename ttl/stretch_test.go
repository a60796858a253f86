package ttl

import (
	"fmt"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/ttl/ttltest"
)

// TestDueRowsGoSideBySide: where many rows are due by the index on time, the job has several tasks, which
// together delete these rows and no others.
func TestDueRowsGoSideBySide(t *testing.T) {
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		const due = 2*20_000 + 1234
		f.Exec("CREATE TABLE "+f.Schema+".t (id INT PRIMARY KEY, made DATETIME NULL, KEY (made))",
			"INSERT INTO "+f.Schema+".t VALUES (1, '2027-05-01')")
		for have := 1; have <= 2*due; have *= 2 {
			f.Exec(fmt.Sprintf("INSERT INTO %s.t SELECT id + %d, made + INTERVAL %[2]d SECOND FROM %[1]s.t", f.Schema, have))
		}
		f.Exec("ANALYZE TABLE " + f.Schema + ".t") // so that the estimate of its rows is no older than they are
		all := f.Number("SELECT COUNT(*) FROM " + f.Schema + ".t")

		m := f.at(utc("05-02 00:00:00").Add(due * 1e9))
		m.declare("UTC", "1h", nil)
		f.Wait("the job to end", func() bool {
			m.pass() // a busy machine may need more than one
			return f.Number(f.In("SELECT COUNT(*) FROM {t}_c.job_history")) > 0
		})

		job := f.Text("SELECT CONCAT_WS(' ', plan, state, deleted, tasks > 1, tasks = tasks_finished) FROM " + f.Schema +
			"_c.job_history")
		if want := fmt.Sprintf("index finished %d 1 1", due); job != want {
			t.Errorf("the job: %s, want %s", job, want)
		}
		if left := f.Number("SELECT COUNT(*) FROM " + f.Schema + ".t WHERE id > " + fmt.Sprint(due)); left != all-due {
			t.Errorf("%d rows are left that are not due, want %d", left, all-due)
		}
	})
}
