package ttl

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/setting"
	"github.com/ttlproxy/ttlproxy/ttl/ttltest"
)

// moment is an engine at one instant of the database's clock: SET timestamp holds it in every
// session. Nothing runs by itself.
type moment struct {
	f  *fixture
	db *sql.DB // of the catalog
	*ticker
	packets int // sent so far
	most    int // after which the worker is called away; 0 for never
}

// at prepares an engine whose database says that it is that instant.
func (f *fixture) at(instant time.Time) *moment {
	f.T.Helper()
	hold := fmt.Sprintf("SET timestamp = %d.%06d", instant.Unix(), instant.Nanosecond()/1000)
	connector, err := catalog.Connector(f.Config, hold)
	if err != nil {
		f.T.Fatal(err)
	}

	db := sql.OpenDB(connector)
	store, err := catalog.Open(f.T.Context(), db, catalog.Config{Schema: f.Schema + "_c"})
	if err != nil {
		f.T.Fatal(err)
	}

	m := &moment{f: f, db: db}
	e, err := New(Config{
		Backend: f.Config, afterOpen: []string{hold}, mostSkew: 100 * 365 * 24 * time.Hour,
		beforePacket: func() { m.packets++ },
	}, store, slog.New(slog.NewTextHandler(f.T.Output(), nil)), nil)
	if err != nil {
		f.T.Fatal(err)
	}
	if err := e.readLimits(f.T.Context()); err != nil {
		f.T.Fatal(err)
	}

	node, err := store.Join(f.T.Context(), catalog.Node{Name: "moment", Engine: true})
	if err != nil {
		f.T.Fatal(err)
	}

	e.node.Store(node)
	always := time.Now().Add(time.Hour) // nothing beats by itself, and a busy machine may take long
	e.beat.Store(&always)
	m.ticker = newTicker(e)
	f.T.Cleanup(m.close)

	return m
}

// close closes all connections; a second time does no harm.
func (m *moment) close() {
	m.session.Close()
	m.engine.sessions.Close()
	_ = m.db.Close()
}

// declare makes a policy of that moment on table t: a day after made, in the zone.
func (m *moment) declare(zone, interval string, options map[string]string) catalog.Policy {
	m.f.T.Helper()
	return m.declareDays(1, zone, interval, options)
}

// declareDays is declare for that many days after made.
func (m *moment) declareDays(days int, zone, interval string, options map[string]string) catalog.Policy {
	m.f.T.Helper()
	p, err := m.engine.store.Declare(m.f.T.Context(), catalog.Client{Account: "test"}, catalog.Declaration{
		Table: catalog.Table{Schema: m.f.Schema, Name: "t"},
		Rule: catalog.Rule{
			Column: "made", Literal: strconv.Itoa(days), Unit: "DAY", Enabled: true, JobInterval: interval,
			TimeZone: zone, ZoneSource: catalog.ZoneFromTable, Options: options,
		},
	})
	if err != nil {
		m.f.T.Fatal(err)
	}
	return p
}

// mustTick is a tick that must not fail. A job that a busy server did not let start is tried again at once.
func (m *moment) mustTick() {
	m.f.T.Helper()
	for range 5 {
		before := len(m.setbacks)
		if err := m.tick(m.f.T.Context()); err != nil {
			m.f.T.Fatal(err)
		}
		if len(m.setbacks) == before {
			return
		}
		clear(m.setbacks)
	}
}

// pass is what an engine does until nothing is left to do at that moment; then it leaves.
func (m *moment) pass() {
	m.f.T.Helper()
	defer m.leave()
	for range 4 { // start, work, finish; and nothing more
		m.mustTick()
		m.workUntilCalled(m.f.T.Context())
	}
}

// passUntil is pass, but goes on until something has happened: on a busy machine a tick's second for what is large may
// be too little.
func (m *moment) passUntil(what string, happened func() bool) {
	m.f.T.Helper()
	defer m.leave()
	m.f.Wait(what, func() bool {
		m.mustTick()
		m.workUntilCalled(m.f.T.Context())
		return happened()
	})
}

