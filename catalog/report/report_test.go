package report

import (
	"cmp"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/setting"
	"github.com/ttlproxy/ttlproxy/ddl"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// work is an armed policy with an hourly job, changed as a test wants it.
func work(change func(*Work)) *Work {
	w := &Work{Now: noon, Policy: &catalog.Policy{
		ID: 1, Version: 1, Table: catalog.Table{Schema: "shop", Name: "orders"}, State: catalog.PolicyArmed,
		ChangedAt: noon.Add(-time.Hour),
		Rule:      catalog.Rule{Column: "at", Literal: "1", Unit: "DAY", Enabled: true, JobInterval: "1h"},
	}}
	change(w)
	w.Policy.Terms, _ = w.Policy.Rule.Terms()
	return w
}

// running is a job that started so long ago, with so many rows due and so many gone.
func running(ago time.Duration, due, deleted uint64) *catalog.Job {
	return &catalog.Job{
		State: catalog.JobRunning, CreatedAt: noon.Add(-ago), Cutoff: noon.Add(-24*time.Hour - ago),
		JobFacts: catalog.JobFacts{Plan: "index", EstimatedRows: new(due)}, Counts: catalog.Counts{Deleted: deleted},
	}
}

func ended(state catalog.JobState, ago time.Duration, deleted uint64) *catalog.EndedJob {
	j := running(ago, deleted, deleted)
	j.State, j.Reason = state, "because"
	return &catalog.EndedJob{Job: *j, FinishedAt: j.CreatedAt.Add(10 * time.Second)}
}

func TestVerdict(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*Work)
		want   string
	}{
		"disarmed": {
			func(w *Work) { w.Policy.State, w.Policy.Reason = catalog.PolicyDisarmed, "column at is gone" },
			"DISARMED (column at is gone)",
		},
		"dormant": {
			func(w *Work) { w.Policy.State, w.Policy.Reason = catalog.PolicyDormant, "a copy" },
			"DISARMED (a copy)",
		},
		"in DDL": {
			func(w *Work) { w.Policy.State = catalog.PolicyStopped },
			"PAUSED (a DDL statement on the table is under way)",
		},
		"no partition": {
			func(w *Work) { w.Stuck = "there is no pattern" },
			"FALLING BEHIND (no partitions are made ahead: there is no pattern)",
		},
		"off":    {func(w *Work) { w.Policy.Rule.Enabled = false }, "OFF (TTL_ENABLE='OFF')"},
		"halted": {func(w *Work) { w.Halt = "ttl_job_enable is OFF" }, "PAUSED (ttl_job_enable is OFF)"},
		"paused": {
			func(w *Work) { w.Policy.Paused = catalog.Pause{Paused: true, By: "ann@%"} },
			"PAUSED (PAUSE TTL by ann@%)",
		},
		"paused until": {
			func(w *Work) { w.Policy.Paused = catalog.Pause{Paused: true, Until: noon.Add(1)} },
			"PAUSED (PAUSE TTL until 2026-03-01 12:00:00+00:00)",
		},
		"pause is over": {
			func(w *Work) { w.Policy.Paused = catalog.Pause{Paused: true, Until: noon} },
			"WAITING (the first job has not started)",
		},
		"weekly cron": {func(w *Work) { options(w, "TTL_CRON", "0 3 * * 1"); ran(w, 60*time.Hour) }, "KEEPING UP"},
		"outside window": {
			func(w *Work) { options(w, "TTL_WINDOW", "22:00-06:00"); ran(w, 14*time.Hour) },
			"WAITING FOR WINDOW (outside TTL_WINDOW='22:00-06:00' (UTC) until 2026-03-01 22:00:00+00:00)",
		},
		"not due, closed": {
			func(w *Work) { options(w, "TTL_WINDOW", "22:00-06:00"); ran(w, time.Minute) },
			"KEEPING UP",
		},
		"the window has closed on a job": {
			func(w *Work) { w.Job = running(time.Minute, 10, 1); w.Window = window("13:00-14:00") },
			"WAITING FOR WINDOW (outside ttl_job_schedule_window_start_time and _end_time (13:00-14:00 UTC) until " +
				"2026-03-01 13:00:00+00:00)",
		},
		"the window has opened for a job": {func(w *Work) {
			w.Job = running(time.Minute, 10, 1)
			w.Job.State, w.Job.Reason = catalog.JobWaitingWindow, "outside a window that there was"
			w.Window = window("11:00-13:00")
		}, "KEEPING UP"},
		"window never": {
			func(w *Work) {
				options(w, "TTL_WINDOW", "22:00-06:00")
				w.Window = window("13:00-14:00")
				ran(w, 14*time.Hour)
			},
			"WAITING FOR WINDOW (outside ttl_job_schedule_window_start_time and _end_time (13:00-14:00 UTC) for " +
				"good: the table's window and the global one have no minute in common)",
		},
		"goal met": {func(w *Work) { options(w, "TTL_MAX_LAG", "2h"); ran(w, time.Hour) }, "KEEPING UP"},
		"goal missed": {func(w *Work) {
			options(w, "TTL_MAX_LAG", "2h")
			w.Job = running(time.Minute, 10, 1)
			w.Job.OldestExpiry = noon.Add(-3 * time.Hour)
		}, "FALLING BEHIND (rows may have been due for 3h, TTL_MAX_LAG is 2h)"},
		"from a dump": {func(w *Work) {
			w.Policy.Approval = catalog.Approval{Required: true, Reason: "the table came from a dump"}
		}, "NEEDS APPROVAL (the table came from a dump; APPROVE TTL JOB FOR `shop`.`orders` VERSION 1)"},
		"a partition": {func(w *Work) {
			w.Job = braked()
			w.Job.Partition, w.Job.EstimatedRows, w.Job.Reason = "p1", new(uint64), "2 of 3 rows are due"
		}, "NEEDS APPROVAL (2 of 3 rows are due)"},
		"braked": {
			func(w *Work) { w.Job = braked() },
			"NEEDS APPROVAL (1234567 of 2000000 rows (62 %) are due, usual are about 1000)",
		},
		"throttled": {func(w *Work) { w.Job = paused("replica lag 12 s") }, "PAUSED (replica lag 12 s)"},
		"never ran": {func(*Work) {}, "WAITING (the first job has not started)"},
		"ran": {
			func(w *Work) {
				w.Last = ended(catalog.JobFinished, time.Minute, 5)
				started(w, w.Last.CreatedAt)
			},
			"KEEPING UP",
		},
		"failed": {
			func(w *Work) { w.Last = ended(catalog.JobFailed, time.Minute, 5) },
			"FALLING BEHIND (the last job ended as failed: because)",
		},
		"failing again": {func(w *Work) {
			w.Last = ended(catalog.JobFailed, time.Minute, 5)
			w.Job = running(time.Second, 1000, 0)
		}, "FALLING BEHIND (the last job ended as failed: because)"},
		"mended": {func(w *Work) {
			w.Last = ended(catalog.JobFailed, time.Minute, 5)
			w.Job = running(time.Second, 1000, 500)
		}, "KEEPING UP"},
		"engine is gone": {
			func(w *Work) { w.Last = ended(catalog.JobFinished, 3*time.Hour, 5); started(w, w.Last.CreatedAt) },
			"FALLING BEHIND (no job has started since 2026-03-01 09:00:00+00:00: is an engine running?)",
		},
		"fast enough": {func(w *Work) { w.Job = running(10*time.Minute, 1000, 500) }, "KEEPING UP"},
		"too slow": {
			func(w *Work) { w.Job = running(30*time.Minute, 360_000, 18_000) },
			"FALLING BEHIND (needs 190 rows/s, has 10)",
		},
		"overdue": {
			func(w *Work) { w.Job = running(2*time.Hour, 360_000, 0) },
			"FALLING BEHIND (needs 100 rows/s, has 0)",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := Judge(work(c.change)).String(); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

// TestBehind: a table that is looked at every moment is not late because nobody has told for a while.
func TestBehind(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		interval  string
		ago, want time.Duration
	}{
		{"1s", 31 * time.Second, 0},
		{"1s", 41 * time.Second, 40 * time.Second},
		{"10s", 49 * time.Second, 0},
		{"11s", 31 * time.Second, 20 * time.Second},
		{"1h", time.Hour, 0},
		{"1h", time.Hour + time.Second, time.Second},
	} {
		w := work(func(w *Work) { w.Policy.Rule.JobInterval = c.interval; ran(w, c.ago) })
		if got, known := w.Behind(); got != c.want || !known {
			t.Errorf("every %s, %v after the last job: got %v (known: %v), want %v", c.interval, c.ago, got, known, c.want)
		}
	}
}

func TestNothingIsMadeOfARuleThatIsNotUnderstood(t *testing.T) {
	t.Parallel()
	w := work(func(w *Work) { w.Last = ended(catalog.JobFinished, time.Minute, 1) })
	w.Policy.Unread = "this ttlproxy does not understand the TTL: option TTL_SPARE is unknown"
	if got, want := Judge(w), (Verdict{Disarmed, w.Policy.Unread}); got != want || !w.NextRun().IsZero() {
		t.Errorf("got %v, and the next run at %v", got, w.NextRun())
	}
}

func options(w *Work, name, value string) { w.Policy.Rule.Options = map[string]string{name: value} }

// started says when the last job started.
func started(w *Work, at time.Time) {
	w.Ran = []catalog.Schedule{{LastStartedAt: at}}
	if w.Last != nil {
		w.Ran[0].LastState, w.Ran[0].LastFinishedAt = w.Last.State, w.Last.FinishedAt
	}
}

// ran says that the last job started so long ago, and finished.
func ran(w *Work, ago time.Duration) {
	w.Last = ended(catalog.JobFinished, ago, 5)
	started(w, w.Last.CreatedAt)
}

func window(text string) *ddl.Window {
	w, err := ddl.ParseWindow(text)
	if err != nil {
		panic(err)
	}
	return &w
}

func braked() *catalog.Job {
	j := running(time.Minute, 1_234_567, 0)
	j.State, j.Reason = catalog.JobNeedsApproval, "1234567 of 2000000 rows (62 %) are due, usual are about 1000"
	return j
}

func paused(reason string) *catalog.Job {
	j := running(time.Minute, 10, 0)
	j.State, j.Reason = catalog.JobPaused, reason
	return j
}

// TestOneJudgementOfWindows: what a job is said to wait for agrees with the verdict on its table, as soon as a window
// has changed and before the engine has come by.
func TestOneJudgementOfWindows(t *testing.T) {
	t.Parallel()
	const closed = "outside ttl_job_schedule_window_start_time and _end_time (13:00-14:00 UTC) until 2026-03-01 " +
		"13:00:00+00:00"
	waiting := func() *catalog.Job {
		j := running(10*time.Minute, 10, 1)
		j.State, j.Reason, j.StateAt = catalog.JobWaitingWindow, "outside a window that there was", noon.Add(-time.Minute)
		return j
	}
	byHand := paused("PAUSE TTL")
	byHand.WaitsFor = catalog.ForPerson
	for name, c := range map[string]struct {
		job    *catalog.Job
		window string
		state  catalog.JobState
		reason string
		worked time.Duration
	}{
		"closed on a job": {
			running(10*time.Minute, 10, 1), "13:00-14:00", catalog.JobWaitingWindow, closed, 10 * time.Minute,
		},
		"opened for a job":           {waiting(), "11:00-13:00", catalog.JobRunning, "", 9 * time.Minute},
		"another one closed":         {waiting(), "13:00-14:00", catalog.JobWaitingWindow, closed, 9 * time.Minute},
		"closed on a paused job":     {paused("replica lag"), "13:00-14:00", catalog.JobWaitingWindow, closed, 0},
		"open for a paused job":      {paused("replica lag"), "11:00-13:00", catalog.JobPaused, "replica lag", 0},
		"closed, was paused by hand": {byHand, "13:00-14:00", catalog.JobWaitingWindow, closed, 0},
		"closed, waits for a person": {braked(), "13:00-14:00", catalog.JobNeedsApproval, braked().Reason, 0},
	} {
		s := &Snapshot{
			Now: noon, Enabled: true, Window: window(c.window), Jobs: []catalog.Job{*c.job},
			Policies: []*catalog.Policy{work(func(*Work) {}).Policy},
			Nodes:    []catalog.Node{{ID: 1, Live: true, Engine: true}}, Throttle: catalog.Throttle{Share: 1},
		}
		s.Jobs[0].PolicyID = 1
		w := s.Work()[0]
		if got := w.Job; got.State != c.state || got.Reason != c.reason {
			t.Errorf("%s: %s (%s), want %s (%s)", name, got.State, got.Reason, c.state, c.reason)
		}
		if got := w.Job.Worked(noon); c.worked > 0 && got != c.worked {
			t.Errorf("%s: has worked for %v, want %v", name, got, c.worked)
		}
		if verdict := Judge(w); (verdict.Word == WindowClosed) != (c.state == catalog.JobWaitingWindow) {
			t.Errorf("%s: the verdict is %s", name, verdict)
		}
	}
}

// TestAllowed: a job that waits for approval may delete no more than it has, whatever the brake would have let go.
func TestAllowed(t *testing.T) {
	t.Parallel()
	waiting := braked()
	waiting.Bound, waiting.Counts.Deleted = new(uint64(14_400)), 200
	going := running(time.Minute, 1000, 200)
	going.Bound = new(uint64(14_400))
	for job, want := range map[*catalog.Job]any{
		waiting: uint64(200), going: uint64(14_400), running(time.Minute, 1000, 200): nil,
	} {
		if got := allowed(&jobLine{job: job}); got != want {
			t.Errorf("%s: got %v, want %v", job.State, got, want)
		}
	}
}

func TestProgress(t *testing.T) {
	t.Parallel()
	along := running(100*time.Second, 10, 1000) // the estimate was far too low
	along.Plan, along.TableRows, along.Counts.Examined = planRange, new(uint64(4000)), 1000
	stopped := running(100*time.Second, 4000, 1000)
	stopped.State, stopped.StateAt = catalog.JobPaused, noon.Add(-50*time.Second)
	rested := running(100*time.Second, 4000, 1000)
	rested.Waited = 60 * time.Second

	for name, c := range map[string]struct {
		job  *catalog.Job
		want Progress
	}{
		"by rows due":       {running(100*time.Second, 4000, 1000), Progress{25, true, 10, 300 * time.Second, true}},
		"along the key":     {along, Progress{25, true, 10, 300 * time.Second, true}},
		"nothing yet":       {running(time.Second, 4000, 0), Progress{Known: true}},
		"more than thought": {running(100*time.Second, 10, 1000), Progress{nearlyDone, true, 10, 0, true}},
		"stands still":      {stopped, Progress{25, true, 20, 0, false}},
		"stood still":       {rested, Progress{25, true, 25, 120 * time.Second, true}},
	} {
		if got := ProgressOf(c.job, noon); got != c.want {
			t.Errorf("%s: got %+v, want %+v", name, got, c.want)
		}
	}
}

func TestFlowSetsInflowAgainstOutflow(t *testing.T) {
	t.Parallel()
	w := work(func(w *Work) {
		w.Last = ended(catalog.JobFinished, 2*time.Hour, 100)
		w.Job = running(100*time.Second, 4000, 1000)
		w.Job.Cutoff = w.Last.Cutoff.Add(time.Hour)
		w.Job.Inflow = new(uint64(7200))
	})
	want := Flow{Inflow: 2, InflowKnown: true, Outflow: 10, OutflowKnown: true, Backlog: 3000}
	if got := FlowOf(w); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestNextRun(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*Work)
		want   time.Time
	}{
		"never ran": {func(*Work) {}, noon},
		"ran":       {func(w *Work) { started(w, noon.Add(-20*time.Minute)) }, noon.Add(40 * time.Minute)},
		"asked for": {func(w *Work) { started(w, noon.Add(-time.Minute)); w.Ran[0].RequestedAt = noon }, noon},
		"paused":    {func(w *Work) { w.Policy.Paused.Paused = true }, time.Time{}},
		"halted":    {func(w *Work) { w.Halt = "x" }, time.Time{}},
		"cron": {
			func(w *Work) { options(w, "TTL_CRON", "30 4 * * *"); started(w, noon.Add(-7*time.Hour)) },
			noon.Add(16*time.Hour + 30*time.Minute),
		},
		"window": {
			func(w *Work) { options(w, "TTL_WINDOW", "22:00-06:00"); started(w, noon.Add(-7*time.Hour)) },
			noon.Add(10 * time.Hour),
		},
		"lag": {
			func(w *Work) { options(w, "TTL_MAX_LAG", "30m"); started(w, noon.Add(-5*time.Minute)) },
			noon.Add(10 * time.Minute),
		},
	} {
		if got := work(c.change).NextRun(); !got.Equal(c.want) {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
}

// TestWatermarkPassesNoRowThatStays: the watermark stands before a row that stays, which is not late for
// that; counts are those of the present rule.
func TestWatermarkPassesNoRowThatStays(t *testing.T) {
	t.Parallel()
	processed, expired := noon.Add(-time.Hour), noon.Add(-300*time.Hour)
	none, one := new(uint64(0)), new(uint64(1))
	for name, c := range map[string]struct {
		ran       catalog.Schedule
		watermark time.Time
		rows      *uint64
	}{
		"none stays":       {catalog.Schedule{Undeletable: none}, processed, none},
		"one stays":        {catalog.Schedule{Undeletable: one, OldestUndeletable: expired}, expired, one},
		"one came later":   {catalog.Schedule{Undeletable: one, OldestUndeletable: noon}, processed, one},
		"no date is known": {catalog.Schedule{Undeletable: one}, time.Time{}, one},
		"nothing is known": {catalog.Schedule{}, processed, nil},
		"of another rule":  {catalog.Schedule{Undeletable: one, UndeletableVersion: 7}, processed, nil},
	} {
		w := work(func(w *Work) {
			if c.ran.Watermark, c.ran.WatermarkVersion = processed, w.Policy.Version; c.ran.UndeletableVersion == 0 {
				c.ran.UndeletableVersion = w.Policy.Version
			}
			w.Ran = []catalog.Schedule{c.ran}
		})
		if got := w.Watermark(); !got.Equal(c.watermark) {
			t.Errorf("%s: the watermark is %v, want %v", name, got, c.watermark)
		}
		if got := w.Undeletable(); (got == nil) != (c.rows == nil) || got != nil && *got != *c.rows {
			t.Errorf("%s: %v rows, want %v", name, number(got), number(c.rows))
		}
		if w.Late() {
			t.Errorf("%s: rows count as late", name)
		}
	}
}

// TestNothingIsBehindForWhatCannotGo: rows that the server refuses to delete are told as such, like those that others
// need, and do not hide how far behind the others are.
func TestNothingIsBehindForWhatCannotGo(t *testing.T) {
	t.Parallel()
	stuck := noon.AddDate(-20, 0, 0)
	for name, c := range map[string]struct {
		oldest          time.Time
		failed, skipped uint64
		behind          time.Duration
		known           bool
	}{
		"refused":                 {stuck, 2, 0, 0, true},
		"needed by others":        {time.Time{}, 0, 0, 0, true},
		"one more that is older":  {stuck.Add(-time.Hour), 2, 0, noon.Sub(stuck) + time.Hour, true},
		"others that were locked": {stuck, 2, 1, 0, false},
		"more than are told":      {stuck, 3, 0, 0, false},
	} {
		w := work(func(w *Work) {
			w.Policy.Rule.JobInterval = "1h"
			ran(w, time.Minute)
			w.Last.OldestExpiry, w.Last.Counts.Failed, w.Last.Counts.Skipped = c.oldest, c.failed, c.skipped
			w.Ran[0].Undeletable, w.Ran[0].OldestUndeletable, w.Ran[0].UndeletableVersion = new(uint64(2)), stuck, 1
		})
		if got, known := w.Behind(); got != c.behind || known != c.known {
			t.Errorf("%s: behind by %v (known: %t), want %v (%t)", name, got, known, c.behind, c.known)
		}
		if oldest := w.Oldest(); oldest.IsZero() != (c.behind == 0) {
			t.Errorf("%s: the oldest row expired at %v", name, oldest)
		}
	}
}

// TestGapsOfSchedulesAreNotLate: rows wait for the next job as long as schedule and windows say, and nobody
// is alarmed by a weekend.
func TestGapsOfSchedulesAreNotLate(t *testing.T) {
	t.Parallel()
	friday := time.Date(2026, 2, 27, 3, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		option, value string
		after         time.Duration
		behind        time.Duration
		late          bool
	}{
		"Saturday":                 {ddl.OptionCron, "0 3 * * 1-5", 36 * time.Hour, 0, false},
		"Sunday night":             {ddl.OptionCron, "0 3 * * 1-5", 71 * time.Hour, 0, false},
		"Monday, with no job":      {ddl.OptionCron, "0 3 * * 1-5", 74 * time.Hour, 2 * time.Hour, false},
		"after a week without one": {ddl.OptionCron, "0 3 * * 1-5", 168 * time.Hour, 96 * time.Hour, true},
		"once a month":             {ddl.OptionCron, "0 3 27 * *", 27 * 24 * time.Hour, 0, false},
		"after two months":         {ddl.OptionCron, "0 3 27 * *", 63 * 24 * time.Hour, 35 * 24 * time.Hour, true},
		"a window on Fridays":      {ddl.OptionWindow, "fri 02:00-05:00", 160 * time.Hour, 159 * time.Hour, false},
		"after three Fridays":      {ddl.OptionWindow, "fri 02:00-05:00", 500 * time.Hour, 499 * time.Hour, true},
	} {
		w := work(func(w *Work) {
			w.Policy.Rule.Options = map[string]string{c.option: c.value}
			w.Now = friday.Add(c.after)
			w.Last = ended(catalog.JobFinished, noon.Sub(friday), 5)
			w.Ran = []catalog.Schedule{{LastStartedAt: friday, Watermark: friday, WatermarkVersion: 1}}
		})
		if behind, known := w.Behind(); !known || behind != c.behind {
			t.Errorf("%s: behind by %v (%v), want %v", name, behind, known, c.behind)
		}
		if w.Late() != c.late {
			t.Errorf("%s: late is %v of %v, with a goal of %v", name, w.Late(), c.after, w.Goal())
		}
	}
}

// TestGoalIsTwoJobs: windows set jobs apart only if they are ever closed.
func TestGoalIsTwoJobs(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		settings setting.Values
		options  map[string]string
		want     time.Duration
	}{
		"the defaults":    {setting.Defaults(), nil, 2 * time.Minute},
		"all of the week": {setting.Defaults(), map[string]string{ddl.OptionWindow: "mon-fri; sat-sun"}, 2 * time.Minute},
		"a window of its own": {
			setting.Defaults(), map[string]string{ddl.OptionWindow: "22:00-06:00"}, 48 * time.Hour,
		},
		"a window of all": {
			setting.Values{setting.WindowStart: "22:00 +0000", setting.WindowEnd: "06:00 +0000"}, nil, 48 * time.Hour,
		},
		"Fridays":           {setting.Defaults(), map[string]string{ddl.OptionWindow: "fri"}, 12 * 24 * time.Hour},
		"a goal of its own": {setting.Defaults(), map[string]string{ddl.OptionMaxLag: "30m"}, 30 * time.Minute},
	} {
		w := work(func(w *Work) {
			w.Policy.Rule.JobInterval, w.Policy.Rule.Options = "1m", c.options
			w.Window = c.settings.Window()
		})
		if got := w.Goal(); got != c.want {
			t.Errorf("%s: the goal is %v, want %v", name, got, c.want)
		}
	}
}

// TestWatermarkPassesNoRowThatIsKnown: rows that were brought in after the last job, and that expired before
// it, are known as soon as a job has looked, whether it may delete them or not.
func TestWatermarkPassesNoRowThatIsKnown(t *testing.T) {
	t.Parallel()
	processed, ancient := noon.Add(-time.Hour), noon.Add(-7*365*24*time.Hour)
	for name, c := range map[string]struct {
		oldest time.Time
		state  catalog.JobState
		want   time.Time
	}{
		"waits":           {ancient, catalog.JobNeedsApproval, ancient},
		"is held":         {ancient, catalog.JobPaused, ancient},
		"came since then": {noon.Add(-time.Minute), catalog.JobRunning, processed},
		"none is known":   {time.Time{}, catalog.JobRunning, processed},
	} {
		w := work(func(w *Work) {
			w.Ran = []catalog.Schedule{{Watermark: processed, WatermarkVersion: 1}}
			w.Job = running(time.Minute, 9, 0)
			w.Job.State, w.Job.OldestExpiry = c.state, c.oldest
		})
		if got := w.Watermark(); !got.Equal(c.want) {
			t.Errorf("%s: the watermark is %v, want %v", name, got, c.want)
		}
	}
}

// TestWhatStandsStillHasNoEnd: its job is open and half done, and nobody knows when it goes on.
func TestWhatStandsStillHasNoEnd(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(w *Work)
		ends   bool
	}{
		"at work":        {func(*Work) {}, true},
		"behind":         {func(w *Work) { w.Policy.Rule.JobInterval = "1s" }, true},
		"slowed":         {func(w *Work) { w.Slowed, w.Share = "at 50 % of its speed", 0.5 }, true},
		"held back":      {func(w *Work) { w.Slowed, w.Share = "at 0 % of its speed", 0 }, false},
		"without engine": {func(w *Work) { w.Halt = "no engine is running" }, false},
		"paused":         {func(w *Work) { w.Policy.Paused = catalog.Pause{Paused: true} }, false},
		"in DDL":         {func(w *Work) { w.Policy.State = catalog.PolicyStopped }, false},
		"switched off":   {func(w *Work) { w.Policy.Rule.Enabled = false }, false},
	} {
		w := work(func(w *Work) { w.Job = running(time.Minute, 10, 5); c.change(w) })
		if p := w.Progress(); p.LeftKnown != c.ends || p.LeftKnown != (p.Left > 0) || p.Percent != 50 {
			t.Errorf("%s, %s: the progress is %+v; has it an end? want %v", name, Judge(w), p, c.ends)
		}
	}
}

