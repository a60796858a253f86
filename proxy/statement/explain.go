package statement

import (
	"context"
	"strings"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/ttl/plan"
)

// previewWait bounds the reading for EXPLAIN TTL, noteWait that for the note of an ALTER TABLE.
const (
	previewWait = 20 * time.Second
	noteWait    = 2 * time.Second
)

// describesTable reports whether EXPLAIN TTL x describes column x of a table named ttl, as both
// servers read it.
func (a *admin) describesTable(s *ddl.ExplainTTL) (bool, error) {
	if s.Alter != nil || s.JSON || s.Table.Schema != "" || a.q.session.schema == "" {
		return false, nil
	}
	what, err := a.q.resolve(ddl.Name{Table: s.Word})
	return what != absent && what != unseen, err
}

// explain answers EXPLAIN TTL, for a policy or for what an ALTER TABLE would make of it. It changes
// nothing.
func (a *admin) explain(ctx context.Context, s *ddl.ExplainTTL) (*reply, error) {
	ctx, cancel := context.WithTimeout(ctx, previewWait)
	defer cancel()

	table, err := a.resolveTable(s.Table)
	if err != nil {
		return nil, err
	}

	rule, err := a.ruleToExplain(ctx, s, table)
	if err != nil {
		return nil, err
	}
	if err := a.q.mayDelete(s.Table, rule.Column); err != nil {
		return nil, err
	}

	p, err := a.preview(ctx, s, table, rule)
	if err != nil {
		return nil, err
	}
	if err := a.hideRows(p, s.Table, rule.Column); err != nil {
		return nil, err
	}
	if err := a.showTriggers(p, table); err != nil {
		return nil, err
	}
	if err := a.veilPreview(p); err != nil {
		return nil, err
	}
	if err := localizePreview(a.q.x, p); err != nil {
		return nil, err
	}

	l := explainList(p)
	if s.JSON {
		l = explainJSON(p)
	}

	return &reply{list: &l}, nil
}

// preview asks about the existing policy, or about the rule that the ALTER TABLE would make.
func (a *admin) preview(ctx context.Context, s *ddl.ExplainTTL, table catalog.Table,
	rule catalog.Rule,
) (*plan.Preview, error) {
	if s.Alter != nil {
		return plan.Ask(ctx, a.q.h.config.DB, a.q.store, table, rule)
	}
	p, err := a.policyOf(ctx, s.Table)
	if err != nil {
		return nil, err
	}
	return plan.AskOf(ctx, a.q.h.config.DB, a.q.store, p)
}

// ruleToExplain is the rule in force, or the one that the ALTER TABLE asks for.
func (a *admin) ruleToExplain(ctx context.Context, s *ddl.ExplainTTL, table catalog.Table) (catalog.Rule, error) {
	p, err := a.q.policy(ctx, s.Table)
	switch {
	case err != nil:
		return catalog.Rule{}, err
	case s.Alter == nil && p == nil:
		return catalog.Rule{}, refuse("Table %s has no TTL", table)
	case s.Alter == nil:
		return p.Rule, nil
	case s.Alter.Clause == nil || s.Alter.Clause.Remove:
		return catalog.Rule{}, refuse("The ALTER TABLE declares no TTL, so there is nothing to preview")
	}
	return a.q.ruleFor(ctx, s.Alter, table, p)
}

// hideRows removes keys and dates of rows for a client that may not read them.
func (a *admin) hideRows(p *plan.Preview, table ddl.Name, column string) error {
	columns := []string{ddl.Quote(column)}
	for _, k := range p.Seen.KeyColumns {
		columns = append(columns, ddl.Quote(k))
	}

	of, err := a.q.spelledName(table)
	if err != nil {
		return err
	}

	listed, err := a.q.spelled(strings.Join(columns, ", "))
	if err != nil {
		return err
	}
	if _, err = a.q.x.Ask("EXPLAIN SELECT " + listed + " FROM " + of); err != nil {
		p.Seen = nil
	}

	return nilIfRefused(err)
}

// veilPreview removes the names of tables that the client may not see: children, as the service
// account sees them.
func (a *admin) veilPreview(p *plan.Preview) error { return a.q.veil(sentencesOf(p)...) }

// sentencesOf are those that a preview has for people.
func sentencesOf(p *plan.Preview) []*string {
	sentences := []*string{&p.PlanReason, &p.Brake}
	for _, list := range [][]string{p.Children, p.Warnings, p.Whole} {
		for i := range list {
			sentences = append(sentences, &list[i])
		}
	}
	for i := range p.Dependents {
		sentences = append(sentences, &p.Dependents[i].Name)
	}
	for i := range p.Plans {
		sentences = append(sentences, &p.Plans[i].WhyNot)
	}
	if p.Rotation != nil {
		sentences = append(sentences, &p.Rotation.Note)
	}
	return sentences
}

// showTriggers asks the server, as the client, for triggers that it may not show to the service
// account.
func (a *admin) showTriggers(p *plan.Preview, t catalog.Table) error {
	names, err := a.triggersOf(t, "DELETE")
	if err != nil {
		return err
	}
	p.ShowTriggers(names)

	for i, d := range p.Dependents {
		if d.Event == "" {
			continue
		}
		if names, err = a.triggersOf(d.Table, d.Event); err != nil {
			return err
		}
		p.ShowTriggersOf(i, names)
	}
	return nil
}

func (a *admin) triggersOf(t catalog.Table, event string) (names []string, err error) {
	r, err := askAll(a.q.x,
		"SELECT CAST(TRIGGER_NAME AS BINARY) FROM information_schema.TRIGGERS WHERE EVENT_MANIPULATION = "+
			literal(event)+" AND EVENT_OBJECT_SCHEMA = "+literal(t.Schema)+" AND EVENT_OBJECT_TABLE = "+
			literal(t.Name))
	if err != nil {
		return nil, err
	}
	for _, row := range r.Rows {
		names = append(names, string(row[0]))
	}
	return names, nil
}