func (m *moment) leave() {
	m.engine.leave(context.WithoutCancel(m.f.T.Context()), m.engine.node.Load())
}

// workUntilCalled works on what there is, but sends no more packets than most.
func (m *moment) workUntilCalled(ctx context.Context) {
	ctx, call := context.WithCancel(ctx)
	defer call()
	before := m.engine.crew.BeforePacket
	m.engine.crew.BeforePacket = func() {
		if before(); m.most > 0 && m.packets == m.most {
			call()
		}
	}
	if m.most == 0 || m.packets < m.most {
		m.engine.crew.Work(ctx)
	}
	m.engine.crew.BeforePacket = before
}

// jobs is how many jobs have started so far.
func (f *fixture) jobs() string {
	return f.Text("SELECT (SELECT COALESCE(SUM(runs), 0) FROM " + f.Schema +
		"_c.job_history) + (SELECT COUNT(*) FROM " + f.Schema + "_c.job)")
}

// waits is the state of the open job and why.
func (f *fixture) waits() string {
	return f.Text("SELECT COALESCE(MAX(CONCAT_WS(': ', state, NULLIF(reason, ''))), 'none') FROM " + f.Schema +
		"_c.job")
}

// The year is one in which the clocks of Prague change on 28 March and 31 October.
func utc(text string) time.Time {
	at, err := time.Parse("2006-01-02 15:04:05.999999", "2027-"+text)
	if err != nil {
		panic(err)
	}
	return at
}

// TestJobsStartWhenTheyAreDue holds the server's clock a moment before and at each time at which a
// job should start.
func TestJobsStartWhenTheyAreDue(t *testing.T) {
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		type when struct {
			at      string
			started string // jobs so far
		}
		cron := func(text string) map[string]string { return map[string]string{"TTL_CRON": text} }
		window := func(text string) map[string]string { return map[string]string{"TTL_WINDOW": text} }
		for _, c := range []struct {
			name, zone, interval string
			options              map[string]string
			settings             map[string]string
			times                []when
		}{
			{
				"interval", "UTC", "1h", nil, nil,
				[]when{
					{"05-10 12:00:00", "1"},
					{"05-10 12:50:43", "1"}, // its own part of the last quarter, once
					{"05-10 12:50:44", "2"},
					{"05-10 13:50:43.999999", "2"},
					{"05-10 13:50:44", "3"},
					{"05-10 16:30:00", "4"},
					{"05-10 17:29:59", "4"},
					{"05-10 17:30:00", "5"},
				},
			},
			{
				"goal", "UTC", "24h",
				map[string]string{"TTL_MAX_LAG": "2h"},
				nil,
				[]when{{"05-10 12:00:00", "1"}, {"05-10 12:50:43", "1"}, {"05-10 12:50:44", "2"}},
			},
			{
				"cron in its zone", "Europe/Prague", "24h", cron("0 3 * * *"), nil,
				[]when{
					{"05-10 12:00:00", "0"},
					{"05-11 00:59:59", "0"},
					{"05-11 01:00:00", "1"},
					{"05-12 00:59:59", "1"},
					{"05-12 01:00:00", "2"},
				},
			},
			{
				"cron in the hour that is skipped", "Europe/Prague", "24h", cron("30 2 * * *"), nil,
				[]when{
					{"03-27 12:00:00", "0"},
					{"03-28 00:59:59", "0"},
					{"03-28 01:00:00", "1"},
					{"03-29 00:29:59", "1"},
					{"03-29 00:30:00", "2"},
				},
			},
			{
				"cron in the hour that comes twice", "Europe/Prague", "24h", cron("30 2 * * *"), nil,
				[]when{
					{"10-30 12:00:00", "0"},
					{"10-31 00:29:59", "0"},
					{"10-31 00:30:00", "1"},
					{"10-31 01:30:00", "1"},
					{"11-01 01:29:59", "1"},
					{"11-01 01:30:00", "2"},
				},
			},
			{
				"window across midnight", "Europe/Prague", "1m", window("22:00-06:00"), nil,
				[]when{
					{"05-10 19:59:59.999999", "0"},
					{"05-10 20:00:00", "1"},
					{"05-10 22:00:00", "2"},
					{"05-11 04:00:59.999999", "3"},
					{"05-11 04:01:00", "3"},
				},
			},
			{
				"window of the settings", "Europe/Prague", "1m", nil,
				map[string]string{setting.WindowStart: "22:00 +0200", setting.WindowEnd: "06:00 +0200"},
				[]when{
					{"05-10 19:59:59.999999", "0"},
					{"05-10 20:00:00", "1"},
					{"05-11 04:00:59.999999", "2"},
					{"05-11 04:01:00", "2"},
				},
			},
			{
				"window when the clocks go forward", "Europe/Prague", "1m", window("01:00-03:30"), nil,
				[]when{
					{"03-27 23:59:59", "0"},
					{"03-28 00:00:00", "1"},
					{"03-28 01:30:59", "2"},
					{"03-28 01:31:00", "2"},
				},
			},
			{
				"window when the clocks go back", "Europe/Prague", "1m", window("02:00-02:30"), nil,
				[]when{
					{"10-30 23:59:59", "0"},
					{"10-31 00:00:00", "1"},
					{"10-31 00:31:00", "1"},
					{"10-31 01:00:00", "2"},
					{"10-31 01:31:00", "2"},
				},
			},
		} {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				f := newFixture(t, cfg, 0)
				f.Fill("t", 2)
				for name, value := range c.settings {
					f.set(name, value)
				}

				for i, w := range c.times {
					m := f.at(utc(w.at))
					if i == 0 {
						m.declare(c.zone, c.interval, c.options)
					}
					if m.pass(); f.jobs() != w.started {
						t.Errorf("at %s: %s jobs have started, want %s", w.at, f.jobs(), w.started)
					}
				}
			})
		}
	})
}

