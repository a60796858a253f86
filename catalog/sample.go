package catalog

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"
)

// sampleKept is for how long samples are kept, and sampleSwept how many old ones a new one takes
// with it.
const (
	sampleKept  = 48 * time.Hour
	sampleSwept = 20
)

// Sample is what one node did in a short time. The charts of the status page are drawn from them.
type Sample struct {
	At     time.Time // end of that time; the backend's clock sets it
	Node   uint64
	Length time.Duration
	// Tables are the rows of each table the node worked on, by schema.table. Those past a limit are
	// summed under "other".
	Tables map[string]SampleRows
	// Phases are seconds of workers, by what they did.
	Phases map[string]float64
	// Signals are the readings the throttle goes by.
	Signals map[string]SampleSignal
}

// SampleRows are rows counted in one sample.
type SampleRows struct {
	Deleted  float64 `json:"deleted"`
	Examined float64 `json:"examined"`
	Failed   float64 `json:"failed,omitempty"`
}

// SampleSignal is one reading of a throttle signal and the threshold in force then.
type SampleSignal struct {
	Value     float64 `json:"value"`
	Threshold float64 `json:"threshold"`
}

// sampleContent is the part of a sample that is kept as JSON.
type sampleContent struct {
	Tables  map[string]SampleRows   `json:"tables,omitempty"`
	Phases  map[string]float64      `json:"phases,omitempty"`
	Signals map[string]SampleSignal `json:"signals,omitempty"`
}

// RecordSample adds a sample, and removes a few of those nobody looks at any more.
func (s *Store) RecordSample(ctx context.Context, m Sample) error {
	content, err := json.Marshal(sampleContent{m.Tables, m.Phases, m.Signals})
	if err != nil {
		return fmt.Errorf("record sample: %w", err)
	}
	if _, err := s.exec(ctx, s.db, insertSample, m.Node, m.Length.Seconds(), string(content)); err != nil {
		return fmt.Errorf("record sample: %w", err)
	}
	if _, err := s.exec(ctx, s.db, sweepSamples, sampleKept.Microseconds(), sampleSwept); err != nil {
		return fmt.Errorf("remove old samples: %w", err)
	}
	return nil
}

// Samples returns what all nodes recorded since then, in order of time.
func (s *Store) Samples(ctx context.Context, since time.Time) ([]Sample, error) {
	rows, err := s.db.QueryContext(ctx, s.sql(selectSamples), since.UTC())
	if err != nil {
		return nil, fmt.Errorf("read samples: %w", err)
	}
	return collect(rows, scanSample)
}

func scanSample(r *sql.Rows) (m Sample, err error) {
	var seconds float64
	var text []byte
	var content sampleContent
	if err = r.Scan(&m.At, &m.Node, &seconds, &text); err != nil {
		return m, err
	}
	if err = json.Unmarshal(text, &content); err != nil {
		return m, fmt.Errorf("sample of node %d: %w", m.Node, err)
	}
	m.Length = time.Duration(seconds * float64(time.Second))
	m.Tables, m.Phases, m.Signals = content.Tables, content.Phases, content.Signals
	return m, nil
}

// Inflow is rows of one table that became due between the beginnings of two jobs.
type Inflow struct {
	Table     Table
	Partition string
	From, To  time.Time
	Rows      uint64
}

// Inflows returns what jobs have found to become due since then, in no order.
func (s *Store) Inflows(ctx context.Context, since time.Time) ([]Inflow, error) {
	rows, err := s.db.QueryContext(ctx, s.sql(selectInflows), since.UTC(), since.UTC(), since.UTC())
	if err != nil {
		return nil, fmt.Errorf("read inflows: %w", err)
	}
	return collect(rows, func(r *sql.Rows) (f Inflow, err error) {
		return f, r.Scan(&f.Table.Schema, &f.Table.Name, &f.Partition, &f.From, &f.To, &f.Rows)
	})
}
