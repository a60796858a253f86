package catalog

import (
	"errors"
	"testing"
	"time"
)

func TestKeepDeletesWhatIsOldAndNothingElse(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		for _, name := range []string{"kept", "vanished"} {
			p := b.declare(t, b.table(t, name))
			for range 2 {
				job := b.job(t, p, 1)
				if err := b.RecordRowError(t.Context(),
					RowError{PolicyID: p.ID, Key: "[1]", Number: 1451, Reason: "a child"}); err != nil {
					t.Fatal(err)
				}
				if err := b.FinishJob(t.Context(), job.ID, job.Fence, JobFinished, ""); err != nil {
					t.Fatal(err)
				}
			}

			if err := b.Disarm(t.Context(), "dba", p.ID, p.Version, "for the test"); err != nil {
				t.Fatal(err)
			}
		}

		b.exec(t, "DROP TABLE user.vanished")
		b.exec(t, "UPDATE {policy} SET state_at = state_at - INTERVAL 91 DAY")
		b.exec(t, "UPDATE {job_history} SET finished_at = finished_at - INTERVAL 91 DAY WHERE job_id % 2 = 0")
		b.exec(t, "UPDATE {event} SET at = at - INTERVAL 91 DAY")
		live, gone := b.node(t), b.node(t)

		lease, err := b.Acquire(t.Context(), "scheduler", live, time.Minute)
		if err != nil {
			t.Fatal(err)
		}

		b.exec(t, "UPDATE {node} SET heartbeat_at = heartbeat_at - INTERVAL 2 DAY WHERE id = ?", gone)
		if _, err := b.Keep(t.Context(), lease, time.Minute, 90); err != nil {
			t.Fatal(err)
		}

		b.wantState(t, "kept", PolicyDisarmed)
		if _, err := b.Policy(t.Context(), b.named("vanished")); !errors.Is(err, ErrNoPolicy) {
			t.Errorf("the policy of a table that is gone: got %v, want %v", err, ErrNoPolicy)
		}

		for query, want := range map[string]int{
			"SELECT COUNT(*) FROM {job_history}": 2,
			"SELECT COUNT(*) FROM {node}":        1,
			"SELECT MAX(id) FROM {node}":         int(live), //nolint:gosec // a small number
			"SELECT COUNT(*) FROM {event}":       1,         // that the old policy went
			"SELECT attempts FROM {row_error}":   2,
		} {
			if got := b.scalar(t, query); got != want {
				t.Errorf("%s: got %d, want %d", query, got, want)
			}
		}
	})
}

// TestRunsThatNobodyReads are forgotten, the first ones of each policy.
func TestRunsThatNobodyReads(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		b.exec(t, "INSERT INTO {run} (policy_id, run_at, deleted, finished, finished_at) "+
			"VALUES (7, '2026-05-10', 1, TRUE, UTC_TIMESTAMP(6)), (8, '2026-05-10', 1, TRUE, UTC_TIMESTAMP(6))")
		for have := 1; have < 2*runsRead; have *= 2 {
			b.exec(t, "INSERT INTO {run} (policy_id, run_at, deleted, finished, finished_at) "+
				"SELECT policy_id, run_at + INTERVAL ? SECOND, 1, TRUE, UTC_TIMESTAMP(6) FROM {run} WHERE policy_id = 7", have)
		}
		last := b.scalar(t, "SELECT TO_SECONDS(MAX(run_at)) FROM {run}")

		lease, err := b.Acquire(t.Context(), "scheduler", b.node(t), time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.Keep(t.Context(), lease, time.Minute, 90); err != nil {
			t.Fatal(err)
		}

		for query, want := range map[string]int{
			"SELECT COUNT(*) FROM {run} WHERE policy_id = 7":                runsRead,
			"SELECT TO_SECONDS(MIN(run_at)) FROM {run} WHERE policy_id = 7": last - runsRead + 1,
			"SELECT COUNT(*) FROM {run} WHERE policy_id = 8":                1,
		} {
			if got := b.scalar(t, query); got != want {
				t.Errorf("%s: got %d, want %d", query, got, want)
			}
		}
	})
}

