package statement

import (
	"context"
	"encoding/json"
	"errors"
	"maps"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/proxy/wire"
	"github.com/ttlproxy/ttlproxy/ttl/family"
	"github.com/ttlproxy/ttlproxy/ttl/plan"
)

// checkReferenced refuses a TTL on the parent of a foreign key, whether or not keys are being
// checked, unless the rule says what becomes of the children, the engine can do it, and both the
// client and the service account have the rights to it. It notes in the rule of which tables rows go
// along.
func (q *request) checkReferenced(ctx context.Context, table catalog.Table, rule *catalog.Rule, l *layout) error {
	rule.Options = maps.Clone(rule.Options)
	delete(rule.Options, ddl.OptionDependents)
	children, err := tables.ReadChildren(ctx, q.h.config.DB, table.Schema, table.Name)
	if err != nil {
		return err
	}
	terms, err := rule.Terms()
	if err != nil {
		return err
	}
	if terms.Options.ForeignKeys == "" {
		if len(children.Keys) > 0 {
			return refusal(ddl.ReferencedTable())
		}
		return nil
	}
	if terms.Options.TakesAlong() {
		return q.checkDependents(ctx, table, rule, terms.Options, children)
	}

	for _, key := range children.Keys {
		if err := q.mayRead(key); err != nil {
			return q.veilError(err)
		}
	}

	ctx, cancel := context.WithTimeout(ctx, askWait)
	defer cancel()
	_, why, err := plan.ReadStaying(ctx, q.h.config.DB, terms, l.of(table), children)
	if why != "" {
		err = q.veilError(refuse("ttlproxy: nothing was changed, because of a foreign key. %s", why))
	}

	return err
}

// checkDependents refuses to let rows of other tables go along unless the client itself, and the
// service account, may delete from all of them.
func (q *request) checkDependents(
	ctx context.Context, table catalog.Table, rule *catalog.Rule, o ddl.Options, children tables.Children,
) error {
	if len(children.Keys) == 0 && children.Unsure == "" {
		return nil
	}

	ctx, cancel := context.WithTimeout(ctx, askWait)
	defer cancel()
	l, err := tables.ReadLayout(ctx, q.h.config.DB, table.Schema, table.Name)
	if my, refused := errors.AsType[*mysql.MySQLError](err); refused && my.Number == ddl.CodeNoTable {
		return nil // it has yet to be created, and then waits until somebody declares the TTL for its children
	}
	if err != nil {
		return err
	}

	forest, why, err := plan.ReadForest(ctx, q.h.config.DB, o, l, children)
	if err != nil {
		return err
	}
	if why != "" {
		return q.veilError(refuse("ttlproxy: nothing was changed, because of a foreign key. %s", why))
	}

	for _, right := range forest.Rights() {
		if err := q.mayTakeAlong(right); err != nil {
			return q.veilError(err)
		}
	}

	openings, err := q.openings(forest)
	if err != nil {
		return q.veilError(err)
	}
	text, err := json.Marshal(append(forest.Consents(), openings...))
	rule.Options[ddl.OptionDependents] = string(text)
	return err
}

// openings are where the client may open circles of rows. It need not: then such rows stay.
func (q *request) openings(forest *family.Forest) (consents []string, err error) {
	for _, r := range forest.Openings() {
		may, err := q.mayAskOf(ddl.Name{Schema: r.Schema, Table: r.Table}, r.Name(), r.Before, r.Behind)
		if err != nil {
			return nil, err
		}
		if may {
			consents = append(consents, r.Consent())
		}
	}
	return consents, nil
}

// mayTakeAlong checks that the client may do to a table what will be done to rows of it.
func (q *request) mayTakeAlong(r family.Right) error {
	may, err := q.mayAskOf(ddl.Name{Schema: r.Schema, Table: r.Table}, r.Name(), r.Before, r.Behind)
	if err == nil && !may {
		err = refuse("ttlproxy: nothing was changed, because you may not delete the rows of %s that would go along: "+
			"%s to %s", r.Name(), r.Grant, q.session.account)
	}
	return err
}

