package ttl

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/ttlproxy/ttlproxy/catalog"
)

// Metrics counts what this node's engine does. What is true of the whole cluster is read from the catalog instead.
type Metrics struct {
	rows  prometheus.Counter
	tasks prometheus.Gauge
	jobs  *prometheus.CounterVec
}

// NewMetrics registers the metrics; a nil registerer keeps them to themselves.
func NewMetrics(r prometheus.Registerer) *Metrics {
	m := &Metrics{
		rows:  prometheus.NewCounter(prometheus.CounterOpts{Name: "ttlproxy_engine_deleted_rows_total", Help: "Rows deleted by this node."}),
		tasks: prometheus.NewGauge(prometheus.GaugeOpts{Name: "ttlproxy_engine_tasks", Help: "Tasks this node works on now."}),
		jobs: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "ttlproxy_engine_jobs_total", Help: "Jobs this node has led to their end, by how they ended.",
		}, []string{"state"}),
	}
	if r != nil {
		r.MustRegister(m.rows, m.tasks, m.jobs)
	}
	return m
}

func (m *Metrics) deleted(rows int64)    { m.rows.Add(float64(rows)) }
func (m *Metrics) working(tasks int)     { m.tasks.Add(float64(tasks)) }
func (m *Metrics) ended(job catalog.Job) { m.jobs.WithLabelValues(string(job.State)).Inc() }
