package ttl

import (
	"slices"
	"testing"
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
