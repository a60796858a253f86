package pace

import "time"

// BatchSize chooses the rows of a block so that a statement takes its target time.
//
// A statement takes a fixed time (the round trip, a turn on a busy processor, the commit) and a
// time per row. Only the latter shrinks with fewer rows: steering by the total would, on a busy
// server, end in tiny blocks that take just as long. So the two are separated by a weighted line
// through the last statements, whose sizes are varied a little for the purpose. Rows get what the
// fixed time leaves of the target, but at least half of it.
type BatchSize struct {
	Rows, least, most int
	target            time.Duration
	line              line
	wide              bool // the last block was a little larger than rows
	slow              int  // rows of a block that there was time for, when one was cut; 0 if none was lately
}

const (
	leastRows = 100
	// variation is how much larger and smaller than wanted blocks are, alternately.
	variation = 0.15
)

// NewBatchSize begins with a size, and keeps below a bound and statements to a time.
func NewBatchSize(start, most int, target time.Duration) *BatchSize {
	b := &BatchSize{Rows: start}
	b.Bound(most, target)
	return b
}

// Next is the size of the next block.
func (b *BatchSize) Next() int {
	factor := 1 - variation
	if b.wide = !b.wide; b.wide {
		factor = 1 + variation
	}
	rows := min(max(int(float64(b.Rows)*factor), b.least), b.most)
	if b.slow > 0 {
		return min(rows, b.slow)
	}
	return rows
}

// Cut reports that a limit left time for so many rows of a block only: the rest was read in vain. The
// next blocks are no longer, and grow slowly.
func (b *BatchSize) Cut(rows int) { b.slow = max(rows, 1) }

// Took reports that a statement over n rows took d, and that the block was not cut.
func (b *BatchSize) Took(n int, d time.Duration) {
	if b.slow > 0 {
		b.slow = min(b.slow+b.slow/4+1, b.most)
	}
	if n <= 0 || d <= 0 || n < b.Rows/2 {
		return // a short last block says little about longer ones
	}
	b.line.add(float64(n), d.Seconds())
	perRow, fixed := b.line.fit()
	target := b.target.Seconds()
	fits := int(max(target-fixed, target/2) / perRow)
	b.Set(min(fits, 2*b.Rows))
}

// Failed halves the size after a statement that exceeded a limit.
func (b *BatchSize) Failed() { b.Set(b.Rows / 2) }

// Bound applies changed settings.
func (b *BatchSize) Bound(most int, target time.Duration) {
	b.most, b.target, b.least = most, target, min(leastRows, most)
	b.Set(b.Rows)
}

// Set changes the size, within its bounds.
func (b *BatchSize) Set(rows int) { b.Rows = min(max(rows, b.least), b.most) }

// line is a least-squares fit of seconds to rows, in which older points count less and less.
type line struct {
	weight, n, d, nn, nd float64
}

const (
	memory = 0.85 // of a point, after each further one
	// flattest bounds the slope to a part of the average, because a few noisy points may say
	// anything.
	flattest = 0.05
)

func (l *line) add(n, d float64) {
	for _, sum := range []*float64{&l.weight, &l.n, &l.d, &l.nn, &l.nd} {
		*sum *= memory
	}
	l.weight++
	l.n += n
	l.d += d
	l.nn += n * n
	l.nd += n * d
}

// fit returns the seconds per row and the seconds that do not depend on rows.
func (l *line) fit() (perRow, fixed float64) {
	average := l.d / l.n
	perRow = average
	if spread := l.weight*l.nn - l.n*l.n; spread > 1e-3*l.n*l.n {
		perRow = (l.weight*l.nd - l.n*l.d) / spread
	}
	perRow = min(max(perRow, flattest*average), average)
	return perRow, (l.d - perRow*l.n) / l.weight
}
