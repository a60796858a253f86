package ttl

import (
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/setting"
	"github.com/ttlproxy/ttlproxy/ttl/plan"
	"github.com/ttlproxy/ttlproxy/ttl/ttltest"
)

// then is the same engine at a later moment: it knows what it has seen.
func (m *moment) then(instant time.Time) *moment {
	m.f.T.Helper()
	later := m.f.at(instant)
	later.engine.looks = m.engine.looks
	later.looks = m.engine.looks
	later.settings = *later.limits() // which are no news
	later.pass()
	return later
}

// promptTable is one with an index on time whose jobs start every second: a row that has expired, and
// one that expires at 12:00:40.25.
func (f *fixture) promptTable() {
	f.T.Helper()
	f.Exec("CREATE TABLE "+f.Schema+".t (id INT PRIMARY KEY, made DATETIME(6) NULL, KEY (made))",
		"INSERT INTO "+f.Schema+".t VALUES (1, '2027-05-08'), (2, '2027-05-09 12:00:40.25'), (3, NULL), (4, '1969-01-01')")
}

// TestNothingDueMakesNoRun: a table is looked at instead, which writes no history and moves the
// watermark, and a run begins as soon as its oldest row has expired.
func TestNothingDueMakesNoRun(t *testing.T) {
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		f.promptTable()
		m := f.at(utc("05-10 12:00:00"))
		p := m.declare("UTC", "1s", nil)
		m.pass()
		// Of the moments, what is behind the day.
		const schedule = "SELECT CONCAT_WS(' ', SUBSTR(watermark, 9), SUBSTR(last_started_at, 9), SUBSTR(looked_at, 9)) " +
			"FROM {t}_c.schedule"
		check := func(when, jobs, rows, told string) {
			t.Helper()
			if got := f.jobs(); got != jobs {
				t.Errorf("%s: %s jobs have started, want %s", when, got, jobs)
			}
			if got := f.Rows("t"); got != rows {
				t.Errorf("%s: %s rows are left, want %s", when, got, rows)
			}
			if got := f.Text(f.In(schedule)); got != told {
				t.Errorf("%s: the schedule says %s, want %s", when, got, told)
			}
		}

		check("at first", "1", "3", "10 12:00:00.000000 10 12:00:00.000000")
		f.Exec(f.In("UPDATE {t}_c.schedule SET undeletable = 3, oldest_undeletable = '2027-01-01', " +
			"undeletable_version = last_version"))
		m = m.then(utc("05-10 12:00:02"))
		if got := f.undeletable(); got != "0" {
			t.Errorf("%s undeletable rows are left in a table in which nothing has expired", got)
		}
		check("later", "1", "3", "10 12:00:02.000000 10 12:00:00.000000 10 12:00:02.000000")
		if !m.nextTick.IsZero() {
			t.Error("a table in which nothing happens makes the ticker hurry")
		}
		m = m.then(utc("05-10 12:00:05"))
		check("soon after", "1", "3", "10 12:00:05.000000 10 12:00:00.000000 10 12:00:05.000000")
		m = m.then(utc("05-10 12:00:40.2"))
		check("before the row expires", "1", "3", "10 12:00:40.200000 10 12:00:00.000000 10 12:00:40.200000")
		if next := m.engine.looks.all[p.ID].next; next.Before(utc("05-10 12:00:40.25")) ||
			next.After(utc("05-10 12:00:40.26")) {
			t.Errorf("the next look is at %s, want it when the row has expired", next)
		}
		if m.nextTick.IsZero() {
			t.Error("the ticker does not hurry to look when the row has expired")
		}
		if err := f.Store.Pause(t.Context(), "test", catalog.PauseAll, "", time.Time{}); err != nil {
			t.Fatal(err)
		}
		paused := f.at(utc("05-10 12:00:40.21"))
		paused.nextTick = time.Now()
		if paused.pass(); !paused.nextTick.IsZero() {
			t.Error("the ticker hurries although nothing may start")
		}
		if err := f.Store.Resume(t.Context(), "test", catalog.PauseAll); err != nil {
			t.Fatal(err)
		}

		m = m.then(utc("05-10 12:00:40.251"))
		check("when it has expired", "2", "2", "10 12:00:40.251000 10 12:00:40.251000 10 12:00:40.200000")
		if got := f.Text(f.In("SELECT GROUP_CONCAT(CONCAT(SUBSTR(run_at, 9), ' ', deleted) ORDER BY run_at) FROM " +
			"{t}_c.run")); got != "10 12:00:00.000000 1,10 12:00:40.200000 0,10 12:00:40.251000 1" {
			t.Errorf("the runs are %s, want a look that found nothing before the last one", got)
		}

		// What stops a run stops it, and what is new about the table is found out by a run.
		f.Exec("INSERT INTO " + f.Schema + ".t VALUES (5, '2027-05-09')")
		if err := f.Store.Pause(t.Context(), "test", p.ID, "", time.Time{}); err != nil {
			t.Fatal(err)
		}
		m = m.then(utc("05-10 12:01:00"))
		check("while it is paused", "2", "3", "10 12:00:40.251000 10 12:00:40.251000 10 12:00:40.200000")
		if err := f.Store.Resume(t.Context(), "test", p.ID); err != nil {
			t.Fatal(err)
		}
		m = m.then(utc("05-10 12:01:01"))
		check("when it goes on", "3", "2", "10 12:01:01.000000 10 12:01:01.000000 10 12:00:40.200000")
		m.declare("UTC", "1s", map[string]string{"TTL_MAX_LAG": "10s"})
		m = m.then(utc("05-10 12:01:10"))
		check("of another version", "4", "2", "10 12:01:10.000000 10 12:01:10.000000 10 12:00:40.200000")
		m.then(utc("05-11 02:00:00"))
		check("after half a day", "5", "2", "11 02:00:00.000000 11 02:00:00.000000 10 12:00:40.200000")
	})
}

