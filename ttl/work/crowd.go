package work

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog/tables"
)

// What a run may delete holds for the rows that are in a partition when it goes. They were counted before, since then
// it may have waited for signals, for others, and for the table; and whoever loads old rows meanwhile, by INSERT, puts
// them where everything goes. So a partition of a run that is bounded is asked once more under the lock:
//
//   - Few rows are counted once more.
//   - Where the run has room for twice as many, the size of the file tells that there are not more. The run keeps that
//     room for it.
//   - Otherwise nobody may have written to it since it was counted.
//
// What has more rows now stays for the moment, and is counted anew.

// errWritten: somebody may have put rows into a partition that was counted.
var errWritten = errors.New("the partition may have got more rows since they were counted")

// foresee reads what tells, afterwards, whether a partition has got more rows while it was counted.
func (w *worker) foresee(ctx context.Context, a assignment, d *departure) error {
	d.fileSize = "0"
	if d.believed.Rows > countedAnyway {
		d.fileSize = w.Store.SizeOf(a.job.Table, d.Partition)
	}
	query := "SELECT " + d.fileSize + ", CAST(SYSDATE() AS CHAR)"
	if err := w.session.QueryRowContext(ctx, query).Scan(&d.bytes, &d.still.since); err != nil {
		return fmt.Errorf("read the size of partition %s: %w", d.Partition, err)
	}
	return nil
}

// reserve decides how it will be known that no more rows go than the run has room for.
func (w *worker) reserve(ctx context.Context, a assignment, d *departure) (err error) {
	share := newShare(w.Store, a.task)
	if err := share.all(ctx, d.rows); err != nil {
		return err
	}
	d.reserved = d.rows
	switch {
	case share.allowed == nil:
		return nil
	case !d.About && d.rows <= countedAnyway:
		d.recounted = true
		return nil
	case d.bytes > 0:
		most := max(d.most, beliefFactor*d.rows)
		room, err := share.room(ctx, int(most))
		if err != nil || int64(room) >= most {
			d.reserved, d.filled = most, true
			return err
		}
	}
	if d.About {
		return errTaken // it has to be counted
	}
	d.watched = true
	return w.watch(ctx, d)
}

// watch makes sure, while a partition waits, that nobody has written to it since it was counted. It asks for a row, so
// that the server remembers.
func (w *worker) watch(ctx context.Context, d *departure) (err error) {
	if !d.watched {
		return nil
	}
	if d.still.last == "" {
		d.still.last = d.still.since
	}
	var unwritten, some bool
	query := fmt.Sprintf("SELECT %s, EXISTS (SELECT 1 FROM %s)", d.unwritten(), d.statements.Target.Source())
	if err := w.session.QueryRowContext(ctx, query).Scan(&unwritten, &some); err != nil {
		return fmt.Errorf("look whether anybody writes to partition %s: %w", d.Partition, err)
	}
	if !unwritten {
		return errWritten
	}
	d.still.last, err = w.session.clock(ctx)
	return err
}

func (d *departure) unwritten() string {
	waits := restsFor + 2*int(d.lockWait/time.Second)
	return d.still.unwritten(tables.Target{
		Schema: d.statements.Target.Schema, Table: d.statements.Target.Table, Partition: d.Partition,
	}, waits)
}

// uncrowded are the statements that ask, under the lock, whether the partition has more rows than the run has room for,
// and the condition that it has not.
func (d *departure) uncrowded() (statements []string, condition string) {
	switch {
	case d.recounted:
		return []string{fmt.Sprintf("SET @ttlproxy_more = (SELECT 1 FROM %s LIMIT %d, 1)", d.statements.Target.Source(),
			d.rows)}, " AND @ttlproxy_more IS NULL"
	case d.filled:
		return []string{"SET @ttlproxy_size = " + d.fileSize}, fmt.Sprintf(" AND @ttlproxy_size <= %d", d.bytes)
	case d.watched:
		return []string{"SET @ttlproxy_unwritten = " + d.unwritten()}, " AND @ttlproxy_unwritten"
	default:
		return nil, ""
	}
}
