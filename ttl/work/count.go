package work

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/ttl/pace"
	"github.com/ttlproxy/ttlproxy/ttl/plan"
)

// countBlock is how many rows are counted at a time at most: whoever alters the table waits for no more.
const countBlock = 20_000

// countSize begins to size the blocks of a table that is counted.
func countSize(target time.Duration) *pace.BatchSize {
	return pace.NewBatchSize(firstBlock, countBlock, target)
}

// count makes sure that everything in a partition goes, and finds out how much that is. Whatever comes later
// belongs in the partition by its bounds, and so has expired, too: rows that are put into it without a look
// give it another id, or are noticed otherwise (watchImports).
func (w *worker) count(ctx context.Context, a assignment, d *departure) (counted bool, err error) {
	defer w.Metrics.spent(phaseScan, time.Now())
	if err := w.foresee(ctx, a, d); err != nil {
		return false, err
	}
	if known, err := w.proven(ctx, a, d); known || err != nil {
		return known, err
	}
	return w.countAll(ctx, d)
}

const (
	// Up to so many rows are counted in any case: that takes no time.
	countedAnyway = countBlock
	// What the server believes may be wrong by this factor, and by the pages that a file has to spare.
	beliefFactor = 2
	beliefBytes  = 8 << 20
)

// proven asks the index on time whether its first and last row go, and so all others. How many they are,
// the server is believed, if its files are no larger than what it believes, and the run may delete far more.
func (w *worker) proven(ctx context.Context, a assignment, d *departure) (bool, error) {
	rows := d.believed.Rows
	if d.statements.TimeIndex == "" || rows <= countedAnyway {
		return false, nil
	}

	if d.bytes == 0 || d.believed.Bytes == 0 || d.bytes > beliefFactor*d.believed.Bytes+beliefBytes {
		return false, nil
	}

	most := mostRows(d.believed, d.bytes)
	room, err := newShare(w.Store, a.task).room(ctx, most)
	if err != nil || room < most {
		return false, err
	}

	var all bool
	if err := w.session.QueryRowContext(ctx, d.statements.Ends()).Scan(&all); err != nil || !all {
		return false, err
	}
	d.rows, d.Due, d.About, d.most = rows, uint64(rows), true, int64(most)
	return true, nil
}

// mostRows is how many rows have to be reckoned with in a file: statistics may be old, and those of which they do not
// know fill it like the others.
func mostRows(believed tables.Partition, file uint64) int {
	fill := max(1, float64(file)/float64(believed.Bytes))
	return int(min(beliefFactor*fill*float64(believed.Rows), math.MaxInt/2))
}

// countAll counts what would go, block by block.
func (w *worker) countAll(ctx context.Context, d *departure) (counted bool, err error) {
	throttle, stays := pace.All{w.Duty.Of(d.policy), w.Rates}, int64(0)
	size := countSize(w.Limits().Target)
	for r, last := (plan.Range{}), false; !last; r.From = r.To {
		if err := throttle.Wait(ctx); err != nil || w.Stopped() != "" {
			return false, err
		}

		size.Bound(countBlock, w.Duty.Target(d.policy, w.Limits().Target))
		began := time.Now()
		var rows, stay int64
		if r.To, rows, stay, err = w.session.countBlock(ctx, d.statements, r, size.Next()); err != nil {
			return false, fmt.Errorf("count partition %s: %w", d.Partition, err)
		}

		d.rows, stays, last = d.rows+rows, stays+stay, r.To == nil
		throttle.Spend(rows, 0)
		throttle.Took(time.Since(began))
		size.Took(int(rows), time.Since(began))
	}

	d.Due = uint64(max(d.rows, 0))
	if stays > 0 {
		return false, w.refusedBy(ctx, d, fmt.Sprintf("rows in it that have not expired, or never do: %d", stays))
	}
	return true, nil
}

// countBlock counts the rows of the block in which a range begins, and those of them that may not go.
func (s *Session) countBlock(
	ctx context.Context, of *plan.Statements, r plan.Range, most int,
) (end tables.Key, rows, stay int64, err error) {
	if end, err = s.blockEnd(ctx, of, r, most); err != nil {
		return nil, 0, 0, err
	}
	query, err := of.Stays(plan.Range{From: r.From, To: end})
	if err == nil {
		err = s.QueryRowContext(ctx, query).Scan(&rows, &stay)
	}
	return end, rows, stay, err
}

// blockEnd is where the next block ends; nil if it is the last.
func (s *Session) blockEnd(
	ctx context.Context, of *plan.Statements, r plan.Range, rows int,
) (tables.Key, error) {
	if of.KeyIndex == "" {
		return nil, nil
	}
	query, err := of.BlockEnd(plan.Range{From: r.From}, rows)
	if err != nil {
		return nil, err
	}
	return plan.QueryKey(ctx, s, query, len(of.Key))
}
