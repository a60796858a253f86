package statement

import (
	"context"
	"errors"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/ddl"
)

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
	q.keepWarnings()
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
			catalog.Declaration{Table: table, Rule: rule, Arm: wakes(a.Clause, p), FromDump: dumped, Base: baseOf(p)})
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