// TestKeepTakesItsTime: much that is old is removed a part at a time, so that its node has time for its jobs.
func TestKeepTakesItsTime(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		for range 3 {
			gone := b.node(t)
			b.exec(t, "UPDATE {node} SET heartbeat_at = heartbeat_at - INTERVAL 2 DAY WHERE id = ?", gone)
		}
		nodes := b.scalar(t, "SELECT COUNT(*) FROM {node}")
		renew := func() error { return nil }
		done, err := b.drain(t.Context(), time.Now(), renew, deleteOldNodes)
		if left := b.scalar(t, "SELECT COUNT(*) FROM {node}"); done || err != nil || left != nodes {
			t.Errorf("when time is over: got done %t, %v, and %d of %d are left", done, err, left, nodes)
		}
		done, err = b.drain(t.Context(), time.Now().Add(time.Minute), renew, deleteOldNodes)
		if left := b.scalar(t, "SELECT COUNT(*) FROM {node}"); !done || err != nil || left != nodes-3 {
			t.Errorf("with time: got done %t, %v, and %d of %d are left", done, err, left, nodes)
		}
	})
}

// TestKeepForgetsNothingThatCounts: however seldom a table has a run, it is known when the last one was, which rows
// rest, and that a consent was used up.
func TestKeepForgetsNothingThatCounts(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		p := b.declare(t, b.table(t, "t"))
		full := ended{JobFinished, 5, TriggerSchedule}
		now := time.Now().UTC()
		b.run(t, p, now.AddDate(0, 0, -14), map[string]ended{"dropped": full, "p0": full, "p1": full})
		b.run(t, p, now.AddDate(0, 0, -7), map[string]ended{"p0": full, "p1": full})
		b.exec(t, "UPDATE {run} SET finished_at = run_at + INTERVAL 1 MINUTE")
		b.exec(t, "INSERT INTO {run} (policy_id, run_at, deleted, finished, finished_at) "+
			"VALUES (?, '2020-01-01', 1, TRUE, '2020-01-01'), (?, UTC_TIMESTAMP(6), 1, TRUE, UTC_TIMESTAMP(6))",
			p.ID+100, p.ID+200)
		for _, key := range []string{"[1]", "[2]"} {
			e := RowError{PolicyID: p.ID, Key: key, Number: 1451, Reason: "a child"}
			if err := b.RecordRowError(t.Context(), e); err != nil {
				t.Fatal(err)
			}
		}
		b.exec(t, "UPDATE {row_error} SET last_at = last_at - INTERVAL 6 DAY")
		b.exec(t, "UPDATE {row_error} SET next_try_at = last_at WHERE row_key = '[1]'")

		lease, err := b.Acquire(t.Context(), "scheduler", b.node(t), time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.Keep(t.Context(), lease, time.Minute, 5); err != nil {
			t.Fatal(err)
		}

		for query, want := range map[string]int{
			"SELECT COUNT(*) FROM {schedule} WHERE partition_name = 'dropped'":     0,
			"SELECT COUNT(*) FROM {schedule} WHERE partition_name IN ('p0', 'p1')": 2,
			"SELECT COUNT(*) FROM {row_error} WHERE row_key = '[1]'":               0,
			"SELECT COUNT(*) FROM {row_error} WHERE row_key = '[2]'":               1,
		} {
			if got := b.scalar(t, query); got != want {
				t.Errorf("%s: got %d, want %d", query, got, want)
			}
		}
		for policy, want := range map[uint64]int{p.ID: 2, p.ID + 100: 0, p.ID + 200: 1} {
			if got := b.scalar(t, "SELECT COUNT(*) FROM {run} WHERE policy_id = ?", policy); got != want {
				t.Errorf("%d runs of policy %d of %d are left, want %d", got, policy, p.ID, want)
			}
		}
	})
}
