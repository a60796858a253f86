package ttl

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/setting"
	"github.com/ttlproxy/ttlproxy/ttl/pace"
	"github.com/ttlproxy/ttlproxy/ttl/plan"
	"github.com/ttlproxy/ttlproxy/ttl/ttltest"
	"github.com/ttlproxy/ttlproxy/ttl/work"
)

func policyOf(id uint64, interval string, options map[string]string) catalog.Policy {
	p := catalog.Policy{
		ID: id, Version: 1, State: catalog.PolicyArmed, ChangedAt: ttltest.Noon.Add(-48 * time.Hour),
		Rule: catalog.Rule{
			Column: "made", Literal: "1", Unit: "DAY", Enabled: true, JobInterval: interval,
			TimeZone: "Europe/Prague", Options: options,
		},
	}

	var err error
	if p.Terms, err = p.Rule.Terms(); err != nil {
		p.Unread = err.Error()
	}
	return p
}

func scheduledOf(p catalog.Policy, ran []catalog.Schedule) scheduled {
	return scheduled{p, ran}
}

func startedAt(at time.Time) []catalog.Schedule { return []catalog.Schedule{{LastStartedAt: at}} }

// windowOf are limits with a global window.
func windowOf(start, end string) limits {
	values := setting.Values{setting.WindowStart: start, setting.WindowEnd: end}
	return limits{Limits: work.Limits{Window: values.Window()}}
}

func TestDue(t *testing.T) {
	t.Parallel()
	open, night := windowOf("00:00 +0000", "23:59 +0000"), windowOf("22:00 +0200", "06:00 +0200")
	requested := []catalog.Schedule{{
		LastStartedAt: ttltest.Noon.Add(-time.Minute), RequestedAt: ttltest.Noon.Add(-time.Second),
		RequestedBy: "ann",
	}}
	off := policyOf(1, "1h", nil)
	off.Rule.Enabled = false
	disarmed := policyOf(1, "1h", nil)
	disarmed.State = catalog.PolicyDisarmed
	stopped := policyOf(1, "1h", nil)
	stopped.Paused = catalog.Pause{Paused: true}
	lapsed := policyOf(1, "1h", nil)
	lapsed.Paused = catalog.Pause{Paused: true, Until: ttltest.Noon}
	failed := []catalog.Schedule{{
		LastStartedAt: ttltest.Noon.Add(-7 * time.Minute), LastFinishedAt: ttltest.Noon.Add(-6 * time.Minute),
		LastState: catalog.JobFailed,
	}}

	for _, c := range []struct {
		name   string
		policy catalog.Policy
		ran    []catalog.Schedule
		limits limits
		want   bool
	}{
		{"never ran", policyOf(1, "1h", nil), nil, open, true},
		{
			"interval not over", policyOf(1, "1h", nil),
			startedAt(ttltest.Noon.Add(-time.Hour + time.Microsecond)), open, false,
		},
		{
			"interval over, from start to start", policyOf(1, "1h", nil),
			startedAt(ttltest.Noon.Add(-time.Hour)), open, true,
		},
		{
			"the last partition counts", policyOf(1, "1h", nil),
			append(startedAt(ttltest.Noon.Add(-2*time.Hour)), startedAt(ttltest.Noon.Add(-time.Minute))...),
			open, false,
		},
		{"zero interval", policyOf(1, "0", nil), startedAt(ttltest.Noon.Add(-time.Second)), open, true},
		{
			"zero interval waits a second", policyOf(1, "0", nil),
			startedAt(ttltest.Noon.Add(-time.Second / 2)), open, false,
		},
		{"TTL_ENABLE off", off, nil, open, false},
		{"disarmed", disarmed, nil, open, false},
		{"paused", stopped, nil, open, false},
		{"pause has ended by itself", lapsed, nil, open, true},
		{"asked for", policyOf(1, "24h", nil), requested, open, true},
		{"failed, and a tenth of its interval is over", policyOf(1, "1h", nil), failed, open, true},
		{"failed, and it is not", policyOf(1, "2h", nil), failed, open, false},
		{"outside the global window", policyOf(1, "1h", nil), nil, night, false},
		{"asked for outside the window", policyOf(1, "1h", nil), requested, night, false},
		{
			"inside TTL_WINDOW in the table's zone", policyOf(1, "1h", map[string]string{"TTL_WINDOW": "14:00-14:30"}),
			nil, open, true,
		},
		{
			"outside TTL_WINDOW in the table's zone", policyOf(1, "1h", map[string]string{"TTL_WINDOW": "12:00-13:59"}),
			nil, open, false,
		},
		{
			"cron before its time", policyOf(1, "1h", map[string]string{"TTL_CRON": "1 14 * * *"}),
			startedAt(ttltest.Noon.Add(-23 * time.Hour)), open, false,
		},
		{
			"cron at its time", policyOf(1, "1h", map[string]string{"TTL_CRON": "0 14 * * *"}),
			startedAt(ttltest.Noon.Add(-23 * time.Hour)), open, true,
		},
		{
			"cron, first time after declaration", policyOf(1, "1h", map[string]string{"TTL_CRON": "0 14 1 6 *"}), nil,
			open, false,
		},
		{
			"an option of another version", policyOf(1, "1h", map[string]string{"TTL_CRON": "whenever"}), nil, open,
			false,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if _, got := due(ttltest.Noon, scheduledOf(c.policy, c.ran), c.limits); got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

func TestTheMostOverdueComesFirst(t *testing.T) {
	t.Parallel()
	all := schedule{
		1: scheduledOf(policyOf(1, "1h", nil), startedAt(ttltest.Noon.Add(-2*time.Hour))),
		2: scheduledOf(policyOf(2, "1h", nil), startedAt(ttltest.Noon.Add(-3*time.Hour))),
		3: scheduledOf(policyOf(3, "24h", nil),
			[]catalog.Schedule{{LastStartedAt: ttltest.Noon.Add(-time.Minute), RequestedAt: ttltest.Noon}}),
	}

	var order []uint64
	for _, d := range dueNow(ttltest.Noon, all, limits{}) {
		order = append(order, d.policy.ID)
	}

	if got, want := fmt.Sprint(order), "[3 2 1]"; got != want {
		t.Errorf("got %s, want %s: what a person asked for, then by lateness", got, want)
	}
}

// TestNobodyStarves serves hundreds of tables, one of them without end, with four workers until
// each has had some twenty turns.
func TestNobodyStarves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const tables, workers = 300, 4
		jobs := make([]catalog.Job, tables)
		for i := range jobs {
			jobs[i] = catalog.Job{ID: uint64(i + 1), PolicyID: uint64(i + 1), State: catalog.JobRunning, Tasks: 64}
		}

		queue := pace.NewQueue()
		queue.Set(jobs, map[uint64]bool{7: true})
		last, served, longest := map[uint64]time.Time{}, map[uint64]int{}, time.Duration(0)

		began := time.Now()
		for time.Since(began) < 25*time.Minute {
			for range workers {
				job := queue.Order()[0]
				queue.Serve(job)
				since := began
				if at, ok := last[job]; ok {
					since = at
				}

				longest = max(longest, time.Since(since))
				last[job] = time.Now()
				served[job]++
			}
			time.Sleep(pace.SliceTime)
		}

		if bound := (tables/workers + 10) * pace.SliceTime; longest > bound {
			t.Errorf("somebody waited %v, want at most %v", longest, bound)
		}
		if served[7] < 3*served[1] {
			t.Errorf("the table that misses its goal was served %d times, others %d", served[7], served[1])
		}
	})
}

