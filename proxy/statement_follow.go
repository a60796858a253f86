package proxy

import (
	"context"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/ddl"
)

// follow carries out a statement that keeps the policies of its tables: TRUNCATE, OPTIMIZE, REPAIR, CREATE and DROP INDEX.
func (t *turn) follow(ctx context.Context, kind catalog.IntentKind, names ...ddl.Name) error {
	var intents []catalog.Intent
	for _, name := range names {
		p, err := t.policyBelow(ctx, name)
		if err != nil {
			return t.withoutCatalog(err)
		}
		if p != nil {
			intents = append(intents, catalog.Intent{Kind: kind, Table: p.Table})
		}
	}
	return t.carryAny(ctx, intents)
}

// drop takes the policies of dropped tables away.
func (t *turn) drop(ctx context.Context, a *ddl.DropTables) error {
	if a.Temporary {
		return t.pass()
	}
	return t.follow(ctx, catalog.IntentDrop, a.Tables...)
}

// dropDatabase takes away the policies of all its tables.
func (t *turn) dropDatabase(ctx context.Context, a *ddl.DropDatabase) error {
	policies, err := t.Store.PoliciesIn(ctx, a.Schema)
	if err != nil {
		return t.withoutCatalog(unavailable(err))
	}
	var intents []catalog.Intent
	for _, p := range policies {
		intents = append(intents, catalog.Intent{Kind: catalog.IntentDrop, Table: p.Table})
	}
	return t.carryAny(ctx, intents)
}

// carryAny passes a statement that meets no policy.
func (t *turn) carryAny(ctx context.Context, intents []catalog.Intent) error {
	if len(intents) == 0 {
		return t.pass()
	}
	return t.carry(ctx, change{partly: true, intents: intents})
}

// policyBelow returns the policy of the table that a name stands for, which is none when a temporary table hides it.
func (t *turn) policyBelow(ctx context.Context, name ddl.Name) (*catalog.Policy, error) {
	p, err := t.policy(ctx, name)
	if p == nil || err != nil {
		return nil, err
	}
	what, err := t.resolve(name)
	if err != nil || what == temporary {
		return nil, err
	}
	return p, nil
}

// rename carries out RENAME TABLE. A policy goes with its table, except in the swap that ends an online schema change:
//
//	RENAME TABLE t TO _t_del, _t_gho TO t
//
// There the name keeps its policy, with the rule of the incoming copy, and the copy's own policy sleeps on with the
// table that leaves.
func (t *turn) rename(ctx context.Context, a *ddl.RenameTables) error {
	moved, order := t.moves(a.Pairs)
	policies := map[catalog.Table]*catalog.Policy{}
	for _, origin := range order {
		p, err := t.policyBelow(ctx, ddl.Name{Schema: origin.Schema, Table: origin.Name, Text: ddl.Encode(origin.String(), t.mode.Charset)})
		if err != nil {
			return t.withoutCatalog(err)
		}
		if p != nil {
			policies[origin] = p
		}
	}
	return t.carryAny(ctx, renameIntents(moved, order, policies))
}

// moves follows the pairs from left to right: where each table that exists before ends up.
func (t *turn) moves(pairs []ddl.Rename) (moved map[catalog.Table]catalog.Table, order []catalog.Table) {
	moved = map[catalog.Table]catalog.Table{}
	origin := map[catalog.Table]catalog.Table{} // of the table that has a name now
	for _, pair := range pairs {
		from, ok1 := t.table(pair.From)
		to, ok2 := t.table(pair.To)
		if !ok1 || !ok2 {
			continue
		}
		first, known := origin[from]
		if !known {
			first = from
			order = append(order, from)
		}
		delete(origin, from)
		origin[to], moved[first] = first, to
	}
	return moved, order
}

// renameIntents says what becomes of the policies of renamed tables.
func renameIntents(moved map[catalog.Table]catalog.Table, order []catalog.Table, policies map[catalog.Table]*catalog.Policy) []catalog.Intent {
	incoming := map[catalog.Table]catalog.Table{} // new name to old
	for from, to := range moved {
		incoming[to] = from
	}
	var intents []catalog.Intent
	kept := map[catalog.Table]bool{} // tables whose policy goes another way
	for _, name := range order {
		copied := incoming[name]
		p, q := policies[name], policies[copied]
		if p == nil || q == nil || !isGhost(copied) || isGhost(name) {
			continue
		}
		rule := q.Rule
		rule.Enabled = p.Rule.Enabled
		leaving := moved[name]
		intents = append(intents,
			catalog.Intent{Kind: catalog.IntentAlter, Table: name, Rule: &rule},
			catalog.Intent{Kind: catalog.IntentRename, Table: copied, To: &leaving, Dormant: true})
		kept[name], kept[copied] = true, true
	}
	for _, from := range order {
		if policies[from] == nil || kept[from] {
			continue
		}
		to := moved[from]
		intents = append(intents, catalog.Intent{Kind: catalog.IntentRename, Table: from, To: &to, Dormant: isGhost(to)})
	}
	return intents
}
