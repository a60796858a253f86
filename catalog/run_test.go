package catalog

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"
)

// ended is how a job of a test ends.
type ended struct {
	state   JobState
	deleted uint64
	by      Trigger
}

// empty is a job that the schedule started and that found nothing.
var empty = ended{JobFinished, 0, TriggerSchedule} //nolint:gochecknoglobals // as good as a constant

// run lets the jobs of one run begin together and end side by side, as those of several partitions
// do.
func (b *bench) run(t *testing.T, p Policy, at time.Time, ends map[string]ended) (jobs []Job) {
	t.Helper()
	var g errgroup.Group
	for partition, end := range ends {
		job, err := b.CreateJob(t.Context(), NewJob{
			Policy: p, Partition: partition, RunAt: at, Cutoff: at.Add(-time.Hour), CutoffLiteral: "x", Trigger: end.by,
			Tasks: make([]TaskRange, 1),
		})
		if err != nil {
			t.Fatal(err)
		}

		b.exec(t, "UPDATE {task} SET deleted = ?, examined = 7 WHERE job_id = ?", end.deleted, job.ID)
		g.Go(func() error { return b.FinishJob(t.Context(), job.ID, job.Fence, end.state, "") })
		jobs = append(jobs, job)
	}

	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}

	return jobs
}

// TestJobsThatFoundNothingAreOneLine, with the last of them as it was; what found or failed
// something, was asked for, or went by another rule keeps its own.
func TestJobsThatFoundNothingAreOneLine(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		p := b.declare(t, b.table(t, "a"))
		at := time.Date(2026, 5, 10, 12, 0, 0, 0, time.UTC)
		var jobs []Job
		run := func(ends ...ended) {
			t.Helper()
			for _, end := range ends {
				at = at.Add(time.Minute)
				jobs = append(jobs, b.run(t, p, at, map[string]ended{"": end})...)
			}
		}

		type line struct{ Last, First, Runs, Deleted uint64 } // jobs by their order
		lines := func() (lines []line) {
			t.Helper()
			all, err := b.History(t.Context(), Filter{Table: p.Table})
			if err != nil {
				t.Fatal(err)
			}

			slices.Reverse(all)
			for _, j := range all {
				first := slices.IndexFunc(jobs, func(x Job) bool { return x.CreatedAt.Equal(j.FirstAt) })
				last := slices.IndexFunc(jobs, func(x Job) bool { return x.ID == j.ID })
				if !j.CreatedAt.Equal(jobs[last].CreatedAt) || !j.Cutoff.Equal(jobs[last].Cutoff) ||
					j.Counts.Examined != 7 {
					t.Errorf("the line of job %d tells of another one: %+v", last, j)
				}
				lines = append(lines, line{uint64(last), uint64(first), j.Runs, j.Counts.Deleted})
			}

			return lines
		}

		run(empty, empty, empty, empty, empty)
		// nobody knows when the inflow before the very first one began
		want := []line{{Last: 0, First: 0, Runs: 1}, {Last: 4, First: 1, Runs: 4}}
		if diff := cmp.Diff(want, lines()); diff != "" {
			t.Error(diff)
		}

		run(ended{JobFinished, 5, TriggerSchedule}, empty, ended{JobFinished, 0, TriggerManual}, empty, empty,
			ended{JobFailed, 0, TriggerSchedule}, empty, empty, empty)
		want = append(want, line{5, 5, 1, 5}, line{6, 6, 1, 0}, line{7, 7, 1, 0}, line{9, 8, 2, 0}, line{10, 10, 1, 0},
			line{11, 11, 1, 0}, line{13, 12, 2, 0})
		if diff := cmp.Diff(want, lines()); diff != "" {
			t.Error(diff)
		}

		for i, job := range jobs[1:5] {
			if got, err := b.EndedJob(t.Context(), job); err != nil || got.ID != jobs[4].ID {
				t.Errorf("job %d: its line is that of job %d, %v; want the last of them", i+1, got.ID, err)
			}
		}

		if got := b.scalar(t, "SELECT SUM(runs) FROM {job_history}"); got != len(jobs) {
			t.Errorf("the lines stand for %d jobs of %d", got, len(jobs))
		}
		if last, err := b.lastJobs(t); err != nil || len(last) != 1 || last[0].ID != jobs[13].ID || last[0].Runs != 2 {
			t.Errorf("the last job: got %+v, %v", last, err)
		}
	})
}