// TestWindowPausesAJobAtItsKey: a job that is not done when its window closes waits, says until
// when, and goes on behind the last key; closed hours are no running time for ttl_job_timeout,
// which ends it with true numbers.
func TestWindowPausesAJobAtItsKey(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		f.Fill("t", 10_000)
		m := f.at(utc("05-10 03:59:30"))
		m.declare("Europe/Prague", "1h", map[string]string{"TTL_WINDOW": "22:00-06:00"})
		m.most = 2
		m.pass()

		left, cursor := f.Rows("t"), f.Text("SELECT cursor_key FROM "+f.Schema+"_c.task")
		if left == "10000" || left == "5000" || cursor == "" {
			t.Fatalf("%s rows are left, the cursor is at %q: want the job in the middle", left, cursor)
		}

		f.at(utc("05-10 04:01:00")).pass()
		if got, want := f.waits(),
			"waiting for window: outside TTL_WINDOW='22:00-06:00' (Europe/Prague) until 2027-05-10 20:00:00+00:00"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}

		f.at(utc("05-10 19:59:59")).pass()
		if now := f.Rows("t"); now != left {
			t.Errorf("%s rows when the window closed, %s before it opens", left, now)
		}

		m = f.at(utc("05-10 20:00:00"))
		m.most = 1
		m.pass()
		if got := f.waits(); got != "running" {
			t.Errorf("in its window again the job is %q", got)
		}
		if now := f.Text("SELECT cursor_key FROM " + f.Schema + "_c.task"); now == cursor {
			t.Errorf("the cursor stays at %s", cursor)
		}

		// It has worked for a minute and a half before its window closed.
		f.set(setting.WindowStart, "00:00 +0000")
		f.set(setting.JobTimeout, "2h")
		m = f.at(utc("05-10 21:58:30"))
		m.most = 1
		m.pass()

		if got := f.waits(); got != "running" {
			t.Errorf("after two hours at work the job is %q", got)
		}

		gone := f.Text("SELECT 10000 - " + f.Rows("t"))
		f.at(utc("05-10 21:58:30.000001")).pass()
		ended := f.Text("SELECT CONCAT_WS(' ', state, deleted, reason) FROM " + f.Schema +
			"_c.job_history ORDER BY job_id LIMIT 1")
		if want := "timed out " + gone + " ttl_job_timeout of 2h is over"; ended != want {
			t.Errorf("the job ended as %q, want %q", ended, want)
		}
	})
}