// of is the layout as far as the foreign keys to a table depend on it. The types of its columns are
// left to the engine, which knows them when they are there.
func (l *layout) of(table catalog.Table) *tables.Layout {
	return &tables.Layout{
		Schema: table.Schema, Table: table.Name,
		Indexes: []tables.Index{{Name: "PRIMARY", Columns: l.keys}},
	}
}

// mayRead checks that the client may read the columns of a foreign key: which rows of the parent are
// left tells which children there are.
func (q *request) mayRead(key tables.ForeignKey) error {
	child := ddl.Name{Schema: key.Schema, Table: key.Table}
	may, err := q.mayAskOf(child, key.Child(), "EXPLAIN "+plan.SelectKey(key), "")
	if err == nil && !may {
		err = refuse("ttlproxy: nothing was changed, because you may not read the foreign key of %s: %s to %s",
			key.Child(), plan.GrantFor(key), q.session.account)
	}
	return err
}

// mayAskOf reports whether the client has the rights that a question about a child requires. No
// temporary table answers for it.
func (q *request) mayAskOf(child ddl.Name, quoted, before, behind string) (bool, error) {
	what, err := q.resolve(child)
	switch {
	case err != nil:
		return false, err
	case what == temporary:
		return false, refuse("ttlproxy: nothing was changed, because a temporary table hides %s, which has a foreign "+
			"key to the table", quoted)
	case what == baseTable:
		err = q.askAround(child, before, behind)
	}
	if what != baseTable || wire.RefusedWith(err, ddl.CodeTableDenied, ddl.CodeColumnDenied) {
		return false, nil
	}
	if wire.RefusedWith(err, ddl.CodeSafeUpdates) {
		err = nil // which comes after the check of rights
	}
	return err == nil, err
}

// askAround asks the server, as the client, a question around the name of a table.
func (q *request) askAround(name ddl.Name, before, behind string) error {
	of, err := q.spelledName(name)
	if err != nil {
		return err
	}
	if before, err = q.spelled(before); err != nil {
		return err
	}
	if behind, err = q.spelled(behind); err != nil {
		return err
	}
	_, err = q.x.Ask(before + of + behind)
	return err
}

// checkParents refuses a foreign key to a table that has a TTL, or is about to get one, unless the
// policy says what becomes of children. A table that points at itself must take its own rows along.
func (q *request) checkParents(
	ctx context.Context, parents []ddl.Name, self catalog.Table, clause *ddl.Clause, was *catalog.Policy,
) error {
	for _, parent := range parents {
		table, ok := q.session.table(parent)
		if parent.Schema == "" && self.Schema != "" {
			table.Schema, ok = self.Schema, true // a parent without schema is in the child's
		}
		if !ok {
			continue
		}
		if q.store.SameTable(table, self) {
			if forbidsOwn(clause, was) {
				return refusal(ddl.ReferencedTable())
			}
			continue
		}

		parent.Schema = table.Schema
		p, err := q.policy(ctx, parent)
		if err != nil {
			return err
		}
		if p == nil || p.Terms.Options.ForeignKeys != "" {
			continue // the engine plans anew, or waits and says why
		}

		what, err := q.resolve(parent)
		if err != nil {
			return err
		}
		// if the client may not see the table, the server says so, and we do not reveal its policy
		if what != unseen {
			return refusal(ddl.ReferencedTable())
		}
	}
	return nil
}

// forbidsOwn reports whether a table that points at itself could not have the TTL that a statement
// gives it, or leaves it.
func forbidsOwn(clause *ddl.Clause, was *catalog.Policy) bool {
	value, expires := "", was != nil
	if was != nil {
		value = was.Terms.Options.ForeignKeys
	}
	if clause != nil {
		said, found := clause.Options[ddl.OptionForeignKeys]
		if found {
			value = said
		}
		expires = expires || clause.TTL != nil
	}
	return expires && value != ddl.ForeignKeysChildren
}
