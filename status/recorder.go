package status

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ttlproxy/ttlproxy/catalog"
)

// SampleInterval is how often a node records what it did.
const SampleInterval = time.Minute

// Samples is where a Recorder writes; *catalog.Store is one.
type Samples interface {
	RecordSample(ctx context.Context, m catalog.Sample) error
}

// Recorder writes what this node does into the catalog, for the charts. It reads the node's own
// metrics, so that charts and Prometheus agree.
type Recorder struct {
	// Every is the time between two samples; SampleInterval when zero.
	Every time.Duration

	store    Samples
	gatherer prometheus.Gatherer
	node     func() uint64
	log      *slog.Logger
	before   reading
	at       time.Time
	peaks    map[string]float64 // of the signals, since then
}

// peekInterval is how often signals are read between samples: a sample shows the highest reading,
// not a chance one.
const peekInterval = 5 * time.Second

// NewRecorder returns a recorder for the node that the function names; 0 while it has no name yet.
func NewRecorder(store Samples, gatherer prometheus.Gatherer, node func() uint64, log *slog.Logger) *Recorder {
	return &Recorder{store: store, gatherer: gatherer, node: node, log: log}
}

// Run records until ctx ends, and then records what has happened since the last sample.
func (r *Recorder) Run(ctx context.Context) error {
	every := r.Every
	if every <= 0 {
		every = SampleInterval
	}

	r.before, r.at = r.read(), time.Now()
	ticker, peeks := time.NewTicker(every), time.NewTicker(min(every, peekInterval))
	defer ticker.Stop()
	defer peeks.Stop()

	for {
		select {
		case <-ticker.C:
			r.record(ctx)
		case <-peeks.C:
			r.peek(r.read())
		case <-ctx.Done():
			end, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
			defer cancel()
			r.record(end)
			return nil
		}
	}
}

// record writes one sample. If that fails, the next one covers the whole time since the last that
// was written.
func (r *Recorder) record(ctx context.Context) {
	now, at := r.read(), time.Now()
	r.peek(now)
	m := now.since(r.before)
	for signal, peak := range r.peaks {
		m.Signals[signal] = catalog.SampleSignal{Value: peak, Threshold: m.Signals[signal].Threshold}
	}

	m.Node, m.Length = r.node(), at.Sub(r.at)
	if m.Node == 0 || m.Length <= 0 {
		return
	}

	if len(m.Tables)+len(m.Phases)+len(m.Signals) > 0 {
		if err := r.store.RecordSample(ctx, m); err != nil {
			r.log.WarnContext(ctx, "charts miss a sample", slog.Any("err", err))
			return
		}
	}

	r.before, r.at, r.peaks = now, at, nil
}

// peek keeps the highest readings of the signals.
func (r *Recorder) peek(now reading) {
	for signal, worst := range now.worst() {
		put(&r.peaks, signal, max(worst.Value, r.peaks[signal]))
	}
}