// TestWindowOnSomeDaysPausesAJob: a job that is not done when its hours are over waits for those of another day, whether
// they are the same hours or not.
func TestWindowOnSomeDaysPausesAJob(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		f.Fill("t", 10_000)
		f.set(setting.JobTimeout, "24h")
		m := f.at(utc("05-13 21:59:59")) // a Thursday
		m.declare("UTC", "24h", map[string]string{"TTL_WINDOW": "mon-thu 22:00-06:00; sat 10:00-12:00"})
		m.pass()
		if f.jobs() != "0" {
			t.Fatalf("%s jobs have started before the window opens", f.jobs())
		}

		left := f.Rows("t")
		for _, c := range []struct{ at, until string }{
			{"05-13 22:00:00", ""},
			{"05-14 06:00:59", ""},
			{"05-14 06:01:00", "2027-05-15 10:00:00+00:00"},
			{"05-14 22:00:00", "2027-05-15 10:00:00+00:00"},
			{"05-15 10:00:00", ""},
			{"05-15 12:01:00", "2027-05-17 22:00:00+00:00"},
			{"05-16 23:00:00", "2027-05-17 22:00:00+00:00"},
			{"05-17 22:00:00", ""},
		} {
			m := f.at(utc(c.at))
			m.most = 1
			m.pass()
			want := "running"
			if c.until != "" {
				want = "waiting for window: outside TTL_WINDOW='mon-thu 22:00-06:00; sat 10:00-12:00' (UTC) until " + c.until
			}
			if now := f.Rows("t"); f.waits() != want || (now == left) != (c.until != "") {
				t.Errorf("at %s the job is %q, and %s of %s rows are left; want %q", c.at, f.waits(), now, left, want)
			}
			left = f.Rows("t")
		}
	})
}

// TestRowsGoAfterTheirInstant: a row at the very cutoff stays, and goes a moment later.
func TestRowsGoAfterTheirInstant(t *testing.T) {
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		for _, c := range []struct{ name, zone, made, last string }{
			{"UTC", "UTC", "2027-05-09 12:00:00", "05-10 12:00:00.999999"},
			{"another zone", "Europe/Prague", "2027-05-09 14:00:00", "05-10 12:00:00.999999"},
			{
				"a day is 24 hours when clocks go forward", "Europe/Prague", "2027-03-27 12:00:00",
				"03-28 11:00:00.999999",
			},
			{"and not early when they go back", "Europe/Prague", "2027-10-30 12:00:00", "10-31 11:00:00.999999"},
			{
				"a reading that comes twice expires under both", "Europe/Prague", "2027-10-30 02:30:00",
				"10-31 01:30:00.999999",
			},
		} {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				f := newFixture(t, cfg, 0)
				f.Exec("CREATE TABLE "+f.Schema+".t (id INT PRIMARY KEY, made DATETIME NULL)",
					"INSERT INTO "+f.Schema+".t VALUES (1, '"+c.made+"'), (2, NULL)")
				m := f.at(utc(c.last))
				m.declare(c.zone, "1s", nil)

				if m.pass(); f.Rows("t") != "2" {
					t.Errorf("at %s the row is gone", c.last)
				}

				later := utc(c.last).Add(time.Second)
				if f.at(later).pass(); f.Rows("t") != "1" {
					t.Errorf("at %s the row is there", later)
				}
			})
		}
	})
}

