package catalog

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/ttlproxy/ttlproxy/ddl"
)

func TestOneJobPerTableAndPartition(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		p := b.declare(t, b.table(t, "a"))
		b.job(t, p, 1)
		now, _ := b.Clock(t.Context())

		again := NewJob{Policy: p, Cutoff: now, CutoffLiteral: "x"}
		if _, err := b.CreateJob(t.Context(), again); !errors.Is(err, ErrJobOpen) {
			t.Errorf("got %v, want %v", err, ErrJobOpen)
		}

		again.Partition = "p0"
		if _, err := b.CreateJob(t.Context(), again); err != nil {
			t.Errorf("another partition: %v", err)
		}

		again.Partition, again.Policy.Version = "p1", p.Version+1
		if _, err := b.CreateJob(t.Context(), again); !errors.Is(err, ErrStopped) {
			t.Errorf("a version that is not in force: got %v, want %v", err, ErrStopped)
		}
	})
}

// Whoever approves while the engine is still counting what is due has approved the job that comes
// of it. One that the engine knew of, and found too old, counts for nothing.
func TestApprovalOvertakesTheBrake(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		p := b.declare(t, b.table(t, "a"))
		for _, tt := range []struct {
			name      string
			approve   bool
			partition string
			want      JobState
		}{
			{"not approved", false, "p0", JobNeedsApproval},
			{"approved meanwhile", true, "p1", JobRunning},
			{"approved long ago", false, "p2", JobNeedsApproval},
			{"approved again meanwhile", true, "p3", JobRunning},
		} {
			seen, err := b.PolicyByID(t.Context(), p.ID)
			if err != nil {
				t.Fatal(err)
			}

			if tt.approve {
				if _, err := b.Consent(t.Context(), "dba", p.ID, p.Version, Consent{}); err != nil {
					t.Fatal(err)
				}
			}

			job, err := b.CreateJob(t.Context(), NewJob{
				Policy: seen, Partition: tt.partition, State: JobNeedsApproval, Reason: "too many",
				Cutoff: seen.ChangedAt, CutoffLiteral: "x",
			})
			if err != nil || job.State != tt.want || (job.Reason == "") != tt.approve {
				t.Errorf("%s: got %s %q, %v, want %s", tt.name, job.State, job.Reason, err, tt.want)
			}
		}
	})
}

// The speed of a job is that of the time in which it ran. The server's clock is moved on by moving
// back what the job remembers.
func TestJobsKeepForHowLongTheyWaited(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		p := b.declare(t, b.table(t, "a"))
		job := b.job(t, p, 1)
		later := func(hours int) {
			b.exec(t,
				fmt.Sprintf("UPDATE {job} SET created_at = created_at - INTERVAL %d HOUR, state_at = state_at - "+
					"INTERVAL %[1]d HOUR", hours))
		}
		move := func(next JobState) {
			t.Helper()
			if err := b.SetJobState(t.Context(), job.ID, job.Fence, next, Waits{Why: "because"}); err != nil {
				t.Fatal(err)
			}
		}

		worked := func() time.Duration {
			t.Helper()
			now, err := b.Clock(t.Context())
			if err != nil {
				t.Fatal(err)
			}

			open, err := b.Job(t.Context(), job.ID)
			if err != nil {
				t.Fatal(err)
			}

			return open.Worked(now).Round(time.Hour)
		}

		later(1) // at work
		move(JobPaused)
		later(5)
		if got := worked(); got != time.Hour {
			t.Errorf("paused: got %s of work, want 1h", got)
		}

		move(JobRunning)
		later(2) // at work
		move(JobWaitingWindow)
		later(8)
		move(JobNeedsApproval)
		later(20)

		if _, err := b.Consent(t.Context(), "dba", p.ID, p.Version, Consent{}); err != nil {
			t.Fatal(err)
		}

		later(4) // at work
		if got := worked(); got != 7*time.Hour {
			t.Errorf("at work again: got %s of work, want 7h", got)
		}

		move(JobPaused)
		later(3)
		if err := b.FinishJob(t.Context(), job.ID, job.Fence, JobCancelled, "enough"); err != nil {
			t.Fatal(err)
		}

		ended, err := b.EndedJob(t.Context(), job)
		if err != nil {
			t.Fatal(err)
		}
		if got := ended.Worked().Round(time.Hour); got != 7*time.Hour {
			t.Errorf("ended: got %s of work, want 7h", got)
		}
	})
}

