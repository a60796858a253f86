package model

import (
	"context"
	"slices"
	"sync"
	"time"
)

// tries is how often a shorter script is played before it counts as harmless: some faults need
// luck.
const tries = 2

// shrink leaves steps out of a script as long as it still goes wrong, and returns what is left with
// what was wrong then. It ends when no step can be left out, or when its time is up.
func (h *house) shrink(ctx context.Context, s script, wrong []string, atMost time.Duration) (script, []string) {
	ctx, cancel := context.WithTimeout(ctx, atMost)
	defer cancel()

	for size := max(1, len(s.steps)/2); ctx.Err() == nil; {
		shorter, why := h.firstWrong(ctx, without(s, size))
		switch {
		case why != nil:
			s, wrong = shorter, why
			size = max(1, min(size, len(s.steps)/2))
		case size > 1:
			size /= 2
		default:
			return s, wrong
		}
	}

	return s, wrong
}

// without makes the scripts that lack one run of steps of a size each.
func without(s script, size int) []script {
	var shorter []script
	for at := 0; at < len(s.steps); at += size {
		c := s
		c.steps = slices.Concat(s.steps[:at], s.steps[min(at+size, len(s.steps)):])
		shorter = append(shorter, c)
	}
	return shorter
}

// firstWrong plays scripts side by side and returns the first of them that goes wrong.
func (h *house) firstWrong(ctx context.Context, scripts []script) (script, []string) {
	wrongs := make([][]string, len(scripts))
	for begin := 0; begin < len(scripts); begin += lanes {
		var all sync.WaitGroup
		end := min(begin+lanes, len(scripts))
		for i := begin; i < end; i++ {
			all.Go(func() {
				for range tries {
					if wrong, err := h.play(ctx, scripts[i]); err == nil && len(wrong) > 0 {
						wrongs[i] = wrong
						return
					}
				}
			})
		}

		all.Wait()
		for i := begin; i < end; i++ {
			if wrongs[i] != nil {
				return scripts[i], wrongs[i]
			}
		}
	}

	return script{}, nil
}