func TestEveryRowFitsItsColumns(t *testing.T) {
	t.Parallel()
	w := work(func(w *Work) { w.Job = running(time.Minute, 10, 1); w.Job.ID, w.Job.PolicyID = 7, 1 })
	s := &Snapshot{
		Now: noon, Enabled: true, Policies: []*catalog.Policy{w.Policy}, Jobs: []catalog.Job{*w.Job},
		Nodes: []catalog.Node{{ID: 3, Name: "a", Live: true, Engine: true}},
	}
	tasks := []catalog.Task{{JobID: 7, State: catalog.TaskRunning, Owner: 3}}
	past := []catalog.EndedJob{*ended(catalog.JobFinished, time.Hour, 5)}
	done := &Snapshot{Now: noon, Policies: s.Policies, Past: map[uint64]*catalog.Past{1: {Last: past}}}

	for _, l := range []List{
		listJobs(s), listJobs(done), listJobs(&Snapshot{Policies: s.Policies}), listTables(s), listTables(done),
		listTasks(s, tasks), listHistory(past), listErrors([]catalog.RowError{{}}), listNodes(s, tasks),
		listThrottle(s, []catalog.Throttle{{Node: 3, Signals: []catalog.Signal{{Name: "latency", State: "not seen"}}}}),
		listEvents([]catalog.Event{{}}), listVariables(setting.Defaults()),
		Status(s, catalog.Lineage{}), Lineage(catalog.Lineage{}, catalog.GlobalPause{}),
		Runs(catalog.Table{}, past, nil), TiDBTableStatus(s), TiDBTableStatus(done), TiDBTask(s, tasks), TiDBHistory(s, past),
	} {
		if len(l.Rows) == 0 {
			t.Errorf("%s has no row", l.Name)
		}
		for _, r := range l.Rows {
			if len(r.Values) != len(l.Columns) {
				t.Errorf("%s: %d values for %d columns", l.Name, len(r.Values), len(l.Columns))
			}
		}
	}
}

