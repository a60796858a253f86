package statement

import (
	"context"
	"errors"
	"slices"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/ddl"
)

// alter decides on ALTER TABLE: anew if somebody else has changed the TTL of the table while it was waited for the
// table, since what is not said in a clause stays as it is then.
func (q *request) alter(ctx context.Context, a *ddl.AlterTable) (err error) {
	notes := len(q.notes)
	for range alterAttempts {
		if err = q.alterOnce(ctx, a); !errors.Is(err, catalog.ErrRuleChanged) {
			return err
		}
		q.notes = q.notes[:notes]
	}
	return inCatalogTrouble(err)
}

// alterAttempts bounds how often the TTL of a table may change while it is waited for the table.
const alterAttempts = 10

func (q *request) alterOnce(ctx context.Context, a *ddl.AlterTable) error {
	table, ok := q.session.table(a.Table)
	if !ok || a.Clause == nil && harmless(a) {
		return q.pass()
	}

	p, err := q.policy(ctx, a.Table)
	var others []catalog.Intent
	if err == nil {
		others, err = q.exchanged(ctx, a)
	}
	if err == nil {
		was := p
		if removes(a) {
			was = nil
		}
		err = q.checkParents(ctx, references(a), table, a.Clause, was)
	}

	switch {
	case err != nil && a.Clause != nil:
		return declaredWithout(err)
	case err != nil:
		return q.withoutCatalog(ctx, err)
	case p == nil && a.Clause == nil && len(others) == 0:
		return q.pass()
	}

	what, err := q.resolve(a.Table)
	switch {
	case err != nil:
		return err
	case what == absent && a.Clause != nil:
		return q.alterAbsent(ctx, a)
	case what == absent, what != baseTable && a.Clause == nil:
		return q.pass()
	case what == unseen:
		return q.withoutRight(q.needsToAlter(a), table)
	case what == temporary:
		return refusal(ddl.TemporaryTable())
	case what == view:
		return refusal(ddl.WrongObject(table.Schema, table.Name))
	}

	if a.Pure() {
		return q.declare(ctx, a, table, p)
	}

	return q.alterBoth(ctx, a, table, p, others)
}

// baseOf is what a rule is made of where somebody says a part of it.
func baseOf(p *catalog.Policy) *catalog.Base {
	if p == nil {
		return &catalog.Base{}
	}
	return &catalog.Base{Policy: p.ID, Rule: p.Rule}
}

// harmless reports whether nothing in the statement touches a row or the identity of the table.
func harmless(a *ddl.AlterTable) bool {
	return !slices.ContainsFunc(a.Specs, func(s ddl.Spec) bool { return s.Change != ddl.HarmlessChange })
}

func removes(a *ddl.AlterTable) bool { return a.Clause != nil && a.Clause.Remove }

func references(a *ddl.AlterTable) []ddl.Name {
	var parents []ddl.Name
	for _, s := range a.Specs {
		if s.References != nil {
			parents = append(parents, *s.References)
		}
	}
	return parents
}

// exchanged lists the tables with a policy that trade places with a partition.
func (q *request) exchanged(ctx context.Context, a *ddl.AlterTable) ([]catalog.Intent, error) {
	var intents []catalog.Intent
	for _, s := range a.Specs {
		_, others, moves := bringsIn(s)
		if !moves || s.Other == nil {
			continue
		}

		p, err := q.policy(ctx, *s.Other)
		if err != nil {
			return nil, err
		}
		if p != nil {
			intents = append(intents, catalog.Intent{Kind: catalog.IntentAlter, Table: p.Table, Imports: others})
		}
	}

	return intents, nil
}

// bringsIn names the change that brings rows into its own table, and into the other one; empty if
// it does not. It reports whether there is another one.
func bringsIn(s ddl.Spec) (own, other string, moves bool) {
	switch s.Change {
	case ddl.ExchangePartition:
		return "EXCHANGE PARTITION", "EXCHANGE PARTITION", true
	case ddl.ConvertTable:
		return "CONVERT TABLE TO PARTITION", "", true
	case ddl.ConvertPartition:
		return "", "CONVERT PARTITION TO TABLE", true
	case ddl.ImportTablespace:
		return "IMPORT TABLESPACE", "", false
	case ddl.DiscardTablespace: // it makes room for others, which may come around the proxy
		return catalog.DiscardTablespace, "", false
	default:
		return "", "", false
	}
}

// imports names what brings rows into the table of a statement; empty if nothing does.
func imports(a *ddl.AlterTable) string {
	for _, s := range a.Specs {
		if own, _, _ := bringsIn(s); own != "" {
			return own
		}
	}
	return ""
}

// clears reports whether a statement takes all rows out of partitions.
func clears(a *ddl.AlterTable) bool {
	return slices.ContainsFunc(a.Specs, func(s ddl.Spec) bool {
		return s.Change == ddl.TruncatePartition || s.Change == ddl.DropPartition
	})
}

// alterBoth is an ALTER that changes the table itself, while the table has a policy, gets one or
// loses it.
func (q *request) alterBoth(ctx context.Context, a *ddl.AlterTable, table catalog.Table, p *catalog.Policy,
	others []catalog.Intent,
) error {
	if err := q.needsToAlter(a); err != nil {
		return err // no right, or the table is locked: the policy is not touched
	}

	intent := catalog.Intent{
		Kind: catalog.IntentAlter, Table: table, Remove: removes(a), Imports: imports(a), Clears: clears(a),
		Base: baseOf(p),
	}
	if !intent.Remove && (p != nil || a.Clause != nil) {
		rule, err := q.ruleFor(ctx, a, table, p)
		if err == nil {
			err = q.checkView(ctx, table, a.Clause, &rule)
		}
		if err == nil && p != nil {
			intent.Redates, err = q.redates(ctx, a, table, p.Rule.Column, rule.Column)
		}
		if err != nil {
			return declaredWithout(err)
		}
		intent.Rule = &rule
	}

	if a.Clause != nil {
		dumped, err := q.fromDump(ctx, a.Clause)
		if err != nil {
			return declaredWithout(err)
		}
		intent.FromDump, intent.Arm, intent.Declares = dumped, wakes(a.Clause, p), a.Clause.TTL != nil
	}

	if err := q.renamedBy(a, table, p, &intent); err != nil {
		return err
	}

	intents := others
	if p != nil || a.Clause != nil {
		intents = append(intents, intent)
	}

	return q.carry(ctx, change{declares: a.Clause != nil, views: true, intents: intents})
}

// renamedBy adds to the intent of an ALTER that its table gets another name, if the policy may
// follow.
func (q *request) renamedBy(a *ddl.AlterTable, table catalog.Table, p *catalog.Policy, intent *catalog.Intent) error {
	for _, s := range a.Specs {
		if s.Change != ddl.RenameTable {
			continue
		}

		to, ok := q.session.table(*s.Other)
		if !ok {
			continue
		}

		intent.To, intent.Dormant = &to, isGhost(to)
		if intent.Rule == nil {
			continue // no policy goes along
		}

		moved := passage{Rename: ddl.Rename{From: a.Table, To: *s.Other}, from: table, to: to, policy: p}
		if a.Clause != nil && wakes(a.Clause, p) {
			moved.policy = nil
		}
		if err := q.mayMove(moved); err != nil {
			return err
		}
	}
	return nil
}
