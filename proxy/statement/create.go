package statement

import (
	"context"
	"errors"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/setting"
	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/proxy/wire"
)

// create decides on CREATE TABLE.
func (q *request) create(ctx context.Context, a *ddl.CreateTable) error {
	table, ok := q.session.table(a.Table)
	switch {
	case a.Temporary:
		return q.createTemporary(ctx, a)
	case !ok:
		return q.pass()
	case a.Clause != nil:
		return q.createWithPolicy(ctx, a, table)
	case a.Like != nil:
		return q.createLike(ctx, a, table)
	}

	if err := q.checkParents(ctx, a.References, table, nil, nil); err != nil {
		return q.withoutCatalog(ctx, err)
	}

	return q.replaceWithout(ctx, a, table)
}

// createTemporary refuses a policy on a temporary table, even one that LIKE would copy.
func (q *request) createTemporary(ctx context.Context, a *ddl.CreateTable) error {
	if a.Clause != nil {
		return refusal(ddl.TemporaryTable())
	}
	if a.Like == nil {
		return q.pass()
	}

	p, err := q.policy(ctx, *a.Like)
	if err != nil {
		return q.withoutCatalog(ctx, err)
	}
	if p == nil {
		return q.pass()
	}

	if what, err := q.resolve(*a.Like); err != nil {
		return err
	} else if what != baseTable {
		return q.pass() // LIKE takes the temporary table that hides the other, or the server refuses it
	}

	return refusal(ddl.TemporaryTable())
}

// createWithPolicy is CREATE TABLE with a TTL clause.
func (q *request) createWithPolicy(ctx context.Context, a *ddl.CreateTable, table catalog.Table) error {
	what, err := q.resolve(a.Table)
	switch {
	case err != nil:
		return err
	case what == temporary:
		return refusal(ddl.TemporaryTable())
	case what != absent && a.IfNotExists:
		return q.createPresent() // the server leaves the table as it is, and so do we
	}

	if err := q.needsToCreate(a); err != nil {
		return err
	}

	if err := q.mayDelete(a.Table, ""); err != nil {
		return err
	}
	rule, err := q.ruleOfNew(ctx, a, table)
	if err != nil {
		return declaredWithout(err)
	}

	dumped, err := q.fromDump(ctx, a.Clause)
	if err != nil {
		return declaredWithout(err)
	}

	origin, err := q.originOf(ctx, table, rule)
	if err != nil {
		return declaredWithout(err)
	}

	kind := catalog.IntentCreate
	if a.OrReplace {
		kind = catalog.IntentReplace
	}

	return q.carry(ctx, change{
		declares: true, partly: a.OrReplace, views: true, unless: q.appeared(a), idly: q.createPresent,
		intents: []catalog.Intent{
			{Kind: kind, Table: table, Rule: &rule, Arm: true, FromDump: dumped, Dormant: isGhost(table), Copy: origin},
		},
	})
}

// ruleOfNew makes the rule of a table that is about to be made, and checks everything that could forbid it.
func (q *request) ruleOfNew(ctx context.Context, a *ddl.CreateTable, table catalog.Table) (catalog.Rule, error) {
	l := &layout{columns: a.Columns, keys: a.PrimaryKey, open: a.Select}
	rule, err := q.newRule(ctx, a.Clause, nil, l)
	if err == nil {
		err = q.mayRemove(a.Table, rule)
	}
	if err == nil {
		err = q.checkOwner(table)
	}
	if err == nil {
		err = l.checkReader(rule.Column)
	}
	if err == nil {
		err = q.serviceMayDelete(ctx, table)
	}
	if err == nil {
		err = q.checkParents(ctx, a.References, table, a.Clause, nil)
	}
	if err == nil && !a.OrReplace {
		err = q.checkReferenced(ctx, table, &rule, l)
	}
	if err == nil {
		err = q.checkView(ctx, table, a.Clause, &rule)
	}
	return rule, err
}

// originOf links a copy that was made from the text of SHOW CREATE TABLE to the table that it is
// named after, if the client can see that text and both have their TTL on the same column.
func (q *request) originOf(ctx context.Context, table catalog.Table, rule catalog.Rule) (*catalog.Copy, error) {
	ctx, cancel := context.WithTimeout(ctx, askWait)
	defer cancel()

	for _, name := range copiedNames(table.Name) {
		p, err := q.store.Policy(ctx, catalog.Table{Schema: table.Schema, Name: name})
		if errors.Is(err, catalog.ErrNoPolicy) {
			continue
		}
		if err != nil {
			return nil, unavailable(err)
		}

		what, err := q.resolve(ddl.Name{Schema: table.Schema, Table: name})
		if err != nil {
			return nil, err
		}
		if what == baseTable && ddl.SameName(p.Rule.Column, rule.Column) {
			return copyOf(p), nil
		}
	}

	return nil, nil //nolint:nilnil // it is nobody's copy
}