// TestLooksAreTold: of few tables often, of many seldom, and always as often as a goal needs it.
func TestLooksAreTold(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		tables     int
		goal, want time.Duration
	}{
		{1, 0, 2 * time.Second},
		{200, 0, 6060606060 * time.Nanosecond},
		{5000, 0, 30 * time.Second},
		{5000, 20 * time.Second, 5 * time.Second},
		{1, 2 * time.Second, 500 * time.Millisecond},
	} {
		if got := (&look{goal: c.goal}).within(tellEvery(c.tables)); got != c.want {
			t.Errorf("%d tables with a goal of %v are told every %v, want %v", c.tables, c.goal, got, c.want)
		}
	}
}

// TestLookThatFails: a table that cannot be looked at keeps no other waiting, and gets a run.
func TestLookThatFails(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		f.promptTable()
		f.Exec("CREATE TABLE "+f.Schema+".u LIKE "+f.Schema+".t",
			"INSERT INTO "+f.Schema+".u VALUES (1, '2027-05-09 12:00:40.25')")
		m := f.at(utc("05-10 12:00:00"))
		rule := m.declare("UTC", "1s", nil).Rule
		if _, err := f.Store.Declare(t.Context(), catalog.Client{Account: "test"},
			catalog.Declaration{Table: catalog.Table{Schema: f.Schema, Name: "u"}, Rule: rule}); err != nil {
			t.Fatal(err)
		}
		m.pass()
		m = m.then(utc("05-10 12:00:10"))
		if got := f.jobs(); got != "2" || len(m.engine.looks.all) != 2 {
			t.Fatalf("%s jobs have started, %d tables are looked at, want 2 and 2", got, len(m.engine.looks.all))
		}

		f.Exec("ALTER TABLE " + f.Schema + ".u DROP KEY made")
		m = m.then(utc("05-10 12:00:50"))
		if got := f.Rows("t") + f.Rows("u"); got != "20" {
			t.Errorf("%s rows are left in t and u, want 2 and 0", got)
		}
		if n := len(m.engine.looks.all); n != 1 {
			t.Errorf("%d tables are looked at, want the one that has an index", n)
		}
	})
}

// TestLooksJudgeAsRunsWould: what becomes due after a look that found nothing is as much of a surprise
// as it would be after a run that found nothing.
func TestLooksJudgeAsRunsWould(t *testing.T) {
	t.Parallel()
	now := utc("05-10 12:00:00")
	p := catalog.Policy{Version: 1, Approval: catalog.Approval{Version: 1}}
	p.Terms.Timing.Interval = time.Second
	var runs []catalog.Run
	for i := range 10 {
		at := now.Add(-time.Hour - time.Duration(i)*time.Second)
		runs = append(runs, catalog.Run{At: at, Deleted: 1000, Finished: true, FinishedAt: at})
	}

	looked := now.Add(-time.Second)
	empty := append([]catalog.Run{{At: looked, Finished: true, FinishedAt: looked}}, runs...)
	r := &run{duePolicy: duePolicy{policy: p, looked: looked}}
	due := plan.Estimate{Rows: 1_000_000, Expired: 600_000}
	l := limits{brake: plan.NewBrake(setting.Defaults())}
	l.brake.Factor = 10

	byRun, byLook := braked(now, p, empty, due, l), braked(now, p, r.withLook(runs), due, l)
	if byRun.Why == "" || byLook.Why != byRun.Why || *byLook.Bound != *byRun.Bound {
		t.Errorf("after a look: %q up to %v, after a run: %q up to %v", byLook.Why, byLook.Bound, byRun.Why, byRun.Bound)
	}
	if without := braked(now, p, runs, due, l); without.Why != "" {
		t.Errorf("without either: %q: the test shows nothing", without.Why)
	}

	// The catalog was told of the look, and another node leads now.
	heir := &run{duePolicy: duePolicy{policy: p, ran: []catalog.Schedule{{LastStartedAt: runs[0].At, LookedAt: looked}}}}
	if got := braked(now, p, heir.withLook(runs), due, l); got.Why != byRun.Why || !heir.looked.Equal(looked) {
		t.Errorf("another node says %q, want %q", got.Why, byRun.Why)
	}
}
