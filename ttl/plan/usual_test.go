package plan

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
)

// TestUsualWithoutRunsThatFoundNothing: the catalog forgets runs that found nothing between two
// others that found nothing, and what is usual stays the same.
func TestUsualWithoutRunsThatFoundNothing(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same runs each time
	nothing := func(r catalog.Run) bool { return r.Finished && r.Deleted == 0 }
	for range 1000 {
		var all, kept []catalog.Run
		at := time.Date(2026, 5, 10, 12, 0, 0, 0, time.UTC)
		for range 1 + r.IntN(60) {
			at = at.Add(time.Duration(1+r.IntN(100)) * time.Minute)
			run := catalog.Run{At: at, Finished: r.IntN(6) > 0}
			if r.IntN(4) == 0 {
				run.Deleted = uint64(r.IntN(1000)) //nolint:gosec // small
			}
			all = append(all, run)
		}

		for i, run := range all {
			if i == 0 || i >= len(all)-2 || !nothing(all[i-1]) || !nothing(run) || !nothing(all[i+1]) {
				kept = append(kept, run)
			}
		}

		slices.Reverse(all)
		slices.Reverse(kept)
		now := at.Add(time.Hour)
		if got, want := UsualOf(kept, now, time.Minute), UsualOf(all, now, time.Minute); got != want {
			t.Fatalf("got %+v, want %+v of %+v", got, want, all)
		}
	}
}