func copyOf(p catalog.Policy) *catalog.Copy {
	return &catalog.Copy{Of: p.ID, Version: p.Version, Column: p.Rule.Column}
}

// fromDump reports whether the clause comes from a dump, so that somebody has to approve it before rows
// are deleted.
func (q *request) fromDump(ctx context.Context, clause *ddl.Clause) (bool, error) {
	if !clause.Commented || !q.session.restoring {
		return false, nil
	}
	values, err := q.store.Values(ctx)
	if err != nil {
		return false, unavailable(err)
	}
	return values[setting.Restore] != setting.RestoreArm, nil
}

// declaredWithout is the answer to a TTL statement that cannot be decided on. An error that is
// meant for the client stays, and so does one for which it is decided on anew.
func declaredWithout(err error) error {
	if forClient, ok := errors.AsType[*wire.Error](err); ok {
		return forClient
	}
	if errors.Is(err, catalog.ErrRuleChanged) {
		return err
	}
	return inCatalogTrouble(err)
}

// createLike copies the policy along with the table, if the client could delete from the copy.
func (q *request) createLike(ctx context.Context, a *ddl.CreateTable, table catalog.Table) error {
	p, err := q.policy(ctx, *a.Like)
	if err != nil {
		return q.withoutCatalog(ctx, err)
	}
	if p == nil || q.store.Reserved(table) != nil {
		return q.replaceWithout(ctx, a, table)
	}

	origin, err := q.resolve(*a.Like)
	if err != nil {
		return err
	}

	target, err := q.resolve(a.Table)
	if err != nil {
		return err
	}
	if origin != baseTable || target != absent && !a.OrReplace {
		return q.replaceWithout(ctx, a, table)
	}
	if err := q.needsToCreate(a); err != nil {
		return err
	}

	if err = q.mayDelete(a.Table, ""); err == nil {
		err = q.mayRemove(a.Table, p.Rule)
	}
	if denied, ok := errors.AsType[*wire.Error](err); ok && denied.Code == ddl.CodeTableDenied {
		q.warn("the TTL of " + p.Table.String() + " was not copied, because you may not delete from the new table: " +
			denied.Message)
		return q.replaceWithout(ctx, a, table)
	}
	if err != nil {
		return err
	}

	kind := catalog.IntentCreate
	if a.OrReplace {
		kind = catalog.IntentReplace
	}

	rule := withoutView(p.Rule)
	delete(rule.Options, ddl.OptionDependents) // what was agreed to is about the other table's children
	return q.carry(ctx, change{
		declares: true, partly: a.OrReplace, views: true, unless: q.appeared(a),
		intents: []catalog.Intent{
			{Kind: kind, Table: table, Rule: &rule, Arm: true, Dormant: isGhost(table), Copy: copyOf(*p)},
		},
	})
}

// replaceWithout lets a CREATE without a policy through. If it replaces a table that has one, that
// policy is removed.
func (q *request) replaceWithout(ctx context.Context, a *ddl.CreateTable, table catalog.Table) error {
	if a.OrReplace {
		p, err := q.policy(ctx, a.Table)
		if err != nil {
			return q.withoutCatalog(ctx, err)
		}
		if p != nil {
			return q.replace(ctx, a, table)
		}
	}

	if len(q.notes) == 0 {
		return q.pass()
	}

	return q.passWithNotes()
}

// replace removes the policy of a table together with the table.
func (q *request) replace(ctx context.Context, a *ddl.CreateTable, table catalog.Table) error {
	what, err := q.resolve(a.Table)
	switch {
	case err != nil:
		return err
	case what == unseen:
		return q.pass() // the server refuses it, in the words that it uses for every table
	}
	if err := q.needsToCreate(a); err != nil {
		return err
	}
	return q.carry(ctx, change{
		partly: true, views: true, intents: []catalog.Intent{{Kind: catalog.IntentReplace, Table: table}},
	})
}

// appeared looks, for IF NOT EXISTS, whether somebody else has created the table while we waited
// for the catalog. From then on the stage keeps everybody else from doing that through a proxy.
func (q *request) appeared(a *ddl.CreateTable) func() (bool, error) {
	if !a.IfNotExists {
		return nil
	}
	return func() (bool, error) {
		what, err := q.resolve(a.Table)
		return what != absent, err
	}
}
