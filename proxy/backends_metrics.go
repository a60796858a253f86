package proxy

import "github.com/prometheus/client_golang/prometheus"

var (
	descState = prometheus.NewDesc("ttlproxy_backend_state",
		"1 for the state that a backend is in: unknown, writable, desynced, read-only or down.",
		[]string{"backend", "state"}, nil)
	descCurrent = prometheus.NewDesc("ttlproxy_backend_current",
		"1 for the backend that takes new sessions.", []string{"backend"}, nil)
	descDrained = prometheus.NewDesc("ttlproxy_backend_drained",
		"1 for a backend that its operator has taken out of service (drain=on).", []string{"backend"}, nil)
)

// Describe says which metrics there are about backends.
func (b *Backends) Describe(to chan<- *prometheus.Desc) {
	to <- descState
	to <- descCurrent
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
}

func gauge(d *prometheus.Desc, on bool, labels ...string) prometheus.Metric {
	v := 0.0
	if on {
		v = 1
	}
	return prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
}
