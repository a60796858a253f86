package ttl

import "time"

// batchSize steers the rows of a block so that one statement takes about its target time. It follows the average time
// of a row, so that one slow moment of the machine is not taken for a slow table.
type batchSize struct {
	rows, least, most int
	target            time.Duration
	perRow            float64 // seconds, moving average
}

const (
	leastRows  = 100
	smoothing  = 0.3
	slowFactor = 4 // a statement this many times over its target counts in full at once
)

func newBatchSize(start, most int, target time.Duration) *batchSize {
	b := &batchSize{rows: start}
	b.limits(most, target)
	return b
}

// took reports that a statement over n rows took d.
func (b *batchSize) took(n int, d time.Duration) {
	if n <= 0 || d <= 0 || n < b.rows/2 {
		return // a short last block says little about longer ones
	}
	now := d.Seconds() / float64(n)
	if b.perRow == 0 || d > slowFactor*b.target {
		b.perRow = now
	} else {
		b.perRow += smoothing * (now - b.perRow)
	}
	fits := int(b.target.Seconds() / b.perRow)
	b.set(min(fits, 2*b.rows))
}

// failed halves the size after a statement that ran into a limit.
func (b *batchSize) failed() { b.set(b.rows / 2) }

// limits applies changed settings.
func (b *batchSize) limits(most int, target time.Duration) {
	b.most, b.target, b.least = most, target, min(leastRows, most)
	b.set(b.rows)
}

func (b *batchSize) set(rows int) { b.rows = min(max(rows, b.least), b.most) }
