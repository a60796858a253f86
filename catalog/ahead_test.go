package catalog

import "testing"

// TestDeparturesAreSettledByTheirOwnPolicy: partitions that were made ahead belong to no job. Whoever
// settles what has become of one policy's table, or of a job's, leaves those of others alone: their
// schedules are not locked.
func TestDeparturesAreSettledByTheirOwnPolicy(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		mine, others := b.declare(t, b.table(t, "a")), b.declare(t, b.table(t, "b"))
		if _, err := b.ReadyAhead(t.Context(), others, 0); err != nil {
			t.Fatal(err)
		}
		b.exec(t, "UPDATE {departure} SET state = 'taken', reason = '{}'") // as a packet leaves it
		settled := func(p Policy) int {
			t.Helper()
			if err := b.SettleDepartures(t.Context(), p.ID); err != nil {
				t.Fatal(err)
			}
			return b.scalar(t, "SELECT COUNT(*) FROM {departure} WHERE state = 'settled'")
		}

		if n := settled(mine); n != 0 {
			t.Error("what was made for another policy's table was settled without that policy's schedule")
		}
		job := b.job(t, mine, 1)
		if err := b.FinishJob(t.Context(), job.ID, job.Fence, JobFinished, ""); err != nil {
			t.Fatal(err)
		}
		if n := b.scalar(t, "SELECT COUNT(*) FROM {departure} WHERE state = 'settled'"); n != 0 {
			t.Error("it was settled by the end of another policy's job")
		}
		if n := settled(others); n != 1 {
			t.Error("its own policy does not settle it")
		}
	})
}
