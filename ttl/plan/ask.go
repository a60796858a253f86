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

// tellingJobs is among how many ended jobs one is searched that tells how fast they are.
const tellingJobs = 100

// Source is what a preview wants to know from the catalog; *catalog.Store is one.
type Source interface {
	WholeSource
	Settings(ctx context.Context) (setting.Reading, error)
	Clock(ctx context.Context) (time.Time, error)
	Nodes(ctx context.Context) ([]catalog.Node, error)
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

	question.Usual = UsualOf(runs, now, p.Terms.Timing.Interval)
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

	nodes, err := from.Nodes(ctx)
	if err != nil {
		return nil, err
	}

	if question.ended, err = from.History(ctx, catalog.Filter{Table: question.Table, Limit: tellingJobs}); err != nil {
		return nil, err
	}

	values := settings.Values
	question.from = from
	question.Now, question.Floor, question.IndexScan = now, values[setting.DateFloor],
		values.Bool(setting.EnableIndexScan)
	question.Brake, question.Window = NewBrake(values), values.Window()
	question.settings, question.nodes = settings, Engines(nodes)
	return NewPreview(ctx, q, question)
}
