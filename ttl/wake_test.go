package ttl

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/setting"
	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
	"github.com/ttlproxy/ttlproxy/ttl/ttltest"
)

// patient is an engine that looks at the catalog by itself once an hour.
func patient(c *Config) { c.Tick = time.Hour }

// ended waits until so many jobs of the table have finished.
func (f *fixture) ended(what string, jobs int) {
	f.T.Helper()
	f.Wait(what, func() bool {
		return f.Number("SELECT COALESCE(SUM(runs), 0) FROM "+f.Schema+
			"_c.job_history WHERE state = 'finished'") == jobs
	})
}

// TestStatementsWakeTheEngine: whatever is said to the process of an engine that lets a job start,
// or go on, is followed at once, and not with the next tick.
func TestStatementsWakeTheEngine(t *testing.T) {
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		f.Fill("t", 100)
		ctx := t.Context()
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}

		e, stop := f.engineOf(patient)
		defer stop()

		f.Wait("the engine to run", func() bool { return e.Node() != 0 })

		p := f.DeclareEvery("t", "8760h")
		f.ended("the first job", 1)
		f.request(p)
		f.ended("RUN TTL JOB", 2)

		must(f.Store.Pause(ctx, "test", p.ID, "", time.Time{}))
		f.request(p)
		must(f.Store.Resume(ctx, "test", p.ID))
		f.ended("RESUME TTL", 3)

		p.Rule.Enabled = false
		off, err := f.Store.Declare(ctx, catalog.Client{Account: "test"},
			catalog.Declaration{Table: p.Table, Rule: p.Rule})
		must(err)
		f.request(p)
		off.Rule.Enabled = true
		_, err = f.Store.Declare(ctx, catalog.Client{Account: "test"},
			catalog.Declaration{Table: p.Table, Rule: off.Rule, Arm: true})
		must(err)
		f.ended("TTL_ENABLE='ON'", 4)

		f.set(setting.JobEnable, "OFF")
		f.request(p)
		f.set(setting.JobEnable, "ON")
		f.ended("ttl_job_enable", 5)

		now, err := f.Store.Clock(ctx)
		must(err)
		must(f.Store.Set(ctx, "test", map[string]string{
			setting.WindowStart: now.Add(-3 * time.Hour).Format("15:04 +0000"),
			setting.WindowEnd:   now.Add(-2 * time.Hour).Format("15:04 +0000"),
		}))
		f.request(p)
		must(f.Store.Set(ctx, "test", map[string]string{
			setting.WindowStart: "00:00 +0000",
			setting.WindowEnd:   "23:59 +0000",
		}))
		f.ended("an opened window", 6)

		must(f.Store.Set(ctx, "test", map[string]string{setting.BrakeRows: "1", setting.BrakePercent: "1"}))
		f.Exec("UPDATE " + f.Schema + ".t SET made = '2020-01-01'")
		f.request(p)
		f.Wait("the brake", func() bool {
			return f.Number("SELECT COUNT(*) FROM "+f.Schema+"_c.job WHERE state = 'needs approval'") == 1
		})
		asking, err := f.Store.PolicyByID(ctx, p.ID)
		must(err)
		_, err = f.Store.Consent(ctx, "test", p.ID, asking.Version, catalog.Consent{})
		must(err)
		f.ended("APPROVE TTL JOB", 7)

		if left := f.Rows("t"); left != "0" {
			t.Errorf("%s rows are left, want none", left)
		}
	})
}

// TestFailuresAreTriedAgain: what has gone wrong once is tried again a little later, however far apart ticks are.
func TestFailuresAreTriedAgain(t *testing.T) {
	t.Parallel()
	const refused = "CREATE TRIGGER {t}_c.refused BEFORE INSERT ON {t}_c.%s FOR EACH ROW SIGNAL SQLSTATE '45000'"
	for name, c := range map[string]struct{ obstacle, remedy, says string }{
		"a tick": {
			"RENAME TABLE {t}_c.pause TO {t}_c.away", "RENAME TABLE {t}_c.away TO {t}_c.pause",
			"engine cannot manage jobs",
		},
		"a start":          {fmt.Sprintf(refused, "task"), "DROP TRIGGER {t}_c.refused", "job could not be started"},
		"the end of a job": {fmt.Sprintf(refused, "job_history"), "DROP TRIGGER {t}_c.refused", "job cannot be managed"},
	} {
		t.Run(name, func(t *testing.T) {
			ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
				f := newFixture(t, cfg, 0)
				f.Fill("t", 2)
				f.DeclareEvery("t", "8760h")
				f.Exec(f.In(c.obstacle))

				gone := make(chan struct{})
				remedy := sync.OnceFunc(func() {
					f.Exec(f.In(c.remedy))
					close(gone)
				})
				log := lines(func(line string) {
					fmt.Fprint(t.Output(), line)
					if strings.Contains(line, c.says) {
						remedy()
					}
				})
				_, stop := f.loggedEngine(log, patient)
				defer stop()

				select {
				case <-gone:
					f.ended("the job", 1)
				case <-time.After(mysqltest.Patience):
					t.Error("nothing goes wrong")
				}
			})
		})
	}
}

