package status

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ttlproxy/ttlproxy/catalog"
)

// shelf keeps samples, and refuses them while it is told to.
type shelf struct {
	mu      sync.Mutex
	refuse  error
	samples []catalog.Sample
}

func (s *shelf) RecordSample(_ context.Context, m catalog.Sample) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refuse == nil {
		s.samples = append(s.samples, m)
	}
	return s.refuse
}

func (s *shelf) take() []catalog.Sample {
	s.mu.Lock()
	defer s.mu.Unlock()
	taken := s.samples
	s.samples = nil
	return taken
}

func (s *shelf) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuse = err
}

// engineMetrics are the metrics of package ttl that a recorder reads.
func engineMetrics(r prometheus.Registerer) (rows *prometheus.CounterVec, phases *prometheus.CounterVec, signal, threshold *prometheus.GaugeVec) {
	rows = prometheus.NewCounterVec(prometheus.CounterOpts{Name: metricRows}, []string{"schema", "table", "result"})
	phases = prometheus.NewCounterVec(prometheus.CounterOpts{Name: metricPhases}, []string{"phase"})
	signal = prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: metricSignal}, []string{"signal", "source"})
	threshold = prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: metricThreshold}, []string{"signal", "source"})
	r.MustRegister(rows, phases, signal, threshold)
	return rows, phases, signal, threshold
}

func TestRecorderWritesWhatHappenedSinceTheLastSample(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		registry := prometheus.NewRegistry()
		rows, phases, signal, threshold := engineMetrics(registry)
		rows.WithLabelValues("a", "b", "deleted").Add(1000) // before the recorder: not its to tell
		s := &shelf{}
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() {
			if err := NewRecorder(s, registry, func() uint64 { return 7 },
				slog.New(slog.DiscardHandler)).Run(ctx); err != nil {
				t.Error(err)
			}
		})

		synctest.Wait()
		rows.WithLabelValues("a", "b", "deleted").Add(5)
		rows.WithLabelValues("", "other", "examined").Add(9)
		phases.WithLabelValues("delete").Add(1.5)
		for source, v := range map[string]float64{"db2": 0.05, "db3": 0.2, "db4": 0.1} {
			signal.WithLabelValues("latency", source).Set(v)
			threshold.WithLabelValues("latency", source).Set(0.1)
		}
		time.Sleep(SampleInterval)
		synctest.Wait()

		got := s.take()
		if len(got) != 1 {
			t.Fatalf("got %d samples, want 1", len(got))
		}

		m := got[0]
		if m.Node != 7 || m.Length != SampleInterval || m.Tables["a.b"].Deleted != 5 ||
			m.Tables["other"].Examined != 9 ||
			m.Phases["delete"] != 1.5 || m.Signals["latency"] != (catalog.SampleSignal{Value: 0.2, Threshold: 0.1}) {
			t.Errorf("got %+v", m)
		}

		// A catalog that is away makes one sample longer; no row is lost.
		s.fail(errors.New("away"))
		rows.WithLabelValues("a", "b", "deleted").Add(3)
		time.Sleep(SampleInterval)
		synctest.Wait()
		s.fail(nil)
		rows.WithLabelValues("a", "b", "deleted").Add(4)
		cancel()
		wg.Wait()

		got = s.take()
		if len(got) != 1 || got[0].Tables["a.b"].Deleted != 7 || got[0].Length != SampleInterval {
			t.Errorf("after the end: got %+v, want one sample with 7 rows of %v", got, SampleInterval)
		}
	})
}
