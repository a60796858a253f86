package ttl

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/ttl/work"
)

// Metrics counts what this node's engine does. What concerns the whole cluster is read from the
// catalog instead.
type Metrics struct {
	work *work.Metrics

	workers prometheus.Gauge
	passes  prometheus.Counter
	leader  prometheus.Gauge
	lost    *prometheus.CounterVec
	missed  prometheus.Counter
	share   prometheus.Gauge
	started *prometheus.CounterVec
	ended   *prometheus.CounterVec
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
		work:    work.NewMetrics(r),
		workers: oneGauge("workers", "Workers that the settings allow this node."),
		passes: oneCounter("passes_total",
			"Passes over a table or partition that this node has completed: jobs that finished."),
		leader: oneGauge("leader",
			"1 while this node has the scheduler's lease: it starts the jobs of all nodes."),
		lost: counter("leases_lost_total",
			"Leases that were gone when this node wanted to continue: taken over by another node, or ended by a "+
				"change.",
			"lease"),
		missed: oneCounter("heartbeats_missed_total",
			"Heartbeats of this node that the catalog did not answer. After two, others may take over its work."),
		share: oneGauge("throttle_share",
			"Share of its full speed at which this node may delete: less than 1 while a signal holds it back."),
		started: counter("jobs_started_total", "Jobs this node has started, by what triggered them.", "trigger"),
		ended:   counter("jobs_ended_total", "Jobs this node has ended, by how they ended.", "state"),
	}

	for _, lease := range []string{leaseScheduler, leaseJob, leaseTask} {
		m.lost.WithLabelValues(lease)
	}

	if r != nil {
		r.MustRegister(m.workers, m.passes, m.leader, m.lost, m.missed, m.share, m.started, m.ended)
	}

	return m
}

func (m *Metrics) jobStarted(job catalog.Job) { m.started.WithLabelValues(string(job.Trigger)).Inc() }

func (m *Metrics) jobEnded(job catalog.Job) {
	m.ended.WithLabelValues(string(job.State)).Inc()
	if job.State == catalog.JobFinished {
		m.passes.Inc()
	}
}

// The leases that a node may lose.
const (
	leaseScheduler = "scheduler"
	leaseJob       = "job"
	leaseTask      = "task"
)

func (m *Metrics) leaseLost(lease string) { m.lost.WithLabelValues(lease).Inc() }

// leads shows whether this node has the scheduler's lease.
func (m *Metrics) leads(now bool) {
	m.leader.Set(0)
	if now {
		m.leader.Set(1)
	}
}