// TestEveryTextFitsItsColumn: what the catalog may hold, as long as it may be, is shown. The server would show NULL.
func TestEveryTextFitsItsColumn(t *testing.T) {
	t.Parallel()
	const long = 5000 // what nothing bounds
	lengths := map[string]int{
		"Schema": 64, "Name": 64, "Column": 64, "Partition": 64, "Version": 255, "Literal": 255, "JobInterval": 255,
		"TimeZone": 64, "Owner": 288, "TriggeredBy": 288, "Actor": 288, "By": 288, "Server": 320, "Address": 255,
		"Host": 255, "UUID": 64, "Cluster": 64, "Plan": 16, "CutoffLiteral": 64, "FloorLiteral": 64,
		"User": 128, "Client": 64, "Backend": 320, // of sessions, not of the catalog
	}

	var policy catalog.Policy
	var job catalog.Job
	var task catalog.Task
	var node catalog.Node
	var rowError catalog.RowError
	var event catalog.Event
	var lineage catalog.Lineage
	var pause catalog.GlobalPause
	var session Session
	var partition Partition
	for _, v := range []any{
		&policy, &job, &task, &node, &rowError, &event, &lineage, &pause, &session, &partition,
	} {
		lengthen(reflect.ValueOf(v).Elem(), lengths, long)
	}
	policy.ID, policy.State = 1, catalog.PolicyDisarmed
	policy.Rule.Options = map[string]string{}
	for _, o := range []string{
		ddl.OptionCron, ddl.OptionWindow, ddl.OptionMaxLag, ddl.OptionDeleteRate, ddl.OptionBatchSize, ddl.OptionView,
	} {
		policy.Rule.Options[o] = strings.Repeat("ž", long)
	}
	job.ID, job.PolicyID, job.State, job.Owner, job.Tasks, job.TasksFinished = 7, 1, catalog.JobNeedsApproval, 3, 1<<31, 1<<31
	task.JobID, task.Owner, node.ID, node.Live = 7, 3, 3, true
	node.Name = strings.Repeat("ž", 255)
	values := setting.Defaults()
	for name := range values {
		values[name] = strings.Repeat("ž", 1024)
	}

	s := &Snapshot{
		Now: noon, Policies: []*catalog.Policy{&policy}, Jobs: []catalog.Job{job}, Nodes: []catalog.Node{node},
	}
	past := []catalog.EndedJob{{Job: job, FinishedAt: noon}}
	for _, l := range []List{
		listTables(s), listJobs(s), listTasks(s, []catalog.Task{task}), listHistory(past),
		listErrors([]catalog.RowError{rowError}), listNodes(s, nil), listEvents([]catalog.Event{event}),
		listVariables(values), Sessions([]Session{session}), Status(s, lineage), Lineage(lineage, pause),
		Partitions(policy.Table, []Partition{partition}), Runs(policy.Table, past, nil), TiDBTableStatus(s),
		TiDBTask(s, []catalog.Task{task}), TiDBHistory(s, past),
	} {
		if len(l.Rows) == 0 {
			t.Errorf("%s has no row", l.Name)
		}
		for _, r := range l.Rows {
			for i, c := range l.Columns {
				text, _ := r.Values[i].(string)
				if n := utf8.RuneCountInString(text); n > c.Type.Length() {
					t.Errorf("%s: column %s has %d characters, and its type is %s", l.Name, c.Name, n, c.Type)
				}
			}
		}
	}
}

