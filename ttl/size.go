package ttl

import "time"

// batchSize steers the rows of a block so that one statement takes about its target time. It grows by at most half
// and shrinks at once, because a slow statement is in somebody's way.
type batchSize struct {
	rows, least, most int
	target            time.Duration
}

func newBatchSize(start, most int, target time.Duration) *batchSize {
	least := min(50, most)
	return &batchSize{rows: min(max(start, least), most), least: least, most: most, target: target}
}

// took reports that a statement over n rows took d.
func (b *batchSize) took(n int, d time.Duration) {
	if n <= 0 || d <= 0 {
		return
	}
	fits := int(float64(n) * float64(b.target) / float64(d))
	switch {
	case fits < b.rows:
		b.rows = fits
	case n >= b.rows: // a short last block says nothing about longer ones
		b.rows = min(fits, b.rows+b.rows/2)
	}
	b.rows = min(max(b.rows, b.least), b.most)
}

// failed halves the size after a statement that ran into a limit.
func (b *batchSize) failed() { b.rows = max(b.rows/2, b.least) }

// limits applies changed settings.
func (b *batchSize) limits(most int, target time.Duration) {
	b.most, b.target = most, target
	b.least = min(50, most)
	b.rows = min(max(b.rows, b.least), b.most)
}
