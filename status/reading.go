package status

import (
	"log/slog"

	dto "github.com/prometheus/client_model/go"

	"github.com/ttlproxy/ttlproxy/catalog"
)

// The metrics that the charts are drawn from. Package ttl moves them.
const (
	metricRows      = "ttlproxy_rows_total"
	metricPhases    = "ttlproxy_worker_phase_seconds_total"
	metricSignal    = "ttlproxy_throttle_signal"
	metricThreshold = "ttlproxy_throttle_threshold"
)

// reading is the values of those metrics at one moment.
type reading struct {
	rows       map[rowsKey]float64
	phases     map[string]float64
	signals    map[signalKey]float64
	thresholds map[signalKey]float64
}

// signalKey is one child of the metrics of signals.
type signalKey struct{ signal, source string }

// rowsKey is one child of the rows metric. Tables past its limit share the name "other", without a
// schema.
type rowsKey struct{ schema, table, result string }

// place is the key of a sample's table.
func (k rowsKey) place() string {
	if k.schema == "" {
		return k.table
	}
	return k.schema + "." + k.table
}

func (r *Recorder) read() reading {
	out := reading{map[rowsKey]float64{}, map[string]float64{}, map[signalKey]float64{}, map[signalKey]float64{}}
	families, err := r.gatherer.Gather()
	if err != nil { // what could be gathered is still there
		r.log.Warn("gather metrics", slog.Any("err", err))
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			out.take(f.GetName(), m)
		}
	}
	return out
}

func (r reading) take(name string, m *dto.Metric) {
	switch name {
	case metricRows:
		r.rows[rowsKey{label(m, "schema"), label(m, "table"), label(m, "result")}] += m.GetCounter().GetValue()
	case metricPhases:
		r.phases[label(m, "phase")] += m.GetCounter().GetValue()
	case metricSignal:
		r.signals[signalKey{label(m, "signal"), label(m, "source")}] = m.GetGauge().GetValue()
	case metricThreshold:
		r.thresholds[signalKey{label(m, "signal"), label(m, "source")}] = m.GetGauge().GetValue()
	}
}

func label(m *dto.Metric, name string) string {
	for _, l := range m.GetLabel() {
		if l.GetName() == name {
			return l.GetValue()
		}
	}
	return ""
}

// since is what happened between two readings of one process.
func (r reading) since(before reading) catalog.Sample {
	var m catalog.Sample
	for key, n := range r.rows {
		if n -= before.rows[key]; n > 0 {
			put(&m.Tables, key.place(), addRows(m.Tables[key.place()], key.result, n))
		}
	}

	for phase, seconds := range r.phases {
		if seconds -= before.phases[phase]; seconds > 0 {
			put(&m.Phases, phase, seconds)
		}
	}

	m.Signals = r.worst()
	return m
}

// worst is what each signal says of the source that is nearest to its threshold, or farthest beyond it.
func (r reading) worst() (worst map[string]catalog.SampleSignal) {
	for key, v := range r.signals {
		now := catalog.SampleSignal{Value: v, Threshold: r.thresholds[key]}
		if most, known := worst[key.signal]; !known || pressure(now) > pressure(most) {
			put(&worst, key.signal, now)
		}
	}
	return worst
}

// pressure is how near a value is to its threshold: not at all to one that is never reached.
func pressure(s catalog.SampleSignal) float64 {
	if s.Threshold <= 0 {
		return 0
	}
	return s.Value / s.Threshold
}

func put[V any](m *map[string]V, key string, v V) {
	if *m == nil {
		*m = map[string]V{}
	}
	(*m)[key] = v
}

func addRows(to catalog.SampleRows, result string, n float64) catalog.SampleRows {
	switch result {
	case "deleted":
		to.Deleted += n
	case "examined":
		to.Examined += n
	case "failed":
		to.Failed += n
	}
	return to
}
