package report

import (
	"runtime"

	"github.com/ttlproxy/ttlproxy/panics"
)

// leastShare is how many lines of a list are worth a processor of their own.
const leastShare = 300

// Share divides the lines of a list among processors: it calls do for ranges of them, side by side
// where they are many, and returns when all have been done.
func Share(lines int, do func(from, to int)) {
	parts := max(1, min(lines/leastShare, runtime.GOMAXPROCS(0)))
	g := panics.New()
	for i := range parts - 1 {
		g.Go(func() error {
			do(i*lines/parts, (i+1)*lines/parts)
			return nil
		})
	}
	do((parts-1)*lines/parts, lines)
	_ = g.Wait()
}
