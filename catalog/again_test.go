package catalog

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// TestWhatIsReadAgainIsNeverStale: whatever another proxy or a person writes, the next reading
// shows what one that remembers nothing shows.
func TestWhatIsReadAgainIsNeverStale(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		reader, err := Open(t.Context(), b.db, b.Store.cfg)
		if err != nil {
			t.Fatal(err)
		}

		compare := func(after string) {
			t.Helper()
			policies, err := reader.PoliciesAgain(t.Context())
			if err != nil {
				t.Fatal(err)
			}

			want, err := b.Policies(t.Context())
			if err != nil {
				t.Fatal(err)
			}

			got := make([]Policy, len(policies))
			for i, p := range policies {
				got[i] = *p
			}
			if diff := cmp.Diff(want, got, cmpopts.IgnoreTypes(Terms{})); diff != "" && len(want)+len(got) > 0 {
				t.Fatalf("policies after %s: %s", after, diff)
			}

			b.pastRead.known.Store(nil)
			fresh, err := b.PastAgain(t.Context())
			if err != nil {
				t.Fatal(err)
			}

			past, err := reader.PastAgain(t.Context())
			if diff := cmp.Diff(fresh, past); diff != "" || err != nil {
				t.Fatalf("pasts after %s: %s %v", after, diff, err)
			}
		}

		compare("nothing")

		var policies []Policy
		for i := range 4 {
			policies = append(policies, b.declare(t, b.table(t, fmt.Sprint("t", i))))
			compare("a policy was declared")
		}

		at := time.Date(2026, 5, 10, 12, 0, 0, 0, time.UTC)
		open := map[uint64]Job{}
		mayRun := func(p Policy) bool { return b.inForceNow(t, p) == nil }
		ctx := t.Context()

		steps := map[string]func(p Policy) error{
			"a pause": func(p Policy) error { return b.Pause(ctx, "ann", p.ID, "why", time.Time{}) },
			"a pause that ended": func(p Policy) error {
				return b.Pause(ctx, "bob", p.ID, "", time.Now().Add(-time.Hour))
			},
			"a resume": func(p Policy) error { return b.Resume(ctx, "ann", p.ID) },
			"an approval": func(p Policy) error {
				_, err := b.Consent(ctx, "ann", p.ID, p.Version, Consent{})
				return err
			},
			"a request": func(p Policy) error {
				_, err := b.RequestRun(ctx, "ann", p.ID)
				return err
			},
			"a run": func(p Policy) error {
				if _, runs := open[p.ID]; !runs && mayRun(p) {
					at = at.Add(time.Minute)
					b.run(t, p, at, map[string]ended{"p0": {JobFinished, 3, TriggerSchedule}, "p1": empty})
				}
				return nil
			},
			"a job that began or ended": func(p Policy) error {
				job, runs := open[p.ID]
				if runs {
					delete(open, p.ID)
					return b.FinishJob(ctx, job.ID, job.Fence, JobFailed, "why")
				}
				if mayRun(p) {
					open[p.ID] = b.job(t, p, 1)
				}
				return nil
			},
			"a statement by hand": func(p Policy) error {
				b.exec(t, "UPDATE {policy} SET owner = ? WHERE id = ?", fmt.Sprint(at, rand.Uint32()), p.ID)
				return nil
			},
			"a statement that joins": func(p Policy) error {
				b.exec(t, "UPDATE {schedule} s JOIN {policy} p ON p.id = s.policy_id "+
					"SET s.last_state = ?, p.reason = ? WHERE p.id = ?", fmt.Sprint(rand.Uint32()), fmt.Sprint(rand.Uint32()), p.ID)
				return nil
			},
			"a row that was there": func(p Policy) error {
				b.exec(t, "INSERT INTO {schedule} (policy_id, partition_name) VALUES (?, 'p1')"+
					" ON DUPLICATE KEY UPDATE requested_by = ?", p.ID, fmt.Sprint(rand.Uint32()))
				return nil
			},
			"a row in place of another": func(p Policy) error {
				b.exec(t, "REPLACE INTO {schedule} (policy_id, partition_name, requested_by) VALUES (?, 'p1', ?)", p.ID,
					fmt.Sprint(rand.Uint32()))
				return nil
			},
			"schedules written by hand": func(p Policy) error {
				b.exec(t, "UPDATE {schedule} SET requested_by = ? WHERE policy_id = ?", fmt.Sprint(rand.Uint32()), p.ID)
				return nil
			},
			"partitions that are gone": func(p Policy) error {
				b.exec(t, "DELETE FROM {schedule} WHERE policy_id = ? AND partition_name = 'p1'", p.ID)
				return nil
			},
		}

		names := make([]string, 0, len(steps))
		for name := range steps {
			names = append(names, name)
		}

		for range 120 {
			name, p := names[rand.IntN(len(names))], policies[rand.IntN(len(policies))]
			if err := steps[name](p); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			compare(name)
		}

		for _, p := range policies {
			b.exec(t, "DELETE FROM {job} WHERE policy_id = ?", p.ID)
			b.exec(t, "DELETE FROM {policy} WHERE id = ?", p.ID)
			compare("a policy is gone")
		}
	})
}