func TestTaskIsClaimedByOneAtATime(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		node := b.node(t)
		b.job(t, b.declare(t, b.table(t, "a")), 8)
		var mu sync.Mutex
		var wg sync.WaitGroup
		got := map[uint64]int{}

		for range 12 {
			wg.Go(func() {
				task, err := b.ClaimTask(t.Context(), Claim{Node: node})
				for range 20 {
					if !errors.Is(err, ErrNoTask) {
						break
					}
					task, err = b.ClaimTask(t.Context(), Claim{Node: node})
				}

				mu.Lock()
				defer mu.Unlock()

				if err == nil {
					got[task.ID]++
				} else if !errors.Is(err, ErrNoTask) {
					t.Error(err)
				}
			})
		}

		wg.Wait()
		if len(got) != 8 {
			t.Errorf("got %d tasks claimed, want 8", len(got))
		}

		for id, n := range got {
			if n != 1 {
				t.Errorf("task %d was claimed %d times", id, n)
			}
		}
	})
}

func TestClaimHonoursTheClusterLimit(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		node := b.node(t)
		b.job(t, b.declare(t, b.table(t, "a")), 3)
		claim := Claim{Node: node, Limit: 2}
		for range 2 {
			if _, err := b.ClaimTask(t.Context(), claim); err != nil {
				t.Fatal(err)
			}
		}

		if _, err := b.ClaimTask(t.Context(), claim); !errors.Is(err, ErrNoTask) {
			t.Errorf("got %v, want %v", err, ErrNoTask)
		}
	})
}

func TestTaskOfADeadNodeIsTakenOverWithANewFence(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		dead, alive := b.node(t), b.node(t)
		job := b.job(t, b.declare(t, b.table(t, "a")), 1)
		first, err := b.ClaimTask(t.Context(), Claim{Node: dead, Connection: 7, Server: "s"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.ClaimTask(t.Context(), Claim{Node: alive}); !errors.Is(err, ErrNoTask) {
			t.Fatalf("while its node lives: got %v, want %v", err, ErrNoTask)
		}

		b.exec(t, "UPDATE {node} SET heartbeat_at = heartbeat_at - INTERVAL 1 MINUTE WHERE id = ?", dead)
		second, err := b.ClaimTask(t.Context(), Claim{Node: alive})
		if err != nil {
			t.Fatal(err)
		}
		if second.ID != first.ID || second.Fence <= first.Fence {
			t.Errorf("got task %d fence %d, want task %d with a fence above %d",
				second.ID, second.Fence, first.ID, first.Fence)
		}
		if err := b.FinishTask(t.Context(), first.ID, first.Fence); !errors.Is(err, ErrFence) {
			t.Errorf("the dead node finishes: got %v, want %v", err, ErrFence)
		}
		if err := b.FinishTask(t.Context(), second.ID, second.Fence); err != nil {
			t.Fatal(err)
		}

		b.exec(t, "UPDATE {node} SET left_at = UTC_TIMESTAMP(6)")
		if _, err := b.ClaimTask(t.Context(), Claim{Node: b.node(t)}); !errors.Is(err, ErrNoTask) {
			t.Errorf("a finished task: got %v, want %v", err, ErrNoTask)
		}
		if err := b.FinishJob(t.Context(), job.ID, job.Fence, JobFinished, ""); err != nil {
			t.Error(err)
		}
	})
}

