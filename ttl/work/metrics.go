package work

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ttlproxy/ttlproxy/catalog"
)

// tablesWithMetrics bounds the tables that have counters of their own; those that come later share
// the name "other".
const tablesWithMetrics = 200

// Metrics counts what workers do.
type Metrics struct {
	// Blocked is for how long partitions that go whole have waited for their tables, and had them.
	Blocked prometheus.Counter

	rows       *prometheus.CounterVec
	statements *prometheus.HistogramVec
	batch      prometheus.Histogram
	phases     *prometheus.CounterVec
	tasks      prometheus.Gauge
	claimed    prometheus.Counter
	deleted    prometheus.Counter
	waited     *prometheus.CounterVec
	signals    *signals

	meter meter

	mu     sync.Mutex
	tables map[catalog.Table]*tableMetrics
	other  *tableMetrics
}

// NewMetrics registers the metrics; a nil registerer keeps them to themselves.
func NewMetrics(r prometheus.Registerer) *Metrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "ttlproxy_" + name, Help: help}, labels)
	}
	oneCounter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: "ttlproxy_" + name, Help: help})
	}
	oneGauge := func(name, help string) prometheus.Gauge {
		return prometheus.NewGauge(prometheus.GaugeOpts{Name: "ttlproxy_" + name, Help: help})
	}
	m := &Metrics{
		rows: counter("rows_total",
			"Rows this node examined, deleted, found refreshed, could not delete (failed), or left because they "+
				"were locked (skipped).",
			"schema", "table", "result"),
		statements: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "ttlproxy_statement_seconds",
			Help: "Time taken by the engine's statements on user tables; a delete includes its barrier, " +
				"checkpoint and commit.",
			Buckets: prometheus.ExponentialBuckets(0.001, 2, 14),
		}, []string{"kind", "outcome"}),
		batch: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "ttlproxy_batch_rows", Help: "Rows deleted by one batch.",
			Buckets: prometheus.ExponentialBuckets(1, 4, 9),
		}),
		phases: counter("worker_phase_seconds_total", "Time of this node's workers, by what they did.", "phase"),
		tasks:  oneGauge("workers_busy", "Workers of this node that are working on a task."),
		claimed: oneCounter("tasks_claimed_total", "Tasks this node has claimed, counted again for each slice of "+
			"time."),
		deleted: oneCounter("deleted_rows_total", "Rows this node has deleted, of all tables together."),
		waited: counter("throttle_wait_seconds_total", "Time workers waited because of a limit, by its signal.",
			"signal"),
		Blocked: oneCounter("partition_lock_seconds_total", "Time for which partitions that leave their tables whole "+
			"waited for the tables, and others perhaps behind them, and then had them."),
		signals: newSignals(),
		tables:  map[catalog.Table]*tableMetrics{},
	}

	m.other = m.newTable("", "other")
	if r != nil {
		r.MustRegister(m.rows, m.statements, m.batch, m.phases, m.tasks, m.claimed, m.deleted, m.waited, m.Blocked,
			m.signals)
	}

	return m
}

// tableMetrics are the counters of one table's rows.
type tableMetrics struct {
	examined, deleted, refreshed, failed, skipped prometheus.Counter
}

func (m *Metrics) newTable(schema, table string) *tableMetrics {
	of := func(result string) prometheus.Counter { return m.rows.WithLabelValues(schema, table, result) }
	return &tableMetrics{of("examined"), of("deleted"), of("refreshed"), of("failed"), of("skipped")}
}

// of returns the counters of a table.
func (m *Metrics) of(t catalog.Table) *tableMetrics {
	m.mu.Lock()
	defer m.mu.Unlock()
	counters := m.tables[t]
	if counters == nil {
		if len(m.tables) >= tablesWithMetrics {
			return m.other
		}
		counters = m.newTable(t.Schema, t.Name)
		m.tables[t] = counters
	}
	return counters
}

// spent adds the time since began to a phase.
func (m *Metrics) spent(phase string, began time.Time) {
	m.phases.WithLabelValues(phase).Add(time.Since(began).Seconds())
}

// Waited adds time that workers waited for a signal of a throttle.
func (m *Metrics) Waited(signal string, d time.Duration) {
	m.waited.WithLabelValues(signal).Add(d.Seconds())
	m.phases.WithLabelValues(phaseThrottle).Add(d.Seconds())
}

// Signals shows what signals say, and nothing any more of those that it is not told of.
func (m *Metrics) Signals(now []Shown) { m.signals.show(now) }

func (m *Metrics) working(tasks int) { m.tasks.Add(float64(tasks)) }
