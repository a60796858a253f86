package statement

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/ddl"
)

// alter decides on ALTER TABLE.
func (q *request) alter(ctx context.Context, a *ddl.AlterTable) error {
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

// declare is an ALTER that holds nothing but TTL. What is left for the server is an empty ALTER of
// the table that was understood, however the client has written it: it checks the right to alter
// it, and ends the transaction as every DDL does.
func (q *request) declare(ctx context.Context, a *ddl.AlterTable, table catalog.Table, p *catalog.Policy) error {
	spelled, err := q.spelledTable(table)
	if err != nil {
		return err
	}

	h, err := q.x.HoldQuery(emptyAlter(spelled))
	if err != nil {
		return err
	}
	if h.Failed() {
		return q.x.Send(h)
	}
	if what, err := q.resolve(a.Table); err != nil || what != baseTable && what != absent {
		return q.withoutRight(err, table)
	}

	if a.Clause.Remove {
		if err = q.remove(ctx, table, p); err == nil {
			q.followViews(ctx, []catalog.Table{table})
		}
	} else {
		err = q.write(ctx, a, table, p)
	}

	if err != nil {
		return declaredWithout(err)
	}

	return q.send(h)
}

// withoutRight refuses what was found not to be in order, with the server's error if there is one.
func (q *request) withoutRight(err error, table catalog.Table) error {
	if err != nil {
		return err
	}
	return refuse("ttlproxy: nothing was changed, because %s or your rights on it have just changed: try again", table)
}

// remove removes the policy of the name. One that was there a moment ago and is there no longer has
// moved away with its table: then nothing has been removed, and nobody is told that it was.
func (q *request) remove(ctx context.Context, table catalog.Table, p *catalog.Policy) error {
	err := insist(ctx, catalogWait, func(ctx context.Context) error { return q.store.Remove(ctx, q.client(), table) })
	if !errors.Is(err, catalog.ErrNoPolicy) {
		return err
	}
	if p != nil {
		return q.withoutRight(nil, table)
	}
	return nil
}

// write checks the clause against the table as it is and makes it the policy.
func (q *request) write(ctx context.Context, a *ddl.AlterTable, table catalog.Table, p *catalog.Policy) error {
	rule, err := q.ruleFor(ctx, a, table, p)
	if err != nil {
		return err
	}

	dumped, err := q.fromDump(ctx, a.Clause)
	if err != nil {
		return err
	}

	remake := redrawsView(a.Clause)
	if remake {
		if err := q.makeView(ctx, table, rule); err != nil {
			return err
		}
	}

	var declared catalog.Policy
	err = insist(ctx, catalogWait, func(ctx context.Context) error {
		declared, err = q.store.Declare(ctx, q.client(),
			catalog.Declaration{Table: table, Rule: rule, Arm: wakes(a.Clause, p), FromDump: dumped})
		return err
	})
	if err == nil {
		q.noteState(declared)
		q.noteDeclared(ctx, table, rule)
	}

	switch {
	case remake && err != nil:
		q.followViews(ctx, []catalog.Table{table}) // by the rule that is still in force
	case remake:
		q.dropUnkept(ctx, []catalog.Table{table})
	}

	return err
}

// redrawsView reports whether the view of a table has to be made anew when its policy changes.
func redrawsView(c *ddl.Clause) bool {
	_, view := c.Options[ddl.OptionView]
	_, zone := c.Options[ddl.OptionTimeZone]
	return c.TTL != nil || view || zone
}

// arms reports whether the clause may cause rows to be deleted that were not before.
func arms(c *ddl.Clause) bool { return c.TTL != nil || c.Enable != nil && *c.Enable }

// wakes reports whether the clause arms the table's policy. Online schema changes apply what they
// are asked to change to their copy, which has to stay dormant: there only TTL_ENABLE='ON' is taken
// to mean the copy itself.
func wakes(c *ddl.Clause, p *catalog.Policy) bool {
	if p != nil && p.State == catalog.PolicyDormant && isGhost(p.Table) {
		return c.Enable != nil && *c.Enable
	}
	return arms(c)
}

// ruleFor makes the rule that will be in force after the statement, and checks everything that
// could forbid it.
func (q *request) ruleFor(ctx context.Context, a *ddl.AlterTable, table catalog.Table,
	p *catalog.Policy,
) (catalog.Rule, error) {
	l, err := q.layoutOf(ctx, table)
	if err != nil {
		return catalog.Rule{}, err
	}

	before, known := catalog.Rule{}, p != nil
	dependent := false // already: a statement that does not ask for more is let through, and the engine waits
	if known {
		before = p.Rule
		dependent = l.sessionDependence(before.Column) != ""
	}

	if a.Clause == nil || a.Clause.TTL == nil {
		column, refused := columnAfter(before.Column, a.Specs)
		if refused != nil {
			return before, refusal(refused)
		}
		before.Column = column
	}

	was := &layout{columns: slices.Clone(l.columns)}
	l.apply(a.Specs)

	if a.Clause == nil {
		_, refused := l.check(before.Column)
		if refused != nil {
			return before, refusal(refused)
		}
		if dependent {
			return before, nil
		}

		return before, l.checkReader(before.Column)
	}

	var old *catalog.Rule
	if known {
		old = &before
	}

	rule, err := q.newRule(ctx, a.Clause, old, l)
	if err != nil {
		return rule, err
	}
	if arms(a.Clause) {
		err = q.checkOwner(table)
	}
	if err == nil && (arms(a.Clause) || !dependent) {
		err = l.checkReader(rule.Column)
	}
	if err == nil && (arms(a.Clause) || a.Clause.JobInterval != nil || len(a.Clause.Options) > 0) {
		err = q.mayDeleteBy(a.Table, presentColumn(a, rule.Column, was), was)
	}
	if err == nil {
		err = q.mayRemove(a.Table, rule)
	}
	_, said := a.Clause.Options[ddl.OptionForeignKeys]
	if err == nil && (!known || said || arms(a.Clause)) {
		err = q.checkReferenced(ctx, table, &rule, l)
	}
	if err == nil && arms(a.Clause) {
		err = q.serviceMayDelete(ctx, table)
	}

	return rule, err
}

// presentColumn is the TTL column if it exists before the statement, so that the rights on it can
// be probed, or nothing.
func presentColumn(a *ddl.AlterTable, column string, was *layout) string {
	for _, s := range a.Specs {
		if strings.EqualFold(s.NewColumn.Name, column) && s.Column != "" {
			return s.Column // the name it has now
		}
	}
	if _, there := was.column(column); there {
		return column // also behind ADD COLUMN IF NOT EXISTS
	}
	return ""
}

// columnAfter returns the name that the TTL column has after the changes, or refuses those it cannot
// survive.
func columnAfter(column string, specs []ddl.Spec) (string, *ddl.Error) {
	for _, s := range specs {
		if !strings.EqualFold(s.Column, column) || column == "" {
			continue
		}
		switch s.Change {
		case ddl.DropColumn:
			return column, ddl.ColumnNeeded(column)
		case ddl.ChangeColumn:
			if !s.NewColumn.TimeType() {
				return column, ddl.UnsupportedColumn(s.NewColumn.Name)
			}
			return s.NewColumn.Name, nil
		case ddl.RenameColumn:
			return s.NewColumn.Name, nil
		default:
		}
	}
	return column, nil
}

// redates reports whether the TTL column gets dates that nobody has looked at: it is another column
// than before, although the name may be the same, or it gets another expression.
func redates(specs []ddl.Spec, was, is string) bool {
	column, refused := columnAfter(was, specs)
	if refused != nil || !strings.EqualFold(column, is) {
		return true
	}
	return slices.ContainsFunc(specs, func(s ddl.Spec) bool {
		return strings.EqualFold(s.NewColumn.Name, is) && s.NewColumn.Expression != ""
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

	intent := catalog.Intent{Kind: catalog.IntentAlter, Table: table, Remove: removes(a), Imports: imports(a)}
	if !intent.Remove && (p != nil || a.Clause != nil) {
		rule, err := q.ruleFor(ctx, a, table, p)
		if err == nil {
			err = q.checkView(ctx, table, a.Clause, &rule)
		}
		if err != nil {
			return declaredWithout(err)
		}
		intent.Rule, intent.Redates = &rule, p != nil && redates(a.Specs, p.Rule.Column, rule.Column)
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