// lines is told what is written, a line at a time.
type lines func(line string)

func (l lines) Write(p []byte) (int, error) {
	l(string(p))
	return len(p), nil
}

// TestOtherProcessesWakeTheLeader: what is said to a proxy that runs no engine is followed by the
// one that leads, and not with its next tick.
func TestOtherProcessesWakeTheLeader(t *testing.T) {
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		f.Fill("t", 100)
		p := f.DeclareEvery("t", "8760h")

		other := f.otherProcess()
		if _, err := other.Store.Join(t.Context(), catalog.Node{Name: "without an engine"}); err != nil {
			t.Fatal(err)
		}

		_, stop := f.engineOf(patient)
		defer stop()

		f.ended("the first job", 1)

		if _, err := other.Store.RequestRun(t.Context(), "test", p.ID); err != nil {
			t.Fatal(err)
		}

		f.ended("the job that was asked for elsewhere", 2)
	})
}

// otherProcess is a fixture with a catalog of its own, on the same schema.
func (f *fixture) otherProcess() *fixture {
	f.T.Helper()
	other := *f.Bed
	connector, err := catalog.Connector(f.Config)
	if err != nil {
		f.T.Fatal(err)
	}
	db := sql.OpenDB(connector)
	f.T.Cleanup(func() { db.Close() })
	if other.Store, err = catalog.Open(f.T.Context(), db, catalog.Config{Schema: f.Schema + "_c"}); err != nil {
		f.T.Fatal(err)
	}
	return &fixture{&other}
}

// TestAnyNodeStartsWhatItIsAskedFor: a node that does not lead starts the job that somebody asks
// its process for; the one that leads does not start it again.
func TestAnyNodeStartsWhatItIsAskedFor(t *testing.T) {
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		f.Fill("t", 100)
		p := f.DeclareEvery("t", "8760h")
		_, stopLeader := f.engineOf(patient)
		defer stopLeader()

		f.ended("the first job", 1)

		other := f.otherProcess()
		e, stop := other.engineOf(patient)
		defer stop()

		f.Wait("the other node to run", func() bool { return e.Node() != 0 })

		if _, err := other.Store.RequestRun(t.Context(), "test", p.ID); err != nil {
			t.Fatal(err)
		}

		f.ended("the job that was asked for", 2)
		// wakes the one that leads
		if err := f.Store.Record(t.Context(), catalog.Event{Kind: catalog.EventEngine, Actor: "test"}); err != nil {
			t.Fatal(err)
		}

		f.Wait("a moment", elapsed(time.Second/2))
		if jobs := f.jobs(); jobs != "2" {
			t.Errorf("%s jobs have started, want 2", jobs)
		}
	})
}

// TestFollowersStartWhatTheyAreAskedFor: nobody else does, where the node that leads has gone a
// moment ago.
func TestFollowersStartWhatTheyAreAskedFor(t *testing.T) {
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		f.Fill("t", 100)
		p := f.DeclareEvery("t", "8760h")

		gone, err := f.Store.Join(t.Context(), catalog.Node{Name: "gone", Engine: true})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Store.Acquire(t.Context(), leaseScheduler, gone, time.Hour); err != nil {
			t.Fatal(err)
		}

		e, stop := f.engineOf(patient)
		defer stop()

		f.Wait("the engine to run", func() bool { return e.Node() != 0 })

		if _, err := f.Store.RequestRun(t.Context(), "test", p.ID); err != nil {
			t.Fatal(err)
		}

		f.ended("the job that was asked for", 1)
	})
}

// TestJobsStartSideBySide: no start waits for the one before it.
func TestJobsStartSideBySide(t *testing.T) {
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		m := f.at(utc("05-10 12:00:00"))
		for _, table := range []string{"a", "b", "c", "d", "e", "g"} {
			f.Fill(table, 2)
			f.DeclareEvery(table, "1h")
		}

		var sessions atomic.Int64
		all := make(chan struct{})
		m.engine.sessions.Admit = func(ctx context.Context, _ *sql.Conn) error {
			if sessions.Add(1) == mostStarters {
				close(all)
			}
			select {
			case <-all:
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}

		m.session.Close()
		m.ticker = newTicker(m.engine) // whose sessions meet at the gate
		ctx, cancel := context.WithTimeout(t.Context(), mysqltest.Patience)
		defer cancel()

		if err := m.tick(ctx); err != nil {
			t.Fatal(err)
		}
		if n := sessions.Load(); n != mostStarters {
			t.Errorf("jobs are started %d at a time, want %d at a time", n, mostStarters)
		}
		f.Wait("all jobs to start", func() bool { // for which a tick has a moment only
			m.mustTick()
			return f.jobs() == "6"
		})
	})
}

