package ttl

import (
	"context"
	"database/sql"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/setting"
	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/ttl/ttltest"
)

// answer has somebody let a job of a policy run, waits until that has ended, and returns how many packets for table
// busy the only worker sent when it had been told of that job and before it took it up. hook is what the engine does
// before each packet.
func (f *fixture) answer(e *Engine, hook *atomic.Pointer[func()], p catalog.Policy, letRun func(catalog.Policy)) int {
	f.T.Helper()
	ended := fmt.Sprintf(f.In("SELECT COALESCE(SUM(runs), 0) FROM {t}_c.job_history WHERE policy_id = %d"), p.ID)
	waits := fmt.Sprintf(f.In("SELECT COUNT(*) FROM {t}_c.task JOIN {t}_c.job ON job.id = job_id "+
		"WHERE job.policy_id = %d AND job.state = 'running' AND task.state = 'waiting'"), p.ID)
	busy, before := uint64(f.Number(f.In("SELECT id FROM {t}_c.job WHERE table_name = 'busy'"))), f.Number(ended)
	var ahead atomic.Int64
	hook.Store(new(func() {
		if e.crew.Queue.Others(busy) && f.Number(waits) > 0 {
			ahead.Add(1)
		}
	}))
	letRun(p)
	f.Wait("the run that somebody waits for to end", func() bool { return f.Number(ended) != before })
	hook.Store(nil)
	return int(ahead.Load())
}

// hooked is a patient engine of which a test says later what it does before each packet.
func (f *fixture) hooked() (e *Engine, hook *atomic.Pointer[func()], stop func()) {
	f.T.Helper()
	hook = new(atomic.Pointer[func()])
	e, stop = f.engineOf(func(c *Config) {
		patient(c)
		c.beforePacket = func() {
			if do := hook.Load(); do != nil {
				(*do)()
			}
		}
	})
	return e, hook, stop
}

// mostAhead is how many packets for another table may be sent when there is a run that somebody waits for: the one that
// was chosen just before.
const mostAhead = 1

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
			f.busy(map[string]string{ddl.OptionDeleteRate: "10", ddl.OptionBatchSize: "1"})
		},
		"beside a table that has used up the rate of all": func(f *fixture) {
			f.set(setting.DeleteRowsLimit, "10")
			f.busy(map[string]string{ddl.OptionBatchSize: "1"})
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
				e, hook, stop := f.hooked()
				defer stop()

				f.ended("the first job", 1)
				beside(f)
				for range 5 {
					if n := f.answer(e, hook, p, f.request); n > mostAhead {
						t.Errorf("a run waits for %d packets for another table, want %d at most", n, mostAhead)
					}
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
		e, hook, stop := f.hooked()
		defer stop()

		f.ended("the first job", 1)
		f.busy(map[string]string{ddl.OptionDeleteRate: "10", ddl.OptionBatchSize: "1"})

		f.set(setting.BrakeRows, "1")
		f.set(setting.BrakePercent, "1")
		f.Exec(f.In("UPDATE {t}.t SET made = '2020-01-01'"))
		f.request(p)
		f.Wait("the brake", func() bool {
			return f.Number(f.In("SELECT COUNT(*) FROM {t}_c.job WHERE state = 'needs approval'")) == 1
		})

		if n := f.answer(e, hook, p, f.approve); n > mostAhead {
			t.Errorf("the run waits for %d packets for another table after its approval, want %d at most", n, mostAhead)
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