// lengthen makes the texts of a value as long as they may be.
func lengthen(v reflect.Value, lengths map[string]int, long int) {
	for f, field := range v.Fields() {
		switch {
		case !f.IsExported():
		case field.Kind() == reflect.Struct && f.Type != reflect.TypeFor[time.Time]():
			lengthen(field, lengths, long)
		case f.Type == reflect.TypeFor[string]():
			field.SetString(strings.Repeat("ž", cmp.Or(lengths[f.Name], long)))
		}
	}
}

func TestPartitionsHaveLinesOfTheirOwn(t *testing.T) {
	t.Parallel()
	w := work(func(*Work) {})
	s := &Snapshot{Now: noon, Policies: []*catalog.Policy{w.Policy}, Past: map[uint64]*catalog.Past{
		1: {Schedules: []catalog.Schedule{
			{RequestedAt: noon}, {Partition: "p0"}, {Partition: "p1", LastStartedAt: noon.Add(-time.Minute)},
		}},
	}}
	all := s.Work()
	if len(all) != 2 || all[0].Partition != "p0" || all[1].Partition != "p1" || !all[1].due().Equal(noon) {
		t.Errorf("got %d lines: %+v", len(all), all)
	}
}

// One partition that is held says nothing about a job that runs beside it.
func TestMayRunWhereOneOfTheJobsDoes(t *testing.T) {
	t.Parallel()
	held, goes := running(time.Minute, 10, 0), running(time.Minute, 10, 0)
	held.PolicyID, held.Partition, held.State, held.Reason = 1, "p0", catalog.JobPaused, "exchanged"
	goes.PolicyID, goes.Partition = 1, "p1"

	s := &Snapshot{
		Now: noon, Enabled: true, Policies: []*catalog.Policy{work(func(*Work) {}).Policy},
		Jobs: []catalog.Job{*held, *goes}, Nodes: []catalog.Node{{Engine: true, Live: true}},
	}
	if err := s.MayRun(s.Policies[0]); err != nil {
		t.Errorf("one runs: got %v", err)
	}
	if v, found := s.Holding(1); !found || v.Detail != "exchanged" {
		t.Errorf("one is held: got %v", v)
	}

	s.Enabled = false
	if err := s.MayRun(s.Policies[0]); err == nil || !strings.Contains(err.Error(), "ttl_job_enable is OFF") {
		t.Errorf("all are held: got %v", err)
	}
}

