package catalog

import (
	"slices"
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

// TestInflowsLieBetweenJobs, whatever time the rows were kept for.
func TestInflowsLieBetweenJobs(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		now, err := b.Clock(t.Context())
		if err != nil {
			t.Fatal(err)
		}

		p := b.declare(t, b.table(t, "a"))
		var began []time.Time
		begin := func(inflow uint64) Job {
			t.Helper()
			job, err := b.CreateJob(t.Context(), NewJob{
				Policy: p, Partition: "p", RunAt: now.Add(time.Duration(len(began)) * time.Minute),
				Cutoff: now.AddDate(0, 0, -30), CutoffLiteral: "x", Trigger: TriggerSchedule,
				Tasks: make([]TaskRange, 1), Facts: JobFacts{Inflow: &inflow},
			})
			if err != nil {
				t.Fatal(err)
			}
			began = append(began, job.CreatedAt)
			return job
		}

		for _, inflow := range []uint64{1, 2, 0, 0, 3} {
			job := begin(inflow)
			if err := b.FinishJob(t.Context(), job.ID, job.Fence, JobFinished, ""); err != nil {
				t.Fatal(err)
			}
		}

		begin(4)

		// The two that found nothing share a line.
		want := []Inflow{
			{p.Table, "p", began[0], began[1], 2},
			{p.Table, "p", began[1], began[3], 0},
			{p.Table, "p", began[3], began[4], 3},
			{p.Table, "p", began[4], began[5], 4},
		}

		for since, want := range map[time.Time][]Inflow{now.Add(-time.Hour): want, began[4]: want[2:]} {
			got, err := b.Inflows(t.Context(), since)
			slices.SortFunc(got, func(a, b Inflow) int { return a.To.Compare(b.To) })
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Errorf("since %v: %v %s", since, err, diff)
			}
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