// TestSteadyJobsAreOneLine: jobs of one rule that begin soon one after the other are one line with the
// rows of all, for a minute; the last is kept as it was. The runs, by which the brake judges, are all
// kept.
func TestSteadyJobsAreOneLine(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		p := b.declare(t, b.table(t, "a"))
		at := time.Date(2026, 5, 10, 12, 0, 0, 0, time.UTC)
		var jobs []Job
		steadily := func(after time.Duration, ends ...ended) {
			t.Helper()
			for _, end := range ends {
				at, after = at.Add(after), time.Second
				jobs = append(jobs, b.run(t, p, at, map[string]ended{"": end})...)
			}
		}
		found := func(rows uint64) ended { return ended{JobFinished, rows, TriggerSchedule} }

		type line struct{ Last, Runs, Deleted, Inflow, Examined uint64 } // jobs by their order
		check := func(when string, want ...line) {
			t.Helper()
			all, err := b.History(t.Context(), Filter{Table: p.Table})
			if err != nil {
				t.Fatal(err)
			}

			slices.Reverse(all)
			var lines []line
			for _, j := range all {
				last := slices.IndexFunc(jobs, func(x Job) bool { return x.ID == j.ID })
				l := line{uint64(last), j.Runs, j.Counts.Deleted, 0, j.Counts.Examined} //nolint:gosec // small
				if j.Inflow != nil {
					l.Inflow = *j.Inflow
				}
				if ran := j.FinishedAt.Sub(j.FirstAt); j.Worked() < 0 || j.Worked() > ran || j.Runs > 1 && j.Waited == 0 {
					t.Errorf("%s: job %d: %v of %v was work", when, last, j.Worked(), ran)
				}
				lines = append(lines, l)
			}
			if diff := cmp.Diff(want, lines); diff != "" {
				t.Errorf("%s: %s", when, diff)
			}
		}

		steadily(time.Second, found(1), found(2), found(3), found(4), found(5))
		// nobody knows when the inflow before the very first one began
		want := []line{{0, 1, 1, 0, 7}, {3, 3, 9, 9, 21}, {4, 1, 5, 5, 7}}
		check("one after the other", want...)
		steadily(time.Minute, found(6), found(7), empty, found(8))
		want = append(want[:1], line{4, 4, 14, 14, 28}, line{7, 3, 13, 13, 21}, line{8, 1, 8, 8, 7})
		check("after a minute", want...)
		steadily(time.Second, found(9), ended{JobFinished, 1, TriggerManual}, found(2),
			ended{JobCancelled, 3, TriggerSchedule}, found(4), found(5))
		want = append(want[:2], line{9, 5, 30, 30, 35}, line{10, 1, 1, 1, 7}, line{11, 1, 2, 2, 7},
			line{12, 1, 3, 0, 7}, line{13, 1, 4, 0, 7}, line{14, 1, 5, 5, 7})
		check("others among them", want...)

		if got, err := b.EndedJob(t.Context(), jobs[6]); err != nil || got.ID != jobs[9].ID {
			t.Errorf("the line of a job is that of job %d, %v; want the one that stands for it", got.ID, err)
		}

		b.exec(t, "UPDATE {job_history} SET first_at = created_at - INTERVAL 61 SECOND WHERE job_id = ?", jobs[14].ID)
		steadily(time.Second, found(6), found(7))
		check("for a minute", append(want, line{15, 1, 6, 6, 7}, line{16, 1, 7, 7, 7})...)
		if runs, err := b.Runs(t.Context(), p.ID); err != nil || len(runs) != len(jobs) {
			t.Errorf("%d runs of %d are kept, %v", len(runs), len(jobs), err)
		}
	})
}

