package statement

import (
	"context"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/ttl/plan"
)

// previewWait bounds the reading for EXPLAIN TTL.
const previewWait = 20 * time.Second

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
	if err := a.q.reveal(p, s.Table, table, rule.Column); err != nil {
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
