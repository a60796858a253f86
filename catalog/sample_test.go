package catalog

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestSamplesComeBackAsRecorded(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		want := Sample{
			Node: 7, Length: time.Minute,
			Tables:  map[string]SampleRows{"shop.session": {Deleted: 12, Examined: 40, Failed: 1}},
			Phases:  map[string]float64{"delete": 1.25},
			Signals: map[string]SampleSignal{"latency": {Value: 0.04, Threshold: 0.05}},
		}
		if err := b.RecordSample(t.Context(), want); err != nil {
			t.Fatal(err)
		}

		now, err := b.Clock(t.Context())
		if err != nil {
			t.Fatal(err)
		}

		got, err := b.Samples(t.Context(), now.Add(-time.Minute))
		if err != nil || len(got) != 1 {
			t.Fatalf("got %d samples, %v, want 1", len(got), err)
		}
		if diff := cmp.Diff(want, got[0], cmpopts.IgnoreFields(Sample{}, "At")); diff != "" {
			t.Error(diff)
		}
		if age := now.Sub(got[0].At); age < 0 || age > 10*time.Second {
			t.Errorf("recorded %v ago, want just now", age)
		}
	})
}

func TestOldSamplesAreSwept(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		b.exec(t, `INSERT INTO {sample} (at, node_id, seconds, content)
 VALUES (UTC_TIMESTAMP(3) - INTERVAL 3 DAY, 1, 60, 'null'), (UTC_TIMESTAMP(3) - INTERVAL 1 DAY, 1, 60, 'null')`)
		if err := b.RecordSample(t.Context(), Sample{Node: 1, Length: time.Minute}); err != nil {
			t.Fatal(err)
		}
		got, err := b.Samples(t.Context(), time.Unix(0, 0))
		if err != nil || len(got) != 2 {
			t.Errorf("got %d samples, %v, want the two of the last two days", len(got), err)
		}
	})
}

func TestInflowsLieBetweenCutoffs(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		now, err := b.Clock(t.Context())
		if err != nil {
			t.Fatal(err)
		}

		now = now.Truncate(time.Second)
		ended := func(job int, cutoff time.Time, inflow any) {
			t.Helper()
			b.exec(t, `INSERT INTO {job_history} (job_id, policy_id, policy_version, schema_name, table_name, state,
 reason,
 cutoff, trigger_kind, plan, plan_reason, tasks, tasks_finished, examined, deleted, refreshed, failed, skipped, inflow,
 note, created_at, finished_at)
 VALUES (?, 1, 1, 'shop', 'session', 'finished', '', ?, 'schedule', 'range', '', 1, 1, 0, 0, 0, 0, 0, ?, '', ?, ?)`,
				job, cutoff, inflow, cutoff, cutoff.Add(time.Second))
		}

		ended(1, now.Add(-3*time.Hour), nil)
		ended(2, now.Add(-2*time.Hour), 3600)
		ended(3, now.Add(-1*time.Hour), 7200)

		got, err := b.Inflows(t.Context(), now.Add(-90*time.Minute))
		if err != nil {
			t.Fatal(err)
		}

		want := []Inflow{{
			Table: Table{"shop", "session"}, From: now.Add(-2 * time.Hour), To: now.Add(-time.Hour),
			Rows: 7200,
		}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}

// TestFinishedJobsKnowWhatBecameDue: only what a job finds after one that finished under the same
// rule has become due meanwhile.
func TestFinishedJobsKnowWhatBecameDue(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		p := b.declare(t, b.table(t, "a"))
		run := func(deleted, skipped int, end JobState) *uint64 {
			t.Helper()
			job := b.job(t, p, 2)
			b.exec(t, `UPDATE {task} SET deleted = ?, skipped = ? WHERE job_id = ? AND seq = 0`, deleted, skipped,
				job.ID)
			if err := b.FinishJob(t.Context(), job.ID, job.Fence, end, "test"); err != nil {
				t.Fatal(err)
			}

			ended, err := b.EndedJob(t.Context(), job)
			if err != nil {
				t.Fatal(err)
			}

			return ended.Inflow
		}
		if got := run(5000, 0, JobFinished); got != nil {
			t.Errorf("the first job: got %d, want not known", *got)
		}
		if got := run(100, 7, JobFinished); got == nil || *got != 107 {
			t.Errorf("after one that finished: got %v, want 107", got)
		}
		if got := run(50, 0, JobCancelled); got != nil {
			t.Errorf("a cancelled job: got %d, want not known", *got)
		}
		if got := run(60, 0, JobFinished); got != nil {
			t.Errorf("after a cancelled one: got %d, want not known", *got)
		}
		if got := run(10, 0, JobFinished); got == nil || *got != 10 {
			t.Errorf("after one that finished again: got %v, want 10", got)
		}
	})
}
