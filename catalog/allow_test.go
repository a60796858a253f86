package catalog

import (
	"errors"
	"math/rand/v2"
	"testing"
)

// TestTasksShareTheBound lets the tasks of a run delete and ask in any order: what they have
// deleted and may still delete is never more than the run's bound, the server refuses what goes
// beyond, and the run comes to its bound to the row.
func TestTasksShareTheBound(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		const bound, tasks = 1000, 4
		p := b.declare(t, b.table(t, "a"))
		job := b.begin(t, NewJob{Policy: p, Tasks: make([]TaskRange, tasks), Bound: new(uint64(bound))})

		all, err := b.TasksOf(t.Context(), job.ID)
		if err != nil {
			t.Fatal(err)
		}

		rnd := rand.New(rand.NewPCG(3, 7))
		deleted := uint64(0)
		for range 200 {
			task := all[rnd.IntN(tasks)]
			want := uint64(rnd.IntN(150) + 1)
			allowed, err := b.Allow(t.Context(), task, want)
			if err != nil || allowed == nil {
				t.Fatalf("got %v, %v", allowed, err)
			}

			task, err = b.Task(t.Context(), task.ID)
			if err != nil {
				t.Fatal(err)
			}

			room := *allowed - task.Counts.Deleted
			if room < min(want, bound-deleted) {
				t.Errorf("got room for %d rows, want %d: %d of %d are deleted", room, want, deleted, bound)
			}
			if _, err := b.db.ExecContext(t.Context(), b.sql("UPDATE {task} SET deleted = allowed + 1 WHERE id = ?"),
				task.ID); err == nil {
				t.Fatal("the server lets a task delete more than it may")
			}

			n := uint64(rnd.IntN(int(min(room, want)) + 1))
			b.exec(t, "UPDATE {task} SET deleted = deleted + ? WHERE id = ?", n, task.ID)
			deleted += n

			var total uint64
			if err := b.db.QueryRowContext(t.Context(),
				b.sql("SELECT SUM(GREATEST(deleted, allowed)) FROM {task}")).Scan(&total); err != nil || total > bound {
				t.Fatalf("tasks have deleted and may delete %d rows together, %v, want at most %d", total, err, bound)
			}
		}

		if deleted != bound {
			t.Errorf("%d rows are deleted in the end, want %d", deleted, bound)
		}

		stale := all[0]
		stale.Fence++
		if _, err := b.Allow(t.Context(), stale, 1); !errors.Is(err, ErrFence) {
			t.Errorf("a task that belongs to somebody else: got %v, want %v", err, ErrFence)
		}
	})
}

// TestConsentBindsTheOpenRun: who names another number while a run is going on changes that run, whose tasks may delete
// nothing more before they have asked.
func TestConsentBindsTheOpenRun(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		p := b.declare(t, b.table(t, "a"))
		job := b.begin(t, NewJob{Policy: p, Tasks: make([]TaskRange, 1), Bound: new(uint64(100))})
		b.exec(t, "UPDATE {task} SET deleted = 30, allowed = 100")

		for _, c := range []struct {
			consent Consent
			bound   uint64
		}{
			{Consent{UpTo: new(uint64(7))}, 37},
			{Consent{UpTo: new(uint64(500))}, 530},
			{Consent{UpTo: new(uint64(1<<64 - 1))}, 1<<64 - 1},
			{Consent{UpTo: new(uint64(0))}, 30},
			{Consent{Seen: new(uint64(1000))}, 1231},
			{Consent{Seen: new(uint64(10))}, 1231}, // who names no number takes nothing away
			{Consent{}, 1231},
		} {
			if _, err := b.Consent(t.Context(), "dba", p.ID, p.Version, c.consent); err != nil {
				t.Fatal(err)
			}
			job, err := b.Job(t.Context(), job.ID)
			if err != nil || job.Bound == nil || *job.Bound != c.bound || job.State != JobRunning {
				t.Errorf("after %+v the job is %+v, %v; want the bound %d", c.consent, job, err, c.bound)
			}
			if _, err := b.db.ExecContext(t.Context(), b.sql("UPDATE {task} SET deleted = deleted + 1")); err == nil {
				t.Errorf("after %+v a task deletes before it has asked", c.consent)
			}
		}
	})
}