// TestManyJobsStartBeforeTheWork: while many jobs are started no worker takes up a task; then all
// of them are carried out. A table that has taken the place of another is told from it although it
// is looked at together with others.
func TestManyJobsStartBeforeTheWork(t *testing.T) {
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		m := f.at(utc("05-10 12:00:00"))
		const tables = 2 * manyDue
		for i := range tables {
			table := fmt.Sprint("t", i)
			f.Fill(table, 2)
			f.DeclareEvery(table, "1h")
		}

		f.Exec(f.In("RENAME TABLE {t}.t1 TO {t}.before"), f.In("CREATE TABLE {t}.t1 LIKE {t}.before"),
			f.In("INSERT INTO {t}.t1 SELECT * FROM {t}.before"))
		var early atomic.Int64
		m.engine.crew.BeforePacket = func() {
			if m.engine.rush.waits() {
				early.Add(1)
			}
		}

		ctx, cancel := context.WithCancel(t.Context())
		crew := make(chan error, 1)
		go func() { crew <- m.engine.crew.Run(ctx) }()
		defer func() {
			cancel()
			<-crew
		}()

		const atWork = "SELECT COUNT(*) FROM {t}_c.task JOIN {t}_c.job ON job.id = job_id " +
			"WHERE job.state = 'running' AND task.state <> 'finished'"
		f.Wait("all jobs", func() bool {
			m.mustTick()
			// It may have had time for some of them only; the others do not start beside the work here.
			m.engine.rush.ends(0, m.engine.crew.Wake)
			f.Wait("the work", func() bool { return f.Number(f.In(atWork)) == 0 })
			return f.Number(f.In("SELECT COUNT(*) FROM {t}_c.job_history WHERE state = 'finished'")) == tables-1
		})

		for i := range tables {
			want := "1"
			if i == 1 {
				want = "2"
			}
			if left := f.Rows(fmt.Sprint("t", i)); left != want {
				t.Errorf("t%d has %s rows, want %s", i, left, want)
			}
		}

		if n := early.Load(); n != 0 {
			t.Errorf("%d batches went while jobs were started, want none", n)
		}
	})
}

// TestRequestIsSeenBehindALaterEvent: a run is also started if the request for it is committed after a later event,
// and after a tick that has seen that.
func TestRequestIsSeenBehindALaterEvent(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		f.Fill("t", 2)
		f.Fill("other", 2)
		p, other := f.DeclareEvery("t", "8760h"), f.DeclareEvery("other", "8760h")
		f.at(utc("05-10 12:00:00")).pass()
		m := f.at(utc("05-10 13:00:00"))
		m.mustTick()
		if jobs := f.jobs(); jobs != "2" {
			t.Fatalf("%s first jobs have started, want 2", jobs)
		}

		tx, err := m.db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback()

		for _, statement := range []string{
			"UPDATE {t}_c.schedule SET requested_at = UTC_TIMESTAMP(6), revision = revision + 1 WHERE policy_id = ?",
			"INSERT INTO {t}_c.event (at, kind, policy_id, text) VALUES (UTC_TIMESTAMP(6), 'run requested', ?, '')",
		} {
			if _, err := tx.ExecContext(t.Context(), f.In(statement), p.ID); err != nil {
				t.Fatal(err)
			}
		}

		if err := m.engine.store.Pause(t.Context(), "ann@%", other.ID, "", time.Time{}); err != nil {
			t.Fatal(err)
		}
		m.mustTick()

		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		m.mustTick()
		if jobs := f.jobs(); jobs != "3" {
			t.Errorf("%s jobs have started, want 3", jobs)
		}
	})
}

