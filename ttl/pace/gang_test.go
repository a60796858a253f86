package pace

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// TestGangFindsWhatPays runs gangs against servers whose speed stops growing with some number of
// workers.
func TestGangFindsWhatPays(t *testing.T) {
	for best := 1; best <= 8; best++ {
		t.Run(fmt.Sprint(best), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := NewGang()
				g.Limit(8)
				sum, n := 0, 0
				for second := range 300 {
					size := g.Wanted()
					g.Done(int64(1000 * min(size, best)))
					time.Sleep(gangInterval)
					if second >= 60 {
						sum, n = sum+size, n+1
					}
				}

				if mean := float64(sum) / float64(n); mean < float64(best)-0.5 || mean > float64(best)+1.2 {
					t.Errorf("%.1f workers on average, want about %d", mean, best)
				}
			})
		})
	}
}