// TestRunsAreKeptInWhole: whatever the partitions of a table find, each run that found something is
// told of, and the one before it; of those that found nothing one after the other, the first and
// the last two at most.
func TestRunsAreKeptInWhole(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		p := b.declare(t, b.table(t, "a"))
		r := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same runs each time
		at := time.Date(2026, 5, 10, 12, 0, 0, 0, time.UTC)
		var all []Run

		for range 40 {
			at = at.Add(time.Minute)
			ends := map[string]ended{"p0": empty, "p1": empty, "p2": empty}
			switch r.IntN(8) {
			case 0:
				ends["p0"] = ended{JobFinished, 3, TriggerSchedule}
			case 1:
				ends["p1"] = ended{JobCancelled, 4, TriggerSchedule}
			case 2:
				ends = map[string]ended{"p9": {JobFinished, 5, TriggerSchedule}} // a new one
			}

			run := Run{At: at, Finished: true}
			for _, end := range ends {
				run.Deleted, run.Finished = run.Deleted+end.deleted, run.Finished && end.state == JobFinished
			}

			b.run(t, p, at, ends)
			all = append(all, run)
		}

		nothing := func(r Run) bool { return r.Finished && r.Deleted == 0 }
		var want []Run
		for i, run := range all {
			between := i > 0 && i < len(all)-2 && nothing(all[i-1]) && nothing(run) && nothing(all[i+1])
			if !between {
				want = append(want, run)
			}
		}

		slices.Reverse(want)
		got, err := b.Runs(t.Context(), p.ID)
		if err != nil {
			t.Fatal(err)
		}

		for i := range got {
			got[i].FinishedAt = time.Time{}
		}

		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}

// TestRunsComeOutOfTheHistory when the catalog of an earlier version is brought up.
func TestRunsComeOutOfTheHistory(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		b.exec(t, "DROP DATABASE "+b.Schema())
		if err := b.migrate(t.Context(), steps(t)[:10]); err != nil {
			t.Fatal(err)
		}

		for job, row := range []string{
			"NULL, 'finished', 9", "'2026-05-10 12:00:00', 'finished', 3", "'2026-05-10 12:00:00', 'cancelled', 4",
			"'2026-05-10 13:00:00', 'finished', 0",
		} {
			b.exec(t, `INSERT INTO {job_history} (job_id, policy_id, policy_version, schema_name, table_name, reason,
 cutoff, trigger_kind, plan, plan_reason, tasks,
 tasks_finished, examined, refreshed, failed, skipped, note, created_at, finished_at, run_at, state, deleted)
 VALUES (?, 8, 1, 's', 't', '', '2026-05-09', 'schedule', '', '', 0, 0, 0, 0, 0, 0, '', '2026-05-10 12:00',
 '2026-05-10 14:00', `+row+")", job+1)
		}

		if _, err := Open(t.Context(), b.db, b.Store.cfg); err != nil {
			t.Fatal(err)
		}

		got, err := b.Runs(t.Context(), 8)
		if err != nil {
			t.Fatal(err)
		}

		at := time.Date(2026, 5, 10, 12, 0, 0, 0, time.UTC)
		want := []Run{
			{At: at.Add(time.Hour), Finished: true, FinishedAt: at.Add(2 * time.Hour)},
			{At: at, Deleted: 7, FinishedAt: at.Add(2 * time.Hour)},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}

		all, err := b.History(t.Context(), Filter{})
		if err != nil || len(all) != 4 || all[0].Runs != 1 || !all[0].FirstAt.Equal(all[0].CreatedAt) {
			t.Errorf("got %+v, %v", all, err)
		}
	})
}

// lastJobs reads the last job of each table and partition.
func (b *bench) lastJobs(t *testing.T) (jobs []EndedJob, err error) {
	t.Helper()
	past, err := b.PastAgain(t.Context())
	for _, p := range past {
		jobs = append(jobs, p.Last...)
	}
	return jobs, err
}

