package statement

import (
	"context"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/proxy/wire"
)

// follow carries out a statement that needs the same right on each of its tables: DROP, TRUNCATE,
// OPTIMIZE, REPAIR, CREATE and DROP INDEX.
func (q *request) follow(
	ctx context.Context, kind catalog.IntentKind, of func(table string) right, names ...ddl.Name,
) error {
	var intents []catalog.Intent
	for _, name := range names {
		p, err := q.policyBelow(ctx, name)
		if err != nil {
			return q.withoutCatalog(ctx, err)
		}
		if p != nil {
			intents = append(intents, catalog.Intent{Kind: kind, Table: p.Table})
		}
	}

	if len(intents) == 0 {
		return q.pass()
	}
	if err := q.needsForEach(of, names...); err != nil {
		return err
	}

	return q.carry(ctx, change{partly: true, intents: intents, views: kind == catalog.IntentDrop})
}

// drop removes the policies of dropped tables.
func (q *request) drop(ctx context.Context, a *ddl.DropTables) error {
	if a.Temporary {
		return q.pass()
	}
	return q.follow(ctx, catalog.IntentDrop, toDrop, a.Tables...)
}

// dropDatabase removes the policies of all tables in a schema.
func (q *request) dropDatabase(ctx context.Context, a *ddl.DropDatabase) error {
	asking, cancel := context.WithTimeout(ctx, askWait)
	defer cancel()

	policies, err := q.store.PoliciesIn(asking, a.Schema)
	if err != nil {
		return q.withoutCatalog(ctx, unavailable(err))
	}

	var intents []catalog.Intent
	for _, p := range policies {
		intents = append(intents, catalog.Intent{Kind: catalog.IntentDrop, Table: p.Table})
	}

	if len(intents) == 0 {
		return q.pass()
	}

	needed, err := q.toDropDatabase(a.Schema)
	if err == nil {
		err = q.needsNow(needed)
	}
	if wire.RefusedWith(err, ddl.CodeTableDenied) {
		return q.pass() // the server says so of the schema
	}
	if err != nil {
		return err
	}

	return q.carry(ctx, change{partly: true, intents: intents, views: true})
}

// policyBelow returns the policy of the table that a name stands for, which is none when a
// temporary table hides it, or when the server will refuse the statement anyway.
func (q *request) policyBelow(ctx context.Context, name ddl.Name) (*catalog.Policy, error) {
	p, err := q.policy(ctx, name)
	if p == nil || err != nil {
		return nil, err
	}
	what, err := q.resolve(name)
	if err != nil || what == temporary || what == unseen {
		return nil, err
	}
	return p, nil
}

// rename carries out RENAME TABLE: a policy goes with its table. The catalog knows the swap that
// ends an online schema change (t TO _t_del, _t_gho TO t): there the name keeps its policy, and the
// copy's stays dormant with the table that leaves. Temporary tables that hide others play no part
// in it.
func (q *request) rename(ctx context.Context, a *ddl.RenameTables) error {
	var intents []catalog.Intent
	var moves []passage
	met := false
	for _, pair := range a.Pairs {
		from, ok1 := q.session.table(pair.From)
		to, ok2 := q.session.table(pair.To)
		if !ok1 || !ok2 {
			return q.pass() // the server says that no schema is chosen
		}

		p, err := q.policy(ctx, pair.From)
		if err != nil {
			return q.withoutCatalog(ctx, err)
		}

		if p != nil {
			what, err := q.resolve(pair.From)
			if err != nil {
				return err
			}
			if what == temporary {
				continue
			}

			met = true
		}

		moves = append(moves, passage{pair, from, to, p})
		intents = append(intents, catalog.Intent{
			Kind: catalog.IntentRename, Table: from, To: &to,
			Dormant: isGhost(to),
		})
	}

	if !met {
		return q.pass()
	}
	if err := q.needsToRename(a.Pairs); err != nil {
		return err
	}
	if err := q.mayMoveAll(moves); err != nil {
		return err
	}

	return q.carry(ctx, change{partly: true, intents: intents, views: true})
}
