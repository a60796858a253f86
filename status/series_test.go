package status

import (
	"math"
	"testing"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
)

func noon() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }

func TestSeriesLosesNoRow(t *testing.T) {
	t.Parallel()

	// Two nodes, samples that do not begin with the steps, and one that reaches over a gap.
	var samples []catalog.Sample
	want := 0.0
	for i := range 50 {
		n := float64(100 + i)
		at := noon().Add(-time.Duration(50-i)*time.Minute + 17*time.Second)
		samples = append(samples, catalog.Sample{
			At: at, Node: uint64(i%2 + 1), Length: 90 * time.Second,
			Tables: map[string]catalog.SampleRows{"a.b": {Deleted: n}, "a.c": {Deleted: 1}},
		})
		want += n + 1
	}

	got := drawSeries(stepsFor(1, noon()), samples, nil, "")
	if math.Abs(*got.Totals.Deleted-want) > 1e-6 {
		t.Errorf("got %v rows in total, want %v", *got.Totals.Deleted, want)
	}

	last := samples[len(samples)-1].At
	area := 0.0
	for i, v := range got.Deleted {
		if v != nil {
			area += *v * min(got.Step, last.Sub(time.Unix(got.Times[i], 0)).Seconds())
		}
	}

	if math.Abs(area-want) > 1e-6 {
		t.Errorf("got %v rows under the line, want %v", area, want)
	}
	if one := drawSeries(stepsFor(1, noon()), samples, nil, "a.c"); math.Abs(*one.Totals.Deleted-50) > 1e-6 {
		t.Errorf("one table: got %v rows, want 50", *one.Totals.Deleted)
	}
}

func TestSeriesShowsGapsAsGaps(t *testing.T) {
	t.Parallel()
	at := func(minutes int) catalog.Sample {
		return catalog.Sample{At: noon().Add(-time.Duration(minutes) * time.Minute), Length: time.Minute}
	}
	got := drawSeries(stepsFor(1, noon()), []catalog.Sample{at(40), at(10)}, nil, "")
	if got.Deleted[19] == nil || *got.Deleted[19] != 0 {
		t.Errorf("minute 19, recorded as idle: got %v, want 0", got.Deleted[19])
	}
	if got.Deleted[30] != nil {
		t.Errorf("minute 30, not recorded: got %v, want nothing", *got.Deleted[30])
	}
}

func TestInflowIsSpreadBetweenItsCutoffs(t *testing.T) {
	t.Parallel()
	inflow := catalog.Inflow{
		Table: catalog.Table{Schema: "a", Name: "b"}, From: noon().Add(-2 * time.Hour), To: noon(),
		Rows: 7200,
	}
	got := drawSeries(stepsFor(1, noon()), nil, []catalog.Inflow{inflow}, "a.b")
	for i, v := range got.Due {
		if v == nil || math.Abs(*v-1) > 1e-9 {
			t.Fatalf("step %d: got %v, want 1 row a second", i, v)
		}
	}

	if math.Abs(*got.Totals.Due-3600) > 1e-6 {
		t.Errorf("got %v rows due in the hour, want 3600", *got.Totals.Due)
	}
	if other := drawSeries(stepsFor(1, noon()), nil, []catalog.Inflow{inflow}, "a.c"); other.Totals.Due != nil {
		t.Errorf("another table: got %v rows due, want none known", *other.Totals.Due)
	}
}

func TestSignalsKeepTheHighestReading(t *testing.T) {
	t.Parallel()
	sample := func(node uint64, v float64) catalog.Sample {
		return catalog.Sample{
			At: noon(), Node: node, Length: time.Minute,
			Signals: map[string]catalog.SampleSignal{"latency": {Value: v, Threshold: 50}},
		}
	}
	got := drawSeries(stepsFor(1, noon()), []catalog.Sample{sample(1, 20), sample(2, 70), sample(3, 10)}, nil,
		"").Signals["latency"]
	if last := len(got.Value) - 1; *got.Value[last] != 70 || *got.Threshold[last] != 50 {
		t.Errorf("got %v of %v, want 70 of 50", *got.Value[last], *got.Threshold[last])
	}
}

func TestStepsAreFewAndSteady(t *testing.T) {
	t.Parallel()
	for hours := 1; hours <= seriesHoursMax; hours++ {
		s := stepsFor(hours, noon())
		if s.n > 201 {
			t.Errorf("%d hours: got %d steps, want at most 201", hours, s.n)
		}
		if later := stepsFor(hours, noon().Add(time.Second)); !later.from.Equal(s.from) {
			t.Errorf("%d hours: the steps move with every second", hours)
		}
	}
}

// TestManyInflowsAreDrawnAsEach: together they are what each of them is, step by step.
func TestManyInflowsAreDrawnAsEach(t *testing.T) {
	t.Parallel()
	s := stepsFor(6, noon())
	s.to = s.to.Add(-30 * time.Second) // the last step is shorter
	want, total := make([]float64, s.n), 0.0
	var all []catalog.Inflow

	for i := range 500 {
		from := s.from.Add(time.Duration(i*7919%25_000-2_000) * time.Second)
		f := catalog.Inflow{From: from, To: from.Add(time.Duration(i*104_729%9_000) * time.Second), Rows: uint64(i)}
		all = append(all, f)
		s.spread(f.From, f.To, func(step int, share float64) {
			want[step] += float64(f.Rows) * share / s.width(step)
			total += float64(f.Rows) * share
		})
	}

	got := drawSeries(s, nil, all, "")
	for i, v := range got.Due {
		if v == nil || math.Abs(*v-want[i]) > 1e-9 {
			t.Fatalf("step %d: got %v, want %v", i, v, want[i])
		}
	}
	if math.Abs(*got.Totals.Due-total) > 1e-6 {
		t.Errorf("got %v rows in total, want %v", *got.Totals.Due, total)
	}
}