// TestRequestIsAnsweredByALaterRun: a run that began before it was asked for, as one that was being
// started meanwhile, leaves the request as it is.
func TestRequestIsAnsweredByALaterRun(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		p := b.declare(t, b.table(t, "t"))
		asked, err := b.RequestRun(t.Context(), "ann@%", p.ID)
		if err != nil {
			t.Fatal(err)
		}

		for _, c := range []struct {
			began time.Time
			want  Trigger
		}{{asked.Add(-time.Microsecond), TriggerManual}, {asked, TriggerSchedule}} {
			b.run(t, p, c.began, map[string]ended{"": {JobFinished, 3, TriggerSchedule}})
			ran, err := b.SchedulesOf(t.Context(), p.ID)
			if err != nil {
				t.Fatal(err)
			}
			if next := p.Terms.Timing.Next(p, ran); next.Trigger != c.want {
				t.Errorf("after a run that began %v: the next one is of the %s, want %s", c.began.Sub(asked),
					next.Trigger, c.want)
			}
		}
	})
}

// TestRunThatIsRefusedAsksNobody: people are told that a run waits for approval if there is such a run: neither if
// another node was faster, nor if the approval has been given since it was planned.
func TestRunThatIsRefusedAsksNobody(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		p := b.declare(t, b.table(t, "a"))
		create := func(after uint64) (JobState, error) {
			t.Helper()
			asks := p.event(EventBraked, "engine (node 1)", "much is due")
			jobs, err := b.CreateRun(t.Context(), NewRun{After: &after, Asks: &asks, Jobs: []NewJob{{
				Policy: p, State: JobNeedsApproval, Reason: asks.Text, RunAt: time.Now(), Cutoff: time.Now(), CutoffLiteral: "x",
			}}})
			if err != nil {
				return "", err
			}
			return jobs[0].State, b.FinishJob(t.Context(), jobs[0].ID, jobs[0].Fence, JobCancelled, "")
		}
		told := func() int {
			t.Helper()
			return b.scalar(t, "SELECT COUNT(*) FROM {event} WHERE kind = 'needs approval'")
		}

		if state, err := create(0); state != JobNeedsApproval || err != nil || told() != 1 {
			t.Errorf("a run: it is %q, %v; people were told %d times, want once", state, err, told())
		}
		if _, err := create(0); !errors.Is(err, ErrStarted) || told() != 1 {
			t.Errorf("behind a faster one: got %v, want %v; people were told %d times, want once", err, ErrStarted, told())
		}
		last, err := b.LastJob(t.Context(), p.ID)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.Consent(t.Context(), "ann@%", p.ID, p.Version, Consent{}); err != nil {
			t.Fatal(err)
		}
		if state, err := create(last); state != JobRunning || err != nil || told() != 1 {
			t.Errorf("approved meanwhile: it is %q, %v; people were told %d times, want once", state, err, told())
		}
	})
}

// TestAskedForIsNoScheduledRun: a run that somebody has asked for is not answered by one that was due anyway, and was
// planned before anybody could see the request: it tries rows that others leave alone.
func TestAskedForIsNoScheduledRun(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		p := b.declare(t, b.table(t, "a"))
		create := func(trigger Trigger) error {
			t.Helper()
			now, err := b.Clock(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			last, err := b.LastJob(t.Context(), p.ID)
			if err != nil {
				t.Fatal(err)
			}
			jobs, err := b.CreateRun(t.Context(), NewRun{After: &last, Jobs: []NewJob{
				{Policy: p, RunAt: now, Cutoff: now, CutoffLiteral: "x", Trigger: trigger},
			}})
			if err != nil {
				return err
			}
			return b.FinishJob(t.Context(), jobs[0].ID, jobs[0].Fence, JobFinished, "")
		}

		if err := create(TriggerSchedule); err != nil {
			t.Fatal(err)
		}
		if _, err := b.RequestRun(t.Context(), "ann@%", p.ID); err != nil {
			t.Fatal(err)
		}
		if err := create(TriggerSchedule); !errors.Is(err, ErrStarted) {
			t.Errorf("a scheduled run: got %v, want %v", err, ErrStarted)
		}
		if err := create(TriggerManual); err != nil {
			t.Errorf("the one that was asked for: %v", err)
		}
		if err := create(TriggerSchedule); err != nil {
			t.Errorf("a scheduled run after it: %v", err)
		}
	})
}
