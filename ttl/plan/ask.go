package plan

import (
	"context"
	"errors"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/setting"
	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/ddl"
)

// Source is what a preview wants to know from the catalog; *catalog.Store is one.
type Source interface {
	WholeSource
	Settings(ctx context.Context) (setting.Reading, error)
	Clock(ctx context.Context) (time.Time, error)
	History(ctx context.Context, f catalog.Filter) ([]catalog.EndedJob, error)
	Runs(ctx context.Context, policy uint64) ([]catalog.Run, error)
	Census(ctx context.Context, policy uint64) (time.Time, error)
}

// AskOf previews what a policy does to its table now; its brake knows what is usual there.
func AskOf(ctx context.Context, q tables.Querier, from Source, p catalog.Policy) (*Preview, error) {
	if p.Unread != "" {
		return nil, errors.New(p.Unread)
	}

	question := Question{
		Policy: p.ID, Table: p.Table, Rule: p.Rule, Terms: p.Terms, Version: p.Version, Known: p.Approved(),
	}
	now, err := from.Clock(ctx)
	if err != nil {
		return nil, err
	}

	runs, err := from.Runs(ctx, p.ID)
	if err != nil {
		return nil, err
	}

	if p.Terms.Options.Plan == ddl.PlanQueue {
		if question.Census, err = from.Census(ctx, p.ID); err != nil {
			return nil, err
		}
	}

	question.Usual = UsualFor(p, runs, now)
	return ask(ctx, q, from, question)
}

// Ask previews what a rule would do to a table now, under the settings in force.
func Ask(ctx context.Context, q tables.Querier, from Source, table catalog.Table, rule catalog.Rule) (*Preview, error) {
	return askOfRule(ctx, q, from, Question{Table: table, Rule: rule})
}

// Glance is Ask for somebody who cannot wait: only what is due now, without coming days and without
// rows.
func Glance(
	ctx context.Context, q tables.Querier, from Source, table catalog.Table, rule catalog.Rule,
) (*Preview, error) {
	return askOfRule(ctx, q, from, Question{Table: table, Rule: rule, Brief: true})
}

func askOfRule(ctx context.Context, q tables.Querier, from Source, question Question) (*Preview, error) {
	terms, err := question.Rule.Terms()
	if err != nil {
		return nil, err
	}
	question.Terms = terms
	return ask(ctx, q, from, question)
}

func ask(ctx context.Context, q tables.Querier, from Source, question Question) (*Preview, error) {
	settings, err := from.Settings(ctx)
	if err != nil {
		return nil, err
	}

	now, err := from.Clock(ctx)
	if err != nil {
		return nil, err
	}

	speed, err := speedOf(ctx, from, question, settings, now)
	if err != nil {
		return nil, err
	}

	values := settings.Values
	question.from = from
	question.Now, question.Floor, question.IndexScan = now, values[setting.DateFloor],
		values.Bool(setting.EnableIndexScan)
	question.Brake, question.Speed, question.Window = NewBrake(values), speed, values.Window()
	return NewPreview(ctx, q, question)
}

// assumedSpeed is what a small server manages without effort.
const assumedSpeed = 20_000

// speedOf is the speed of the table's last job, but never more than the limits now allow.
func speedOf(
	ctx context.Context, from Source, q Question, settings setting.Reading, now time.Time,
) (Speed, error) {
	s := Speed{RowsPerSecond: assumedSpeed, From: "assumed, no job has run yet"}
	ended, err := from.History(ctx, catalog.Filter{Table: q.Table, Limit: 1})
	if err != nil {
		return s, err
	}

	if len(ended) > 0 {
		if d := ended[0].Worked(); ended[0].Counts.Deleted > assumedSpeed && d > time.Second {
			s = Speed{RowsPerSecond: float64(ended[0].Counts.Deleted) / d.Seconds(), From: "as in the last job"}
		}
	}

	for _, name := range []string{setting.DeleteRowsLimit, setting.ClusterRowsLimit} {
		s.bound(float64(settings.Int(name)), name)
	}

	own := q.Terms.Options
	s.clock(own.DeleteRate, q.Terms.Timing.Zone, ddl.OptionDeleteRate, now)
	s.clock(settings.Rates(), time.UTC, setting.RateSchedule, now)

	batch, said := float64(settings.Bound(setting.DeleteBatchSize)), setting.DeleteBatchSize
	if own.BatchSize > 0 {
		batch, said = float64(own.BatchSize), ddl.OptionBatchSize
	}

	s.bound(batch*float64(settings.Int(setting.DeleteRateLimit)), setting.DeleteRateLimit+" and "+said)
	return s, nil
}

// clock slows down to a limit by the clock; nil is none.
func (s *Speed) clock(rates *ddl.Rates, zone *time.Location, from string, now time.Time) {
	if rates == nil {
		return
	}
	if !rates.Clocked() {
		s.bound(float64(rates.At(now, zone)), from)
		return
	}
	before, _ := s.At(now)
	s.clocked = append(s.clocked, clocked{*rates, zone})
	if after, _ := s.At(now); after < before {
		s.From = from + ", by the clock"
	}
}

// bound slows down to a limit; 0 is none.
func (s *Speed) bound(rowsPerSecond float64, from string) {
	if rowsPerSecond > 0 && rowsPerSecond < s.RowsPerSecond {
		*s = Speed{RowsPerSecond: rowsPerSecond, From: from}
	}
}
