package work

import (
	"context"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/ttl/plan"
)

// What a worker spends its time on.
const (
	phaseClaim      = "claim"      // looking for a task
	phasePrepare    = "prepare"    // reading policy and table again
	phaseScan       = "scan"       // finding blocks and keys
	phaseDelete     = "delete"     // deleting, with barrier, checkpoint and commit
	phaseCheckpoint = "checkpoint" // moving the cursor where nothing is due
	phaseWhole      = "whole"      // a partition that leaves its table, with the wait for its locks
	phaseThrottle   = "wait_throttle"
	phaseRetry      = "wait_retry"
)

// metered is a table whose statements are timed and whose rows are counted.
type metered struct {
	table
	metrics *Metrics
	rows    *tableMetrics
}

func (m *metered) blockEnd(ctx context.Context, r plan.Range, rows int) (tables.Key, error) {
	defer m.metrics.spent(phaseScan, time.Now())
	return timed(m, "scan", func() (tables.Key, error) { return m.table.blockEnd(ctx, r, rows) })
}

func (m *metered) blockRows(ctx context.Context, r plan.Range) (int, error) {
	defer m.metrics.spent(phaseScan, time.Now())
	return timed(m, "scan", func() (int, error) { return m.table.blockRows(ctx, r) })
}

func (m *metered) expired(ctx context.Context, r plan.Range) ([]found, error) {
	defer m.metrics.spent(phaseScan, time.Now())
	return timed(m, "scan", func() ([]found, error) { return m.table.expired(ctx, r) })
}

func (m *metered) dueAmong(ctx context.Context, r plan.Range, keys []tables.Key) ([]tables.Key, error) {
	defer m.metrics.spent(phaseScan, time.Now())
	return timed(m, "scan", func() ([]tables.Key, error) { return m.table.dueAmong(ctx, r, keys) })
}

func (m *metered) page(ctx context.Context, r plan.Range, rows int) ([]found, error) {
	defer m.metrics.spent(phaseScan, time.Now())
	return timed(m, "scan", func() ([]found, error) { return m.table.page(ctx, r, rows) })
}

func (m *metered) entries(ctx context.Context, after tables.Key, rows int) ([]plan.Entry, error) {
	defer m.metrics.spent(phaseScan, time.Now())
	return timed(m, "scan", func() ([]plan.Entry, error) { return m.table.entries(ctx, after, rows) })
}

func (m *metered) present(ctx context.Context, keys []tables.Key) ([]sight, error) {
	defer m.metrics.spent(phaseScan, time.Now())
	return timed(m, "scan", func() ([]sight, error) { return m.table.present(ctx, keys) })
}

func (m *metered) dates(ctx context.Context, r plan.Range) ([]sight, error) {
	defer m.metrics.spent(phaseScan, time.Now())
	return timed(m, "scan", func() ([]sight, error) { return m.table.dates(ctx, r) })
}

func (m *metered) record(ctx context.Context, gone, come []plan.Entry, c checkpoint) error {
	defer m.metrics.spent(phaseCheckpoint, time.Now())
	err := m.table.record(ctx, gone, come, c)
	if err == nil {
		m.rows.examined.Add(float64(c.scanned))
		m.rows.skipped.Add(float64(c.skipped))
	}
	return err
}

func (m *metered) deleteRange(ctx context.Context, r plan.Range, c checkpoint) (int64, error) {
	return m.deletes(c, func() (int64, error) { return m.table.deleteRange(ctx, r, c) })
}

func (m *metered) deleteSome(ctx context.Context, rows int, c checkpoint) (int64, error) {
	return m.deletes(c, func() (int64, error) { return m.table.deleteSome(ctx, rows, c) })
}

func (m *metered) deleteKeys(ctx context.Context, keys []tables.Key, c checkpoint) (int64, error) {
	deleted, err := m.deletes(c, func() (int64, error) { return m.table.deleteKeys(ctx, keys, c) })
	if err == nil {
		m.rows.refreshed.Add(float64(c.chosen - deleted))
	}
	return deleted, err
}

func (m *metered) deleteFree(ctx context.Context, keys []tables.Key,
	c checkpoint,
) (deleted int64, locked []tables.Key, err error) {
	deleted, err = m.deletes(c, func() (n int64, err error) {
		n, locked, err = m.table.deleteFree(ctx, keys, c)
		return n, err
	})
	if err != nil {
		return 0, nil, err
	}
	if c.again == 0 {
		m.rows.skipped.Add(float64(len(locked)))
	}
	m.rows.refreshed.Add(float64(max(int64(len(keys)-len(locked))-deleted, 0)))
	return deleted, locked, nil
}

func (m *metered) deleteAlong(ctx context.Context, keys []tables.Key, c checkpoint, b bounds) (taken, error) {
	return m.takes(c, func() (taken, error) { return m.table.deleteAlong(ctx, keys, c, b) })
}

func (m *metered) deleteBelow(ctx context.Context, key tables.Key, c checkpoint, b bounds) (taken, error) {
	return m.takes(c, func() (taken, error) { return m.table.deleteBelow(ctx, key, c, b) })
}

// takes is deletes for a batch that takes rows along.
func (m *metered) takes(c checkpoint, run func() (taken, error)) (done taken, err error) {
	_, err = m.deletes(c, func() (int64, error) {
		done, err = run()
		return done.rows, err
	})
	if err != nil {
		return taken{}, err
	}
	if c.again == 0 {
		m.rows.skipped.Add(float64(len(done.locked)))
	}
	m.rows.refreshed.Add(float64(done.refreshed))
	return done, nil
}

func (m *metered) move(ctx context.Context, c checkpoint) error {
	defer m.metrics.spent(phaseCheckpoint, time.Now())
	err := m.table.move(ctx, c)
	if err == nil {
		m.rows.examined.Add(float64(c.scanned))
		m.rows.skipped.Add(float64(c.skipped))
		m.rows.failed.Add(float64(c.failed))
	}
	return err
}

// deletes times and counts one batch.
func (m *metered) deletes(c checkpoint, run func() (int64, error)) (int64, error) {
	defer m.metrics.spent(phaseDelete, time.Now())
	began := time.Now()
	deleted, err := timed(m, "delete", run)
	if err == nil {
		m.metrics.meter.batch(deleted, c.scanned, time.Since(began))
		m.rows.deleted.Add(float64(deleted))
		m.metrics.deleted.Add(float64(deleted))
		m.rows.examined.Add(float64(c.scanned))
		m.rows.skipped.Add(float64(c.skipped))
		m.metrics.batch.Observe(float64(deleted))
	}
	return deleted, err
}

func timed[T any](m *metered, kind string, run func() (T, error)) (T, error) {
	began := time.Now()
	v, err := run()
	outcome := "ok"
	if err != nil {
		outcome = "error"
	}
	m.metrics.statements.WithLabelValues(kind, outcome).Observe(time.Since(began).Seconds())
	return v, err
}
