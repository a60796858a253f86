package ddl

import (
	"strings"
	"testing"
)

// TestLongPacketsOfNothing: a packet of semicolons is read in one go. Where each of them looks at
// all that follow it takes as long as there are pairs of them.
func TestLongPacketsOfNothing(t *testing.T) {
	t.Parallel()
	if got := Parse("ALTER TABLE t TTL = a + INTERVAL 1 DAY"+strings.Repeat(";", 1<<20), Mode{}); len(got) != 1 {
		t.Errorf("got %d statements, want 1", len(got))
	}
	if got := Parse(strings.Repeat(";", 1<<20)+"x", Mode{}); len(got) != 1 || got[0].Action != nil {
		t.Errorf("got %d statements, want one that is refused", len(got))
	}
}