// TestErrorRowsAreTriedWhenTheyShould: backoff by the server's clock.
func TestErrorRowsAreTriedWhenTheyShould(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		f.Fill("t", 100)
		f.Exec("CREATE TRIGGER " + f.Schema + ".keep BEFORE DELETE ON " + f.Schema +
			".t FOR EACH ROW IF OLD.id = 77 THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'no'; END IF")
		start := utc("05-10 12:00:00")
		f.at(start).declare("UTC", "1s", nil)

		for _, c := range []struct {
			after    time.Duration
			attempts string
		}{
			{0, "1"},
			{time.Hour - 2*time.Second, "1"},
			{time.Hour, "2"},
			{3*time.Hour - 2*time.Second, "2"},
			{3 * time.Hour, "3"},
			{7*time.Hour - 2*time.Second, "3"},
			{7 * time.Hour, "4"},
			{30 * 24 * time.Hour, "5"},
		} {
			f.at(start.Add(c.after)).pass()
			if got := f.Text("SELECT attempts FROM " + f.Schema + "_c.row_error"); got != c.attempts {
				t.Errorf("after %v: %s attempts, want %s", c.after, got, c.attempts)
			}
		}

		f.Exec("UPDATE " + f.Schema + "_c.row_error SET attempts = 60")
		f.at(start.Add(60 * 24 * time.Hour)).pass()
		if days := f.Text("SELECT TIMESTAMPDIFF(HOUR, last_at, next_try_at) / 24 FROM " + f.Schema +
			"_c.row_error"); days != "7.0000" {
			t.Errorf("a row that was tried often is tried again after %s days, want 7", days)
		}
	})
}

// TestPauseIsNoWork: a job that a person pauses, or a stop file, is shown as paused; that takes none of its time, and it
// goes on where it was.
func TestPauseIsNoWork(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		f.Fill("t", 10_000)
		f.set(setting.JobTimeout, "1h")
		file := filepath.Join(t.TempDir(), "stop")
		at := utc("05-10 12:00:00")
		m := f.at(at)
		p := m.declare("UTC", "24h", nil)
		m.most = 1
		m.pass()
		left := f.Rows("t")

		later := func(by time.Duration) {
			t.Helper()
			at = at.Add(by)
			m = f.at(at)
			m.engine.cfg.StopFile, m.most = file, 1
			m.pass()
		}
		var worked time.Duration
		for _, c := range []struct {
			what, state string
			begin, end  func() error
		}{
			{
				"PAUSE TTL FOR", "paused: PAUSE TTL",
				func() error { return f.Store.Pause(t.Context(), "test", p.ID, "", time.Time{}) },
				func() error { return f.Store.Resume(t.Context(), "test", p.ID) },
			},
			{
				"PAUSE TTL", "paused: PAUSE TTL",
				func() error { return f.Store.Pause(t.Context(), "test", catalog.PauseAll, "", time.Time{}) },
				func() error { return f.Store.Resume(t.Context(), "test", catalog.PauseAll) },
			},
			{
				"a stop file", "paused: the stop file " + file + " exists",
				func() error { return os.WriteFile(file, nil, 0o600) },
				func() error { return os.Remove(file) },
			},
		} {
			if err := c.begin(); err != nil {
				t.Fatal(err)
			}
			later(time.Minute)
			later(5 * time.Hour)
			if got := f.waits(); got != c.state || f.Rows("t") != left {
				t.Errorf("%s: the job is %q, and %s rows are left; want %q and %s",
					c.what, got, f.Rows("t"), c.state, left)
			}

			if err := c.end(); err != nil {
				t.Fatal(err)
			}
			later(time.Minute)
			jobs, err := f.Store.Jobs(t.Context())
			if err != nil || len(jobs) != 1 || jobs[0].State != catalog.JobRunning || f.Rows("t") == left {
				t.Fatalf("%s, over: the jobs are %+v, %v; %s rows are left", c.what, jobs, err, f.Rows("t"))
			}
			worked = jobs[0].Worked(at)
			if worked > 10*time.Minute {
				t.Errorf("%s: the job has worked for %s", c.what, worked)
			}
			left = f.Rows("t")
		}

		// Nor does any of them give it time.
		later(time.Hour - worked)
		if got := f.waits(); got != "running" {
			t.Errorf("after an hour at work the job is %q", got)
		}
		later(time.Microsecond)
		if got := f.Text("SELECT state FROM " + f.Schema + "_c.job_history ORDER BY job_id LIMIT 1"); got != "timed out" {
			t.Errorf("after more than an hour at work the job is %q", got)
		}
	})
}