// TestConsentExtendsTheRun approves a waiting job, with and without a number.
func TestConsentExtendsTheRun(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		p := b.declare(t, b.table(t, "a"))
		job := b.begin(t, NewJob{
			Policy: p, Tasks: make([]TaskRange, 1), State: JobNeedsApproval,
			Reason: "too many", Bound: new(uint64(100)), Facts: JobFacts{EstimatedRows: new(uint64(5000))},
		})

		want := func(rows *uint64, err error, wantRows, bound uint64) {
			t.Helper()
			now, readErr := b.Job(t.Context(), job.ID)
			if err != nil || readErr != nil || rows == nil || *rows != wantRows || now.Bound == nil ||
				*now.Bound != bound || now.State != JobRunning {
				t.Errorf("got %v, %v, %+v, %v, want %d rows and bound %d", rows, err, now, readErr, wantRows, bound)
			}
		}

		if _, err := b.Consent(t.Context(), "dba", p.ID, p.Version+1, Consent{}); !errors.Is(err, ErrPolicyChanged) {
			t.Errorf("another version: got %v, want %v", err, ErrPolicyChanged)
		}

		rows, err := b.Consent(t.Context(), "dba", p.ID, p.Version,
			Consent{UpTo: new(uint64(300)), Reason: "old orders"})
		want(rows, err, 300, 300)
		b.exec(t, "UPDATE {task} SET allowed = 300, deleted = 300")
		if err := b.SetJobState(t.Context(), job.ID, job.Fence, JobNeedsApproval, Waits{Why: "more are due"}); err != nil {
			t.Fatal(err)
		}

		rows, err = b.Consent(t.Context(), "dba", p.ID, p.Version, Consent{})
		want(rows, err, 5641, 5941) // 1.2 times the 4700 that are left
		events, err := b.Events(t.Context(), Filter{})
		if err != nil || events[1].Text != "version 1, up to 300 rows: old orders" || events[1].Actor != "dba" {
			t.Errorf("got events %+v, %v", events, err)
		}
	})
}

// TestRecountAfterAnAnswer: what a node has counted since it read a job changes nothing once somebody has approved.
func TestRecountAfterAnAnswer(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		p := b.declare(t, b.table(t, "a"))
		job := b.begin(t, NewJob{
			Policy: p, Tasks: make([]TaskRange, 1), State: JobNeedsApproval, Reason: "10 are due",
			Facts: JobFacts{EstimatedRows: new(uint64(10))},
		})
		if err := b.Recount(t.Context(), job, 20, "20 are due"); err != nil {
			t.Fatal(err)
		}
		now, err := b.Job(t.Context(), job.ID)
		if err != nil || *now.EstimatedRows != 20 || now.Reason != "20 are due" || now.State != JobNeedsApproval {
			t.Errorf("got %+v, %v, want what was counted", now, err)
		}

		if rows, err := b.Consent(t.Context(), "dba", p.ID, p.Version, Consent{}); err != nil || *rows != 25 {
			t.Errorf("got %v, %v, want 25 rows: a fifth more than was shown", rows, err)
		}
		if err := b.Recount(t.Context(), now, 30, "30 are due"); !errors.Is(err, ErrMove) {
			t.Errorf("got %v, want %v", err, ErrMove)
		}
		if now, err = b.Job(t.Context(), job.ID); err != nil || *now.EstimatedRows != 20 || now.Reason != "" {
			t.Errorf("got %+v, %v, want the job as it was approved", now, err)
		}
	})
}