// TestRushes: the crew waits when many jobs are due, until the last of them has started; not for long,
// and not where somebody has asked for one of them.
func TestRushes(t *testing.T) {
	many, few := make([]duePolicy, manyDue), make([]duePolicy, manyDue-1)
	asked := slices.Clone(many)
	asked[0].trigger = catalog.TriggerManual
	type step struct {
		what string
		due  []duePolicy
		left int
		want bool // the crew waits while they start
	}

	for _, steps := range [][]step{
		{
			{"few", few, 0, false},
			{"many", many, 3, true},
			{"the last of them", few, 0, true},
			{"none", nil, 0, false},
			{"few again", few, 0, false},
		},
		{{"many", many, 3, true}, {"a person's first", asked, 3, false}, {"still many", many, 0, true}},
		{
			{"many", many, 3, true},
			{"many", many, 3, true},
			{"many", many, 3, true},
			{"many for too long", many, 3, false},
			{"few at last", few, 0, false},
			{"many anew", many, 0, true},
		},
		{
			{"many", many, 3, true},
			{"many", many, 3, true},
			{"many", many, 3, true},
			{"few for too long", few, 1, false},
			{"many anew", many, 0, true},
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := rush{}
			for _, s := range steps {
				if got := r.begins(s.due); got != s.want || got != r.waits() ||
					r.many() != (s.want || len(s.due) >= manyDue) {
					t.Errorf("%s: got %v, want %v", s.what, got, s.want)
				}
				woken := false
				if s.want {
					r.ends(s.left, func() { woken = true })
				}
				if goesOn := s.left == 0 || !s.want; r.waits() == goesOn || woken != (s.want && goesOn) {
					t.Errorf("%s: the crew waits: %v, it was woken: %v, with %d jobs left", s.what, r.waits(), woken, s.left)
				}
				time.Sleep(rushFor / 3)
				if r.waits() {
					t.Errorf("%s: the crew waits although no tick follows", s.what)
				}
			}
		})
	}
}

// TestGlanceIsOldOnceThePolicyHasChanged: what was seen of a table together with others goes with
// the policy of then.
func TestGlanceIsOldOnceThePolicyHasChanged(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		f.Fill("t", 100)
		m := f.at(utc("05-10 12:00:00"))
		p := m.declare("UTC", "1h", nil)
		s := m.engine.newStarter()
		defer s.session.Close()

		if err := s.session.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}

		known, err := m.engine.store.Familiar(t.Context(), []catalog.Policy{p})
		if err != nil || len(known[p.ID]) != 1 {
			t.Fatalf("got %+v, %v, want the table to be known", known, err)
		}

		d := duePolicy{
			policy: p, trigger: catalog.TriggerSchedule,
			glance: glance{connection: s.session.ID(), known: known[p.ID]},
		}

		now := utc("05-10 12:00:00")
		m.declare("UTC", "2h", nil)
		if err := s.start(t.Context(), now, d); err != nil || f.jobs() != "0" {
			t.Errorf("got %v and %s jobs, want none to start", err, f.jobs())
		}

		d.policy, _ = m.engine.store.PolicyByID(t.Context(), p.ID)
		if err := s.start(t.Context(), now, d); err != nil || f.jobs() != "1" {
			t.Errorf("got %v and %s jobs, want one to start", err, f.jobs())
		}
	})
}

// TestDueIsAskedAnew: a run that was due when the tick began is not begun once the policy has another schedule, or a
// window that excludes now, or is paused.
func TestDueIsAskedAnew(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		f.Fill("t", 100)
		m := f.at(utc("05-10 12:00:00"))
		s := m.engine.newStarter()
		defer s.session.Close()
		now := utc("05-10 12:00:00")
		ran := []catalog.Schedule{{LastStartedAt: now.Add(-time.Minute)}}

		for _, c := range []struct {
			what   string
			change func(p catalog.Policy)
			want   string
		}{
			{"an hour's interval", func(catalog.Policy) { m.declare("UTC", "1h", nil) }, "0"},
			{"a window", func(catalog.Policy) {
				m.declare("UTC", "1s", map[string]string{ddl.OptionWindow: "01:00-02:00"})
			}, "0"},
			{"a pause", func(p catalog.Policy) {
				if err := f.Store.Pause(t.Context(), "test", p.ID, "", time.Time{}); err != nil {
					t.Fatal(err)
				}
			}, "0"},
			{"nothing", func(catalog.Policy) {}, "1"},
		} {
			p := m.declare("UTC", "1s", nil)
			if err := f.Store.Resume(t.Context(), "test", p.ID); err != nil {
				t.Fatal(err)
			}
			p, err := f.Store.PolicyByID(t.Context(), p.ID)
			if err != nil {
				t.Fatal(err)
			}
			d, isDue := due(now, scheduled{p, ran}, *s.limits())
			if !isDue {
				t.Fatalf("before %s: it is not due", c.what)
			}
			c.change(p)
			if err := s.start(t.Context(), now, d); err != nil || f.jobs() != c.want {
				t.Errorf("after %s: got %v and %s jobs, want %s", c.what, err, f.jobs(), c.want)
			}
		}
	})
}
