package catalog

import "testing"

// TestExpiryQueues: a queue serves one shape of a table, knows the censuses that came to their end, and
// is removed when nobody needs it.
func TestExpiryQueues(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		p := b.declare(t, b.table(t, "a"))
		use := func(shape string, shards int) ExpiryQueue {
			t.Helper()
			q, err := b.UseExpiryQueue(t.Context(), p.ID, "", shape, shards)
			if err != nil {
				t.Fatal(err)
			}
			return q
		}
		fill := func(q ExpiryQueue) {
			t.Helper()
			b.exec(t, "INSERT INTO {expiry_entry} VALUES (?, 0, UTC_TIMESTAMP(6), x'00', '')", q.ID)
		}
		cleared := func(want int) {
			t.Helper()
			if err := b.ClearExpiryQueues(t.Context()); err != nil {
				t.Fatal(err)
			}
			if n := b.scalar(t, "SELECT COUNT(*) FROM {expiry_entry}"); n != want {
				t.Errorf("%d entries are left, want %d", n, want)
			}
		}

		q := use("one", 4)
		fill(q)
		if again := use("one", 2); again != q || q.Shards != 4 || !q.Census.IsZero() {
			t.Errorf("got %+v, then %+v, want the same, of four shards", q, again)
		}
		if more := use("one", 8); more.ID != q.ID || more.Shards != 8 {
			t.Errorf("got %+v, want eight shards of the same queue", more)
		}

		for end, counts := range map[JobState]bool{JobCancelled: false, JobFinished: true} {
			job := b.job(t, p, 1)
			if err := b.BeginCensus(t.Context(), q.ID, job.ID); err != nil {
				t.Fatal(err)
			}
			was := use("one", 4).Census
			if err := b.FinishJob(t.Context(), job.ID, job.Fence, end, "as the test wants"); err != nil {
				t.Fatal(err)
			}

			now := use("one", 4).Census
			if counts && !now.Equal(job.CreatedAt) || !counts && !now.Equal(was) {
				t.Errorf("%s: the last census was at %v and is at %v, and the job began at %v", end, was, now, job.CreatedAt)
			}
			if at, err := b.Census(t.Context(), p.ID); err != nil || !at.Equal(now) {
				t.Errorf("%s: got %v, %v, want %v", end, at, err, now)
			}
		}

		other := use("another", 4)
		fill(other)
		if other.ID == q.ID || !other.Census.IsZero() {
			t.Errorf("got %+v for a table of another shape", other)
		}
		cleared(1)

		b.exec(t, "UPDATE {expiry_queue} SET used_at = used_at - INTERVAL 8 DAY")
		job := b.job(t, p, 1)
		cleared(1) // a job may need it yet
		if err := b.FinishJob(t.Context(), job.ID, job.Fence, JobFinished, ""); err != nil {
			t.Fatal(err)
		}
		cleared(0)

		fill(use("another", 4))
		cleared(1)
		if err := b.Remove(t.Context(), b.client(), p.Table); err != nil {
			t.Fatal(err)
		}
		cleared(0)
		cleared(0)
		if n := b.scalar(t, "SELECT COUNT(*) FROM {expiry_queue}"); n != 0 {
			t.Errorf("%d queues are left", n)
		}
	})
}
