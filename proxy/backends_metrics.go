package proxy

import (
	"slices"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

var (
	descState = prometheus.NewDesc("ttlproxy_backend_state",
		"1 for the state that a backend is in: unknown, writable, desynced, read-only or down.",
		[]string{"backend", "state"}, nil)
	descCurrent = prometheus.NewDesc("ttlproxy_backend_current",
		"1 for the backend that takes new sessions.", []string{"backend"}, nil)
	descDials = prometheus.NewDesc("ttlproxy_backend_dials_total",
		"Attempts to reach a backend for a session, up to its greeting, by how they ended: ok or failed.",
		[]string{"backend", "outcome"}, nil)
	descDialSeconds = prometheus.NewDesc("ttlproxy_backend_dial_seconds_total",
		"Time that these attempts took.", []string{"backend"}, nil)
	descDrained = prometheus.NewDesc("ttlproxy_backend_drained",
		"1 for a backend that its operator has taken out of service (drain=on).", []string{"backend"}, nil)
)

// dials are the attempts to reach a backend.
type dials struct{ ok, failed, nanoseconds atomic.Int64 }

// dialled counts one of them.
func (k *backend) dialled(took time.Duration, err error) {
	k.dials.nanoseconds.Add(int64(took))
	if err != nil {
		k.dials.failed.Add(1)
		return
	}
	k.dials.ok.Add(1)
}

// Describe says which metrics there are about backends.
func (b *Backends) Describe(to chan<- *prometheus.Desc) {
	to <- descState
	to <- descCurrent
	to <- descDials
	to <- descDialSeconds
	to <- descDrained
}

// Collect reports what is known about each backend.
func (b *Backends) Collect(to chan<- prometheus.Metric) {
	for _, h := range b.Health() {
		for s := Unknown; s <= Down; s++ {
			to <- gauge(descState, s == h.State, h.Address, s.String())
		}
		to <- gauge(descCurrent, h.Current, h.Address)
		to <- gauge(descDrained, h.Drained, h.Address)
	}

	b.mu.Lock()
	list := slices.Clone(b.list)
	b.mu.Unlock()
	for _, k := range list {
		count := func(d *prometheus.Desc, v float64, labels ...string) {
			to <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, v, labels...)
		}
		count(descDials, float64(k.dials.ok.Load()), k.String(), "ok")
		count(descDials, float64(k.dials.failed.Load()), k.String(), "failed")
		count(descDialSeconds, time.Duration(k.dials.nanoseconds.Load()).Seconds(), k.String())
	}
}

func gauge(d *prometheus.Desc, on bool, labels ...string) prometheus.Metric {
	v := 0.0
	if on {
		v = 1
	}
	return prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
}