// A partition that is held has a line that says so, and does not keep a run of the others from starting; where there
// are no others, it does.
func TestHeldPartitions(t *testing.T) {
	t.Parallel()
	s := &Snapshot{
		Now: noon, Enabled: true, Policies: []*catalog.Policy{work(func(*Work) {}).Policy},
		Nodes: []catalog.Node{{Engine: true, Live: true}},
		Holds: map[uint64]catalog.Holds{1: {Places: []catalog.HeldPlace{{Partition: "p0", Why: "exchanged"}}}},
		Past: map[uint64]*catalog.Past{1: {Schedules: []catalog.Schedule{
			{PolicyID: 1, LastStartedAt: noon}, {PolicyID: 1, Partition: "p1", LastStartedAt: noon},
		}}},
	}
	lines := s.Work()
	if len(lines) != 2 || lines[0].Partition != "p0" || Judge(lines[0]) != (Verdict{Paused, "exchanged"}) ||
		lines[1].Partition != "p1" || Judge(lines[1]).Word.Waits() {
		t.Errorf("got lines %+v", lines)
	}
	if l := listJobs(s); l.Rows[0].Values[4] != "held" || l.Rows[0].Values[5] != "exchanged" {
		t.Errorf("got %v in SHOW TTL JOBS", l.Rows[0].Values)
	}
	if err := s.MayRun(s.Policies[0]); err != nil {
		t.Errorf("one of two is held: got %v", err)
	}

	s.Past = nil
	if err := s.MayRun(s.Policies[0]); err != nil {
		t.Errorf("another has not had a job yet: got %v", err)
	}
	s.Holds[1] = catalog.Holds{Places: s.Holds[1].Places, All: true}
	if err := s.MayRun(s.Policies[0]); err == nil || !strings.Contains(err.Error(), "exchanged") {
		t.Errorf("all are held: got %v", err)
	}

	s.Holds[1] = catalog.Holds{Places: s.Holds[1].Places}
	s.Policies[0].Paused = catalog.Pause{Paused: true, Reason: "migration"}
	s.Past = map[uint64]*catalog.Past{1: {Schedules: []catalog.Schedule{{PolicyID: 1, Partition: "p1"}}}}
	if err := s.MayRun(s.Policies[0]); err == nil || !strings.Contains(err.Error(), "migration") {
		t.Errorf("the policy is paused: got %v", err)
	}
}
