package catalog

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestRunAllowedByNumberStaysOne: of a run that a person has allowed a number of rows, with those before it that did
// not come to an end, this is known whatever is approved or declared after it; the next one is a run like any other.
func TestRunAllowedByNumberStaysOne(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		p := b.declare(t, b.table(t, "a"))
		at := time.Date(2026, 5, 10, 12, 0, 0, 0, time.UTC)
		run := func(ends map[string]ended) {
			t.Helper()
			at = at.Add(time.Hour)
			b.run(t, p, at, ends)
		}
		consent := func(c Consent) {
			t.Helper()
			if _, err := b.Consent(t.Context(), "test", p.ID, p.Version, c); err != nil {
				t.Fatal(err)
			}
		}

		run(map[string]ended{"": {JobFinished, 1, TriggerSchedule}})
		consent(Consent{UpTo: new(uint64(100))})
		run(map[string]ended{"": {JobCancelled, 2, TriggerSchedule}})
		run(map[string]ended{"p0": {JobFinished, 3, TriggerSchedule}, "p1": {JobFinished, 30, TriggerSchedule}})
		run(map[string]ended{"": {JobFinished, 4, TriggerSchedule}})
		consent(Consent{UpTo: new(uint64(200))})
		run(map[string]ended{"": {JobFinished, 5, TriggerSchedule}})
		consent(Consent{})
		run(map[string]ended{"": {JobFinished, 6, TriggerSchedule}})

		rule := p.Rule
		rule.JobInterval = "2h"
		changed, err := b.Declare(t.Context(), b.client(), Declaration{Table: p.Table, Rule: rule})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.CreateRun(t.Context(), NewRun{PassedBy: "test", Jobs: []NewJob{{
			Policy: changed, RunAt: at.Add(time.Hour), Cutoff: at, CutoffLiteral: "x",
		}}}); err != nil {
			t.Fatal(err)
		}

		runs, err := b.Runs(t.Context(), p.ID)
		if err != nil {
			t.Fatal(err)
		}
		got := map[uint64]bool{}
		for _, r := range runs {
			got[r.Deleted] = r.Exactly
		}
		want := map[uint64]bool{1: false, 2: true, 33: true, 4: false, 5: true, 6: false}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}

// TestRunsAllowedBeforeAreKnown: a catalog that did not keep it knows what the latest approval of each policy says.
func TestRunsAllowedBeforeAreKnown(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		p, as := b.declare(t, b.table(t, "a")), b.declare(t, b.table(t, "b"))
		unused := b.declare(t, b.table(t, "c"))
		b.exec(t, "UPDATE {policy} SET approved_version = version, approved_at = '2026-05-10 12:00:00', approved_exactly = "+
			"id <> ?", as.ID)
		for _, policy := range []uint64{p.ID, as.ID, unused.ID} {
			for i, finished := range []bool{true, false, policy != unused.ID, false} {
				b.exec(t, "INSERT INTO {run} (policy_id, run_at, deleted, finished, finished_at) VALUES (?, '2026-05-10 11:30:00' "+
					"+ INTERVAL ? HOUR, 1, ?, '2026-05-10 11:45:00' + INTERVAL ? HOUR)", policy, i, finished, i)
			}
		}

		from := slices.IndexFunc(steps(t), func(m migration) bool { return strings.HasSuffix(m.name, "_exactly") })
		b.exec(t, "ALTER TABLE {run} DROP COLUMN exactly")
		b.exec(t, "DELETE FROM {migration} WHERE number >= ?", steps(t)[from].number)
		if err := b.migrate(t.Context(), steps(t)); err != nil {
			t.Fatal(err)
		}

		for policy, want := range map[uint64][]bool{
			p.ID: {false, true, true, false}, as.ID: make([]bool, 4), unused.ID: {false, true, true, true},
		} {
			runs, err := b.Runs(t.Context(), policy)
			if err != nil {
				t.Fatal(err)
			}
			var got []bool
			for _, r := range slices.Backward(runs) {
				got = append(got, r.Exactly)
			}
			if !slices.Equal(got, want) {
				t.Errorf("policy %d of %d, %d, %d: got %v, want %v", policy, p.ID, as.ID, unused.ID, got, want)
			}
		}
	})
}