// TestPausesAndFailuresEndByTheClock, and what has become due meanwhile is judged by the brake.
func TestPausesAndFailuresEndByTheClock(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		f.Fill("t", 20)
		m := f.at(utc("05-10 12:00:00"))

		p := m.declare("UTC", "1h", nil)
		if err := m.engine.store.Pause(t.Context(), "test", p.ID, "", utc("05-10 13:00:00")); err != nil {
			t.Fatal(err)
		}

		expect := func(at, jobs string) {
			t.Helper()
			if f.at(utc(at)).pass(); f.jobs() != jobs {
				t.Errorf("at %s: %s jobs have started, want %s", at, f.jobs(), jobs)
			}
		}

		expect("05-10 12:59:59.999999", "0")
		expect("05-10 13:00:00", "1")
		f.Exec("UPDATE " + f.Schema + "_c.schedule SET last_state = 'failed', last_finished_at = '2027-05-10 13:00:10'")
		expect("05-10 13:06:09.999999", "1")
		expect("05-10 13:06:10", "2")

		f.Exec("UPDATE " + f.Schema + ".t SET made = '2020-01-01'")
		f.set(setting.BrakeRows, "1")
		f.set(setting.BrakePercent, "1")
		expect("05-17 13:06:09", "3")

		if got := f.waits(); !strings.HasPrefix(got, "needs approval: ") || f.Rows("t") != "10" {
			t.Errorf("what became of the rows in between: the job is %q, %s rows are left; want it to ask",
				got, f.Rows("t"))
		}
	})
}

// TestRetentionByTheClock: the catalog forgets what is older than ttl_history_days, and not a
// moment sooner.
func TestRetentionByTheClock(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		f.Fill("t", 20)
		start := utc("05-10 12:00:00")
		m := f.at(start)
		p := m.declare("UTC", "8760h", nil)
		m.pass()
		f.set(setting.HistoryDays, "30")

		vanished := f.at(start)
		if err := vanished.store.Disarm(t.Context(), "test", p.ID, p.Version, "for the test"); err != nil {
			t.Fatal(err)
		}

		f.Exec("DROP TABLE " + f.Schema + ".t")
		kept := "SELECT CONCAT_WS(' ', (SELECT COUNT(*) FROM " + f.Schema + "_c.job_history), (SELECT COUNT(*) FROM " +
			f.Schema + "_c.policy), (SELECT COUNT(*) FROM " + f.Schema + "_c.node WHERE name = 'moment'))"
		for _, c := range []struct {
			after time.Duration
			kept  string // jobs, policies, nodes
		}{
			{24 * time.Hour, "1 1 3"}, // both of start, and the one that keeps
			{24*time.Hour + time.Second, "1 1 2"},
			{30 * 24 * time.Hour, "1 1 1"},
			{30*24*time.Hour + time.Second, "0 0 2"},
		} {
			f.at(start.Add(c.after)).pass()
			if got := f.Text(kept); got != c.kept {
				t.Errorf("after %v: %s jobs, policies and nodes are kept, want %s", c.after, got, c.kept)
			}
		}
	})
}

// TestTooManyErrorsEndAJob: TiDB's limit is over 40 % of more than 10,000 rows; the counts stay
// true.
func TestTooManyErrorsEndAJob(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		for _, c := range []struct {
			name            string
			deleted, failed int
			want            string
		}{
			{"few rows", 0, 10_000, "running"},
			{"all rows", 0, 10_001, "failed 0 10001"},
			{"just 40 percent", 6_001, 4_000, "running"},
			{"a row more", 6_000, 4_001, "failed 6000 4001"},
		} {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				f := newFixture(t, cfg, 0)
				f.Fill("t", 20)
				m := f.at(utc("05-10 12:00:00"))
				m.declare("UTC", "1h", nil)
				m.mustTick()
				f.Exec("UPDATE " + f.Schema + "_c.task SET allowed = 10000, deleted = " + strconv.Itoa(c.deleted) +
					", failed = " + strconv.Itoa(c.failed))
				m.mustTick()

				c1 := f.Schema + "_c."
				if got := f.Text("SELECT COALESCE((SELECT state FROM " + c1 +
					"job), (SELECT CONCAT_WS(' ', state, deleted, failed) FROM " + c1 +
					"job_history))"); got != c.want {
					t.Errorf("got %s, want %s", got, c.want)
				}
			})
		}
	})
}
