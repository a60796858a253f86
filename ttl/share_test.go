package ttl

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/setting"
	"github.com/ttlproxy/ttlproxy/ttl/ttltest"
)

// needsApproval waits until a job asks, and returns why.
func (f *fixture) needsApproval() string {
	f.T.Helper()
	why := func() string {
		return f.Text("SELECT COALESCE(MAX(reason), '') FROM " + f.Schema + "_c.job WHERE state = 'needs approval'")
	}
	f.Wait("the job to need approval", func() bool { return why() != "" })
	return why()
}

func (f *fixture) consent(p catalog.Policy, c catalog.Consent) {
	f.T.Helper()
	if _, err := f.Store.Consent(f.T.Context(), "test", p.ID, p.Version, c); err != nil {
		f.T.Fatal(err)
	}
}

// TestHeldTablesDelayNoOther: while more tables wait for approval than jobs are started side by side or workers there
// are, each job of every other table starts at the very moment at which it is due, and ends.
func TestHeldTablesDelayNoOther(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		f.set(setting.BrakePercent, "20") // half of the rows are due in each table
		f.set(setting.BrakeRows, "1000")  // which are few in some of them
		const held, others, due, rows = mostStarters + 4, 3, 1200, 10
		for i := range held { // by name and by age before all others
			f.Fill(fmt.Sprint("a", i), 2*due)
			f.DeclareEvery(fmt.Sprint("a", i), "1h")
		}
		for i := range others {
			f.Fill(fmt.Sprint("b", i), 2*rows)
			f.DeclareEvery(fmt.Sprint("b", i), "1h")
		}

		for round, at := range []string{"05-10 12:00:00", "05-10 13:00:00", "05-10 14:00:00", "05-10 15:00:00"} {
			jobs := "SELECT COUNT(*) FROM {t}_c.job_history WHERE table_name LIKE 'b%' AND state = 'finished'" +
				" AND deleted = " + strconv.Itoa(rows)
			waiting := "SELECT COUNT(*) FROM {t}_c.job WHERE table_name LIKE 'a%' AND state = 'needs approval'"
			f.Wait(at+": all jobs", func() bool { // for which one pass on a busy machine may be too little
				m := f.at(utc(at))
				defer m.close()
				m.pass()
				return f.Number(f.In(jobs)) >= (round+1)*others && f.Number(f.In(waiting)) >= held
			})
			if n := f.Number(f.In(jobs)); n != (round+1)*others {
				t.Errorf("%s: %d jobs have deleted their rows so far, want %d", at, n, (round+1)*others)
			}
			if n := f.Number(f.In(jobs + " AND created_at = '2027-" + at + "'")); n != others {
				t.Errorf("%s: %d of %d jobs have started when they were due", at, n, others)
			}
			if n := f.Number(f.In(waiting)); n != held {
				t.Errorf("%s: %d tables wait for approval, want %d", at, n, held)
			}
			for i := range held {
				if left := f.Rows(fmt.Sprint("a", i)); left != strconv.Itoa(2*due) {
					t.Errorf("%s: a%d has %s rows, want all", at, i, left)
				}
			}

			for i := range others {
				f.Exec(f.In(fmt.Sprintf("INSERT INTO {t}.b%d SELECT id + 1000 * %d, '2020-01-01', 'x' FROM {t}.a0 WHERE id <= %d",
					i, round+1, rows)))
			}
		}
	})
}

// TestRunStopsAtItsBound: several workers delete what was approved, to the row, and ask for more.
func TestRunStopsAtItsBound(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		f.Fill("t", 240_000)
		f.set(setting.BrakePercent, "0") // of an estimate nobody knows on which side of 50 it is
		p := f.DeclareEvery("t", "1h")
		defer f.run(nil)()

		if why := f.needsApproval(); !strings.Contains(why, "APPROVE TTL JOB FOR `"+f.Schema+"`.`t` VERSION 1") {
			t.Errorf("the reason is %q, want the statement to type", why)
		}

		left := 240_000
		for _, rows := range []uint64{33_333, 20_000, 1} {
			f.consent(p, catalog.Consent{UpTo: &rows})
			left -= int(rows)
			f.Wait("the approved rows to go", func() bool { return f.Rows("t") == strconv.Itoa(left) })
			if why := f.needsApproval(); !strings.Contains(why, "APPROVE TTL JOB FOR") ||
				!strings.Contains(why, "are due") {
				t.Errorf("the reason is %q, want rows and the statement to type", why)
			}
			if now := f.Rows("t"); now != strconv.Itoa(left) {
				t.Errorf("%s rows are left, want %d", now, left)
			}
		}

		f.consent(p, catalog.Consent{UpTo: new(uint64(1_000_000))})
		f.Wait("the expired rows to go", func() bool { return f.Rows("t") == "120000" })
		f.Wait("the job to end", func() bool {
			return f.Text("SELECT COALESCE(MAX(CONCAT(state, ' ', deleted)), '') FROM "+f.Schema+
				"_c.job_history") == "finished 120000"
		})
	})
}

