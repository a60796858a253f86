package statement

import (
	"context"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/proxy/wire"
	"github.com/ttlproxy/ttlproxy/ttl/plan"
)

// checkReferenced refuses a TTL on the parent of a foreign key, whether or not keys are being
// checked, unless the rule says what becomes of the children, the engine can do it, and both the
// client and the service account may read them.
func (q *request) checkReferenced(ctx context.Context, table catalog.Table, rule catalog.Rule, l *layout) error {
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
	what, err := q.resolve(child)
	switch {
	case err != nil:
		return err
	case what == temporary:
		return refuse("ttlproxy: nothing was changed, because a temporary table hides %s, which has a foreign key to "+
			"the table", key.Child())
	case what == baseTable:
		err = q.askOf(child, "EXPLAIN "+plan.SelectKey(key))
	}
	if what != baseTable || wire.RefusedWith(err, ddl.CodeTableDenied, ddl.CodeColumnDenied) {
		return refuse("ttlproxy: nothing was changed, because you may not read the foreign key of %s: %s to %s",
			key.Child(), plan.GrantFor(key), q.session.account)
	}
	return err
}

// askOf asks the server, as the client, a question that ends in the name of a table.
func (q *request) askOf(name ddl.Name, question string) error {
	of, err := q.spelledName(name)
	if err != nil {
		return err
	}
	spelled, err := q.spelled(question)
	if err != nil {
		return err
	}
	_, err = q.x.Ask(spelled + of)
	return err
}

// checkParents refuses a foreign key to a table that has a TTL, or is about to get one, unless the
// policy says what becomes of children.
func (q *request) checkParents(ctx context.Context, parents []ddl.Name, self catalog.Table, expires bool) error {
	for _, parent := range parents {
		table, ok := q.session.table(parent)
		if parent.Schema == "" && self.Schema != "" {
			table.Schema, ok = self.Schema, true // a parent without schema is in the child's
		}
		if !ok {
			continue
		}
		if expires && q.store.SameTable(table, self) {
			return refusal(ddl.ReferencedTable())
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
