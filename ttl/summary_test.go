package ttl

import (
	"slices"
	"strings"
	"testing"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/ttl/plan"
)

func TestAftermath(t *testing.T) {
	t.Parallel()
	a := aftermath{table: "`shop`.`orders`", deleted: 300_000, before: 1_000_000, bytes: 2 << 30, history: 123_456}
	statistics := "about 30 % of the rows are gone: ANALYZE TABLE `shop`.`orders` refreshes the optimizer's statistics"
	space := "about 614 MiB of pages will be free for new rows; OPTIMIZE TABLE `shop`.`orders` would return them " +
		"to the disk"

	want := []string{
		statistics,
		"InnoDB's history list has 123456 entries: statements have to read past deleted rows until purge has " +
			"removed them", space,
	}
	if got := a.lines(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}

	for _, few := range []int64{-1, 0, 9_999} { // -1: it cannot be read
		a.history = few
		if got := a.lines(); !slices.Equal(got, []string{statistics, space}) {
			t.Errorf("with a history list of %d: got %q", few, got)
		}
	}
}

// TestAftermathOfPartitions: a partition that went whole leaves nothing to do, and one that went by rows says that these
// were not all of the table's.
func TestAftermathOfPartitions(t *testing.T) {
	t.Parallel()
	job := catalog.Job{Partition: "p1", Counts: catalog.Counts{Deleted: 30_000}}
	job.TableRows = new(uint64(30_000))
	for way, want := range map[plan.Way]bool{plan.GoWhole: false, plan.WalkRange: true} {
		job.Plan = string(way)
		if got := big(job); got != want {
			t.Errorf("by %s something is left to do: %t, want %t", way, got, want)
		}
	}

	a := aftermath{table: "`shop`.`orders`", of: partitionOf(job), deleted: 30_000, before: 30_000, history: -1}
	if got, want := a.lines()[0], "about 100 % of the rows of partition p1 are gone: "; !strings.HasPrefix(got, want) {
		t.Errorf("got %q, want it to begin with %q", got, want)
	}
}