// TestMemoryIsBounded in time and in space.
func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var m memory[int]
		read := 0
		ask := func(stamps ...stamp) []int {
			t.Helper()
			values, err := m.again(stamps, func(policies string) (map[uint64]int, error) {
				fresh := map[uint64]int{}
				for policy := range strings.SplitSeq(policies, ", ") {
					id, err := strconv.ParseUint(policy, 10, 64)
					if err != nil {
						t.Fatal(err)
					}
					read++
					fresh[id] = read
				}
				return fresh, nil
			})
			if err != nil {
				t.Fatal(err)
			}
			return values
		}

		one, two := stamp{1, "a", 1}, stamp{2, "a", 1}
		for _, c := range []struct {
			what   string
			stamps []stamp
			pass   time.Duration
			want   []int
		}{
			{"the first time", []stamp{one, two}, 0, []int{1, 2}},
			{"soon after", []stamp{one, two}, againKept - 1, []int{1, 2}},
			{"one has changed", []stamp{one, {2, "b", 1}}, 0, []int{1, 3}},
			{"one is gone", []stamp{{2, "b", 1}}, 0, []int{3}},
			{"too long after", []stamp{one, {2, "b", 1}}, 1, []int{4, 3}},
			{"too many rows", []stamp{one, {2, "c", mostKept}}, 0, []int{4, 5}},
			{"again", []stamp{one, {2, "c", mostKept}}, 0, []int{6, 7}},
		} {
			time.Sleep(c.pass)
			if got := ask(c.stamps...); !slices.Equal(got, c.want) {
				t.Errorf("%s: got %v, want %v", c.what, got, c.want)
			}
		}

		ask(one, two)
		ask(stamp{2, "b", 1})
		if known := *m.known.Load(); len(known) != 1 {
			t.Errorf("got %d policies remembered, want only the one that is left", len(known))
		}
	})
}

// TestLastJobsAreReadOnce: what has been read is not read again, but what has changed is.
func TestLastJobsAreReadOnce(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		p, q := b.declare(t, b.table(t, "a")), b.declare(t, b.table(t, "b"))
		at := time.Date(2026, 5, 10, 12, 0, 0, 0, time.UTC)
		end := func(p Policy, parts ...string) {
			t.Helper()
			at = at.Add(time.Minute)
			ends := map[string]ended{}
			for _, part := range parts {
				ends[part] = ended{JobFinished, 3, TriggerSchedule}
			}
			b.run(t, p, at, ends)
		}

		// told asks, changes the lines behind the store's back, and counts of how many it then
		// tells as they were.
		told := func() (all, asBefore int) {
			t.Helper()
			if _, err := b.lastJobs(t); err != nil {
				t.Fatal(err)
			}

			b.exec(t, "UPDATE {job_history} SET note = 'changed'")
			jobs, err := b.lastJobs(t)
			if err != nil {
				t.Fatal(err)
			}

			for i := range jobs {
				if jobs[i].Note == "" {
					asBefore++
				}
			}

			b.exec(t, "UPDATE {job_history} SET note = ''")
			return len(jobs), asBefore
		}

		if all, _ := told(); all != 0 {
			t.Errorf("before the first job: got %d", all)
		}

		end(p, "p0", "p1")
		end(q, "")
		if all, kept := told(); all != 3 || kept != 3 {
			t.Errorf("at rest: got %d jobs, %d of them from memory; want 3 and 3", all, kept)
		}

		end(p, "p1")
		jobs, err := b.lastJobs(t)
		if err != nil || len(jobs) != 3 ||
			!jobs[0].Cutoff.Equal(at.Add(-time.Hour)) && !jobs[1].Cutoff.Equal(at.Add(-time.Hour)) &&
				!jobs[2].Cutoff.Equal(at.Add(-time.Hour)) {
			t.Errorf("another job has ended: got %+v, %v", jobs, err)
		}

		open := b.job(t, q, 1)
		if all, kept := told(); all != 3 || kept != 3 {
			t.Errorf("while a job is open: got %d jobs, %d of them from memory; want 3 and 3", all, kept)
		}
		if err := b.FinishJob(t.Context(), open.ID, open.Fence, JobFailed, "why"); err != nil {
			t.Fatal(err)
		}

		b.exec(t, "DELETE FROM {job_history} WHERE state = 'failed'")
		if all, _ := told(); all != 2 {
			t.Errorf("a line that is gone: got %d jobs, want 2", all)
		}

		b.pastRead.known.Store(nil)
		b.exec(t, "DELETE FROM {job_history}")
		if all, _ := told(); all != 0 {
			t.Errorf("a history that is gone: got %d", all)
		}
	})
}