func TestFinishedJobKeepsItsCounts(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		p := b.declare(t, b.table(t, "a"))
		job := b.job(t, p, 3)
		b.exec(t, "UPDATE {task} SET deleted = 10 + seq, examined = 20, refreshed = 1, failed = 2, skipped = 3")
		b.exec(t, "UPDATE {task} SET state = 'finished' WHERE seq < 2")

		if err := b.FinishJob(t.Context(), job.ID, job.Fence, JobTimedOut, "it took 6h"); err != nil {
			t.Fatal(err)
		}

		got, err := b.EndedJob(t.Context(), job)
		if err != nil {
			t.Fatal(err)
		}

		want := Counts{Examined: 60, Deleted: 33, Refreshed: 3, Failed: 6, Skipped: 9}
		if got.Counts != want || got.Tasks != 3 || got.TasksFinished != 2 || got.State != JobTimedOut ||
			got.Reason != "it took 6h" {
			t.Errorf("got %+v of %d tasks, %d finished, %s %q; want %+v of 3, 2", got.Counts, got.Tasks,
				got.TasksFinished, got.State, got.Reason, want)
		}

		all, err := b.SchedulesOf(t.Context(), job.PolicyID)
		if err != nil || len(all) != 1 || all[0].LastState != JobTimedOut || all[0].LastFinishedAt.IsZero() ||
			all[0].LastJob != job.ID {
			t.Errorf("got schedules %+v, %v", all, err)
		}
		if err := b.FinishJob(t.Context(), job.ID, job.Fence, JobFinished, ""); !errors.Is(err, ErrNoJob) {
			t.Errorf("a second time: got %v, want %v", err, ErrNoJob)
		}
	})
}

// TestWhoWaitsForAPolicyLooksAgain: when another table's policy has been changed a job looks again that waited for
// that, and no job that waits for something else.
func TestWhoWaitsForAPolicyLooksAgain(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		child := b.declare(t, b.table(t, "child"))
		for table, c := range map[string]struct {
			options map[string]string
			waits   Waits
			want    JobState
		}{
			"for_it":           {along, Waits{"in other words", ForPolicy}, JobRunning},
			"for_a_person":     {along, Waits{"PAUSE TTL", ForPerson}, JobPaused},
			"for_a_server":     {along, Waits{Why: "rows would go along, and its own TTL is paused"}, JobPaused},
			"takes_none_of_it": {nil, Waits{"in other words", ForPolicy}, JobPaused},
		} {
			rule := testRule()
			rule.Options = c.options
			p, err := b.Declare(t.Context(), b.client(), Declaration{Table: b.table(t, table), Rule: rule})
			if err != nil {
				t.Fatal(err)
			}
			job := b.job(t, p, 1)
			if err := b.SetJobState(t.Context(), job.ID, job.Fence, JobPaused, c.waits); err != nil {
				t.Fatal(err)
			}
			if job, err = b.Job(t.Context(), job.ID); err != nil || job.Reason != c.waits.Why || job.WaitsFor != c.waits.For {
				t.Errorf("%s: it waits %q (%s), %v", table, job.Reason, job.WaitsFor, err)
			}
			if err := b.Resume(t.Context(), "ann", child.ID); err != nil {
				t.Fatal(err)
			}
			if job, err = b.Job(t.Context(), job.ID); err != nil || job.State != c.want {
				t.Errorf("%s: afterwards it is %s (%s), %v", table, job.State, job.Reason, err)
			}
			if c.want == JobRunning && (job.Reason != "" || job.WaitsFor != "") {
				t.Errorf("%s: it runs, and waits %q (%s)", table, job.Reason, job.WaitsFor)
			}
		}
	})
}

// along are options of a table that takes rows of others along.
var along = map[string]string{ddl.OptionForeignKeys: ddl.ForeignKeysChildren}

func TestJobMovesOnlyAsAllowed(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		node := b.node(t)
		job := b.job(t, b.declare(t, b.table(t, "a")), 1)
		task, err := b.ClaimTask(t.Context(), Claim{Node: node})
		if err != nil {
			t.Fatal(err)
		}
		if err := b.SetJobState(t.Context(), job.ID, job.Fence, JobWaitingWindow, Waits{Why: "opens at 22:00"}); err != nil {
			t.Fatal(err)
		}
		if err := b.ReleaseTask(t.Context(), task.ID, task.Fence, ""); !errors.Is(err, ErrFence) {
			t.Errorf("the worker: got %v, want %v", err, ErrFence)
		}
		if _, err := b.ClaimTask(t.Context(), Claim{Node: node}); !errors.Is(err, ErrNoTask) {
			t.Errorf("claim while it waits: got %v, want %v", err, ErrNoTask)
		}
		if err := b.FinishJob(t.Context(), job.ID, job.Fence, JobFinished, ""); !errors.Is(err, ErrMove) {
			t.Errorf("finish while it waits: got %v, want %v", err, ErrMove)
		}
		if err := b.SetJobState(t.Context(), job.ID, job.Fence+1, JobRunning, Waits{}); !errors.Is(err, ErrFence) {
			t.Errorf("another fence: got %v, want %v", err, ErrFence)
		}
		if err := b.SetJobState(t.Context(), job.ID, job.Fence, JobRunning, Waits{}); err != nil {
			t.Error(err)
		}
		if _, err := b.ClaimTask(t.Context(), Claim{Node: node}); err != nil {
			t.Errorf("claim when it runs again: %v", err)
		}
	})
}

