package ttl

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/setting"
	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
	"github.com/ttlproxy/ttlproxy/ttl/ttltest"
)

// answers asks for runs of a policy, one after another, and returns how long they took in the middle.
func (f *fixture) answers(p catalog.Policy) time.Duration {
	f.T.Helper()
	var took []time.Duration
	for range 5 {
		took = append(took, f.answer(p, f.request))
	}
	slices.Sort(took)
	return took[len(took)/2]
}

// answer has somebody let a job of a policy run, and returns how long it took to end.
func (f *fixture) answer(p catalog.Policy, letRun func(catalog.Policy)) time.Duration {
	f.T.Helper()
	ended := fmt.Sprintf(f.In("SELECT COALESCE(SUM(runs), 0) FROM {t}_c.job_history WHERE policy_id = %d"), p.ID)
	before, began := f.Number(ended), time.Now()
	letRun(p)
	for f.Number(ended) == before {
		if time.Since(began) > mysqltest.Patience {
			f.T.Fatal("the run that somebody waits for does not end")
		}
		time.Sleep(2 * time.Millisecond)
	}
	return time.Since(began)
}

// busy declares a policy whose job lasts, and waits until a worker has its task.
func (f *fixture) busy(options map[string]string) {
	f.T.Helper()
	f.Fill("busy", 20_000)
	if _, err := f.Store.Declare(f.T.Context(), catalog.Client{Account: "test"}, catalog.Declaration{
		Table: catalog.Table{Schema: f.Schema, Name: "busy"},
		Rule: catalog.Rule{
			Column: "made", Literal: "1", Unit: "DAY", Enabled: true, JobInterval: "24h", TimeZone: "UTC",
			ZoneSource: catalog.ZoneFromTable, Options: options,
		},
	}); err != nil {
		f.T.Fatal(err)
	}
	f.Wait("the first rows to go", func() bool { return f.Rows("busy") != "20000" })
}

// TestRunIsNotKeptWaiting: a run that somebody waits for does not wait until the only worker there is has done
// enough for other tables, whatever that is about, nor until other jobs have been started.
func TestRunIsNotKeptWaiting(t *testing.T) {
	for name, beside := range map[string]func(f *fixture){
		"beside a table with a rate of its own": func(f *fixture) {
			f.busy(map[string]string{ddl.OptionDeleteRate: "1"})
		},
		"beside a table that has used up the rate of all": func(f *fixture) {
			f.set(setting.DeleteRowsLimit, "1")
			f.busy(nil)
		},
		"beside a table at work": func(f *fixture) {
			f.busy(map[string]string{ddl.OptionBatchSize: "10"})
		},
	} {
		t.Run(name, func(t *testing.T) {
			ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
				f := newFixture(t, cfg, 0)
				f.set(setting.ScanWorkerCount, "1")
				f.Fill("t", 100)
				p := f.DeclareEvery("t", "8760h")
				defer f.run(func(c *Config) {
					c.Tick, c.beforePacket = time.Second, func() { time.Sleep(10 * time.Millisecond) }
				})()

				f.ended("the first job", 1)
				alone := f.answers(p)
				beside(f)
				if got, bound := f.answers(p), 2*alone+time.Second; got > bound {
					t.Errorf("a run takes %v, want at most %v: alone it takes %v", got, bound, alone)
				}
			})
		})
	}
}

// TestApprovalIsNotKeptWaiting: the job that a person has asked for, and then approves, has its turn next.
func TestApprovalIsNotKeptWaiting(t *testing.T) {
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		f.set(setting.ScanWorkerCount, "1")
		f.Fill("t", 100)
		p := f.DeclareEvery("t", "8760h")
		defer f.run(func(c *Config) { c.Tick = time.Second })()

		f.ended("the first job", 1)
		f.busy(map[string]string{ddl.OptionDeleteRate: "1"})

		f.set(setting.BrakeRows, "1")
		f.set(setting.BrakePercent, "1")
		f.Exec(f.In("UPDATE {t}.t SET made = '2020-01-01'"))
		f.request(p)
		f.Wait("the brake", func() bool {
			return f.Number(f.In("SELECT COUNT(*) FROM {t}_c.job WHERE state = 'needs approval'")) == 1
		})

		if got, bound := f.answer(p, f.approve), 1800*time.Millisecond; got > bound {
			t.Errorf("the run takes %v after its approval, want at most %v", got, bound)
		}
	})
}

// TestAwaitedFirst: what somebody waits for is told before other jobs are started, and then only as many start as
// there are starters before another such run has its turn.
func TestAwaitedFirst(t *testing.T) {
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		m := f.at(utc("05-10 12:00:00"))
		for i := range mostStarters + 2 {
			table := fmt.Sprint("due", i)
			f.Fill(table, 2)
			f.DeclareEvery(table, "1h")
		}
		f.Fill("t", 2)
		p := f.DeclareEvery("t", "1h")
		f.request(p)

		wake(m.engine.awaited)
		m.mustTick()
		if jobs := f.jobs(); jobs != fmt.Sprint(mostStarters) {
			t.Errorf("%s jobs have started, want %d", jobs, mostStarters)
		}

		m.engine.crew.Work(t.Context())
		<-m.engine.awaited
		var first string
		m.engine.sessions.Admit = func(context.Context, *sql.Conn) error {
			first = f.Text(f.In("SELECT COALESCE(MAX(table_name), 'none') FROM {t}_c.job_history"))
			return nil
		}
		m.session.Close()
		m.ticker = newTicker(m.engine) // whose session is opened to start jobs
		m.mustTick()
		if first != "t" {
			t.Errorf("jobs are started when the job that has ended is that of %q, want t", first)
		}
	})
}