// TestConsentInTheMiddle: a run that is going on stops at the number that somebody names now, and goes on to a higher one
// without asking in between.
func TestConsentInTheMiddle(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		f.Fill("t", 240_000)
		f.set(setting.BrakePercent, "0")
		f.set(setting.DeleteRowsLimit, "2000")
		p := f.DeclareEvery("t", "1h")
		defer f.run(nil)()
		f.needsApproval()

		named := func(rows uint64) (at int) {
			t.Helper()
			before := f.Number("SELECT COUNT(*) FROM " + f.Schema + ".t")
			f.Wait("rows to go", func() bool { return f.Number("SELECT COUNT(*) FROM "+f.Schema+".t") < before })
			f.consent(p, catalog.Consent{UpTo: &rows})
			return f.Number("SELECT COUNT(*) FROM "+f.Schema+".t") - int(rows)
		}

		f.consent(p, catalog.Consent{UpTo: new(uint64(100_000))})
		least := named(7)
		f.needsApproval()
		if left := f.Number("SELECT COUNT(*) FROM " + f.Schema + ".t"); left < least || left > least+7 {
			t.Errorf("%d rows are left, want %d", left, least)
		}

		f.consent(p, catalog.Consent{UpTo: new(uint64(3000))})
		named(1_000_000)
		f.set(setting.DeleteRowsLimit, "0")
		f.Wait("the expired rows to go", func() bool { return f.remaining("t") == 120_000 })
		if asked := f.Number("SELECT COUNT(*) FROM " + f.Schema + "_c.event WHERE kind = 'needs approval'"); asked != 2 {
			t.Errorf("it asked %d times, want twice", asked)
		}
	})
}

// load puts rows into t that are due, while no job can see some of them and not the others.
func (f *fixture) load(rows int) {
	f.T.Helper()
	f.set(setting.JobEnable, "OFF")
	f.Wait("the last job to end", func() bool { return f.Number("SELECT COUNT(*) FROM "+f.Schema+"_c.job") == 0 })
	f.Exec("INSERT INTO " + f.Schema + ".t (made) SELECT '2001-01-01' FROM information_schema.COLUMNS LIMIT " +
		strconv.Itoa(rows))
	f.set(setting.JobEnable, "ON")
}

// TestEmptyTableApprovesNothing: a policy that was declared with its table has seen nothing. What
// is loaded afterwards is a surprise.
func TestEmptyTableApprovesNothing(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newBrakedFixture(t, cfg, 0)
		f.Exec("CREATE TABLE " + f.Schema + ".t (id INT PRIMARY KEY AUTO_INCREMENT, made DATETIME)")
		p := f.Declare("t")
		defer f.run(nil)()

		f.Wait("the first jobs",
			func() bool { return f.Number("SELECT COALESCE(SUM(runs), 0) FROM "+f.Schema+"_c.job_history") > 1 })
		f.Exec("INSERT INTO " + f.Schema + ".t (made) VALUES ('2001-01-01')")
		f.Wait("a row to go as usual", func() bool { return f.Rows("t") == "0" })
		f.load(2000)
		if why := f.needsApproval(); !strings.Contains(why, "2000 of 2000 rows (100 %) are due") {
			t.Errorf("the reason is %q, want the rows", why)
		}
		if got := f.Rows("t"); got != "2000" {
			t.Errorf("%s rows are left, want all", got)
		}
		if events := f.Number("SELECT COUNT(*) FROM " + f.Schema +
			"_c.event WHERE kind = 'needs approval'"); events != 1 {
			t.Errorf("got %d events, want one", events)
		}

		f.consent(p, catalog.Consent{})
		f.Wait("the rows to go", func() bool { return f.Rows("t") == "0" })
	})
}

// TestAllowedByNumberIsNotUsual: what a person has allowed once, and not one row more, is nothing to
// judge the next run by.
func TestAllowedByNumberIsNotUsual(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newBrakedFixture(t, cfg, 0)
		f.set(setting.BrakeRows, "1000")
		f.Exec("CREATE TABLE " + f.Schema + ".t (id INT PRIMARY KEY AUTO_INCREMENT, made DATETIME)")
		p := f.Declare("t")
		defer f.run(nil)()

		f.load(1500)
		f.needsApproval()
		f.consent(p, catalog.Consent{UpTo: new(uint64(2000))})
		f.Wait("the approved rows to go", func() bool { return f.Rows("t") == "0" })
		f.Wait("the job to end", func() bool { return f.Number("SELECT COUNT(*) FROM "+f.Schema+"_c.job") == 0 })

		f.load(2000)
		if why := f.needsApproval(); !strings.Contains(why, "2000 of 2000 rows (100 %) are due") {
			t.Errorf("the reason is %q, want the rows", why)
		}
		if got := f.Rows("t"); got != "2000" {
			t.Errorf("%s rows are left, want all", got)
		}
	})
}

// TestPauseDoesNotPassTheBrake: a job that begins held has not been looked at. When the hold is over
// it asks before it deletes.
func TestPauseDoesNotPassTheBrake(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newBrakedFixture(t, cfg, 0)
		f.Fill("t", 3000)
		f.Exec("UPDATE "+f.Schema+".t SET made = '2020-01-01'",
			"CREATE TABLE "+f.Schema+".child (t INT, CONSTRAINT fk FOREIGN KEY (t) REFERENCES "+f.Schema+".t (id))")
		f.DeclareEvery("t", "1h")
		defer f.run(nil)()

		f.Wait("the job to be held",
			func() bool { return f.Text("SELECT COALESCE(MAX(state), '') FROM "+f.Schema+"_c.job") == "paused" })
		f.Exec("DROP TABLE " + f.Schema + ".child")
		f.needsApproval()
		if got := f.Rows("t"); got != "3000" {
			t.Errorf("%s rows are left, want all", got)
		}
	})
}
