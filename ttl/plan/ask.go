package plan

import (
	"context"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
)

// Source is what a preview wants to know from the catalog; *catalog.Store is one.
type Source interface {
	Values(ctx context.Context) (catalog.Values, error)
	Clock(ctx context.Context) (time.Time, error)
	History(ctx context.Context, f catalog.Filter) ([]catalog.EndedJob, error)
}

// Ask previews what a rule would do to a table now, under the settings in force.
func Ask(ctx context.Context, q Querier, from Source, table catalog.Table, rule catalog.Rule) (*Preview, error) {
	return ask(ctx, q, from, Question{Table: table, Rule: rule})
}

// Glance is Ask for somebody who cannot wait: what is due now, without days to come and without rows.
func Glance(ctx context.Context, q Querier, from Source, table catalog.Table, rule catalog.Rule) (*Preview, error) {
	return ask(ctx, q, from, Question{Table: table, Rule: rule, Brief: true})
}

func ask(ctx context.Context, q Querier, from Source, question Question) (*Preview, error) {
	values, err := from.Values(ctx)
	if err != nil {
		return nil, err
	}
	now, err := from.Clock(ctx)
	if err != nil {
		return nil, err
	}
	speed, err := speedOf(ctx, from, question.Table, values)
	if err != nil {
		return nil, err
	}
	question.Now, question.Floor, question.IndexScan = now, values[catalog.DateFloor], values.Bool(catalog.EnableIndexScan)
	question.Brake, question.Speed = NewBrake(values), speed
	return NewPreview(ctx, q, question)
}

// assumedSpeed is what a small server does without haste.
const assumedSpeed = 20_000

// speedOf is what the last job of the table did, and never more than the limits allow now.
func speedOf(ctx context.Context, from Source, table catalog.Table, values catalog.Values) (Speed, error) {
	s := Speed{RowsPerSecond: assumedSpeed, From: "assumed, no job has run yet"}
	ended, err := from.History(ctx, catalog.Filter{Table: table, Limit: 1})
	if err != nil {
		return s, err
	}
	if len(ended) > 0 {
		if d := ended[0].FinishedAt.Sub(ended[0].CreatedAt); ended[0].Counts.Deleted > assumedSpeed && d > time.Second {
			s = Speed{RowsPerSecond: float64(ended[0].Counts.Deleted) / d.Seconds(), From: "as in the last job"}
		}
	}
	for _, name := range []string{catalog.DeleteRowsLimit, catalog.ClusterRowsLimit} {
		if limit := float64(values.Int(name)); limit > 0 && limit < s.RowsPerSecond {
			s = Speed{RowsPerSecond: limit, From: name}
		}
	}
	return s, nil
}