// A batch that holds its locks makes the change wait; a batch that comes later finds nothing to do.
func TestNothingIsDeletedOnceAChangeHasAnswered(t *testing.T) {
	t.Parallel()
	changes := map[string]func(b *bench, t *testing.T, p Policy) error{
		"pause": func(b *bench, t *testing.T, p Policy) error {
			return b.Pause(t.Context(), "dba", p.ID, "", time.Time{})
		},
		"pause all": func(b *bench, t *testing.T, _ Policy) error {
			return b.Pause(t.Context(), "dba", PauseAll, "", time.Time{})
		},
		"cancel": func(b *bench, t *testing.T, p Policy) error {
			_, err := b.Cancel(t.Context(), "dba", p.ID)
			return err
		},
		"remove": func(b *bench, t *testing.T, p Policy) error { return b.Remove(t.Context(), b.client(), p.Table) },
		"disarm": func(b *bench, t *testing.T, p Policy) error {
			return b.Disarm(t.Context(), "dba", p.ID, p.Version, "why")
		},
		"change": func(b *bench, t *testing.T, p Policy) error {
			rule := p.Rule
			rule.Enabled = false
			_, err := b.Declare(t.Context(), b.client(), Declaration{Table: p.Table, Rule: rule})
			return err
		},
	}

	onServers(t, func(t *testing.T, b *bench) {
		node := b.node(t)
		for name, change := range changes {
			p := b.declare(t, b.table(t, fmt.Sprintf("t%d", lastSchema.Add(1))))
			job := b.job(t, p, 1)
			task, err := b.ClaimTask(t.Context(), Claim{Node: node, Jobs: []uint64{job.ID}})
			if err != nil {
				t.Fatal(name, err)
			}

			batch := fmt.Sprintf("UPDATE {task} SET batch = %d WHERE id = %d AND fence = %d AND state = "+
				"'running' AND %s",
				task.Batch+1, task.ID, task.Fence, b.Guard(p.ID, p.Version))
			tx, err := b.db.Begin()
			if err != nil {
				t.Fatal(err)
			}
			if n, err := b.Store.exec(t.Context(), tx, batch); n != 1 || err != nil {
				t.Fatalf("%s: batch before the change: got %d rows, %v", name, n, err)
			}

			answered := make(chan error, 1)
			go func() { answered <- change(b, t, p) }()
			select {
			case err := <-answered:
				t.Fatalf("%s: answered (%v) while a batch was open", name, err)
			case <-time.After(300 * time.Millisecond):
			}

			if err := tx.Commit(); err != nil {
				t.Fatal(err)
			}
			if err := <-answered; err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if n, err := b.Store.exec(t.Context(), b.db, batch); n != 0 || err != nil {
				t.Errorf("%s: batch after the change: got %d rows, %v, want none", name, n, err)
			}

			// Locks on the policy stay on one member of a cluster: the task's own row tells on the
			// others.
			fenced := fmt.Sprintf("UPDATE {task} SET batch = 0 WHERE id = %d AND fence = %d", task.ID, task.Fence)
			if n, err := b.Store.exec(t.Context(), b.db, fenced); n != 0 || err != nil {
				t.Errorf("%s: the task has kept its fence: got %d rows, %v, want none", name, n, err)
			}

			if name == "pause all" {
				if err := b.Resume(t.Context(), "dba", PauseAll); err != nil {
					t.Error(err)
				}
			}
		}
	})
}

func (b *bench) node(t *testing.T) uint64 {
	t.Helper()
	id, err := b.Join(t.Context(), Node{Name: "n", Engine: true, Workers: 4})
	if err != nil {
		t.Fatal(err)
	}
	return id
}
