package work

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Shown is what metrics show of a signal and one of its sources.
type Shown struct {
	Signal, Source   string
	Known            bool // Value is, and from which Threshold on it holds back; 0 for never
	Value, Threshold float64
	At               time.Time // when it was found out; zero for what is no signal, but has a limit
	Held             float64   // share of the last hour in which it held deletion back
}

// signals collects what may hold deletion back: what was said last, and nothing that was said only before.
type signals struct {
	value, threshold, age, held *prometheus.Desc

	mu       sync.Mutex
	speeds   []Shown
	readings []Shown
}

func newSignals() *signals {
	desc := func(name, help string) *prometheus.Desc {
		return prometheus.NewDesc("ttlproxy_throttle_"+name, help, []string{"signal", "source"}, nil)
	}
	return &signals{
		value: desc("signal", "What the throttle measures, by signal and source: of each signal the 20 sources that "+
			"are nearest to its threshold."),
		threshold: desc("threshold", "Value from which a signal holds deletes back; 0 for never."),
		age:       desc("signal_age_seconds", "How old what a signal says of a source is."),
		held: desc("held_ratio", "Share of the last hour in which this node saw a signal hold deletes back because of "+
			"a source."),
	}
}

// show replaces what is collected of readings.
func (s *signals) show(readings []Shown) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.readings = readings
}

// showSpeeds replaces what is collected of speeds that have limits.
func (s *signals) showSpeeds(speeds []Shown) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.speeds = speeds
}

// Describe sends what the metrics are.
func (s *signals) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{s.value, s.threshold, s.age, s.held} {
		to <- d
	}
}

// Collect sends what they are now.
func (s *signals) Collect(to chan<- prometheus.Metric) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, all := range [][]Shown{s.speeds, s.readings} {
		for _, r := range all {
			s.collect(to, r)
		}
	}
}

func (s *signals) collect(to chan<- prometheus.Metric, r Shown) {
	send := func(d *prometheus.Desc, v float64) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, r.Signal, r.Source)
	}
	if r.Known {
		send(s.value, r.Value)
		send(s.threshold, r.Threshold)
	}
	if !r.At.IsZero() {
		send(s.age, time.Since(r.At).Seconds())
		send(s.held, r.Held)
	}
}