// TestRequestsDoNotRest: a job that could not be started is tried again a little later, but at once
// if somebody has asked for it since.
func TestRequestsDoNotRest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := setback{ttltest.Noon, time.Now().Add(retryStart)}
		for _, c := range []struct {
			trigger catalog.Trigger
			since   time.Duration // the start that failed
			rests   bool
		}{
			{catalog.TriggerSchedule, -time.Hour, true},
			{catalog.TriggerManual, -time.Second, true},
			{catalog.TriggerManual, time.Second, false},
		} {
			d := duePolicy{trigger: c.trigger, since: ttltest.Noon.Add(c.since)}
			if got := s.rests(d); got != c.rests {
				t.Errorf("%s, %v after it: got %v, want %v", c.trigger, c.since, got, c.rests)
			}
		}

		time.Sleep(retryStart)
		if s.rests(duePolicy{trigger: catalog.TriggerSchedule}) {
			t.Error("it rests for ever")
		}
	})
}

// TestJobWithoutAPlanFails: a job for which there is no plan has failed, also if whoever began it could not say so: it
// has nothing to do, and is not through.
func TestJobWithoutAPlanFails(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		f.promptTable()
		m := f.at(utc("05-10 12:00:00"))
		p := m.declare("UTC", "1h", nil)
		m.pass()
		watermark := f.Text(f.In("SELECT watermark FROM {t}_c.schedule"))

		m = f.at(utc("05-10 12:30:00"))
		if _, err := f.Store.CreateJob(t.Context(), catalog.NewJob{
			Policy: p, State: catalog.JobRunning, Owner: m.node(), RunAt: utc("05-10 12:30:00"), Cutoff: utc("05-09 12:30:00"),
			DueAt: utc("05-10 12:30:00"), CutoffLiteral: "'2027-05-09 12:30:00'",
			Facts: catalog.JobFacts{Plan: string(plan.Refuse), PlanReason: "no index can be read in order"},
		}); err != nil {
			t.Fatal(err)
		}
		m.pass()
		if got := f.Text(f.In("SELECT CONCAT(state, ': ', reason) FROM {t}_c.job_history ORDER BY job_id DESC LIMIT 1")); got !=
			"failed: no index can be read in order" {
			t.Errorf("the job is %s", got)
		}
		if got := f.Text(f.In("SELECT watermark FROM {t}_c.schedule")); got != watermark {
			t.Errorf("everything before %s is said to be gone, as it was before %s", got, watermark)
		}
	})
}
