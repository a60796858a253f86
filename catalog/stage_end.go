package catalog

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
)

// outcome is what became of a DDL for one table.
type outcome int

const (
	happened outcome = iota
	refused
	unclear
)

// Commit gives the policies what the DDL intended, with the new identity of each table. Call it after the server's OK.
func (g *Staged) Commit(ctx context.Context) error {
	return g.end(ctx, func(Policy, looks) outcome { return happened })
}

// Discard gives the policies back what they were. Call it after the server's error, when it means that nothing happened at all.
func (g *Staged) Discard(ctx context.Context) error {
	return g.end(ctx, func(Policy, looks) outcome { return refused })
}

// Settle looks at each table to see whether the DDL has happened. Call it after an error of a statement that may have been
// done in part, or when no answer has come.
func (g *Staged) Settle(ctx context.Context) error {
	return g.end(ctx, judge)
}

// looks are the tables of a stage after the DDL, under their old and new names.
type looks map[Table]Seen

// end writes the outcome of all tables in one transaction.
func (g *Staged) end(ctx context.Context, decide func(Policy, looks) outcome) error {
	if g.Empty() {
		return nil
	}
	return g.store.conclude(ctx, g.ids, decide)
}

func (s *Store) conclude(ctx context.Context, ids []uint64, decide func(Policy, looks) outcome) error {
	var staged []Policy
	after := looks{}
	for _, id := range ids {
		p, err := s.PolicyByID(ctx, id)
		if err != nil {
			return fmt.Errorf("end stage: %w", err)
		}
		if p.Stage == nil {
			return fmt.Errorf("end stage of %s: %w", p.Table, ErrPolicyChanged)
		}
		for _, t := range []Table{p.Table, p.Stage.target()} {
			if _, looked := after[t]; looked {
				continue
			}
			if after[t], err = s.Look(ctx, t); err != nil {
				return err
			}
		}
		staged = append(staged, p)
	}
	ends := make([]ending, len(staged))
	for i, p := range staged {
		ends[i] = endingOf(p, decide(p, after), after)
	}
	keepNames(ends, after)
	return s.tx(ctx, "end stage", func(tx *sql.Tx) error { return s.writeEndings(ctx, tx, ends) })
}

// ending is what becomes of one policy.
type ending struct {
	policy Policy
	table  Table // where it lives now
	seen   Seen
	rule   Rule
	state  PolicyState // empty removes the policy
	reason string
	kind   EventKind
	text   string
	moved  bool // the DDL renamed its table
	// anew says that the table holds rows that were not there before: no approval covers them, and no job that runs.
	anew bool
	// require says why the policy waits for approval from now on; empty for no other reason than before.
	require string
	// swapped says that another table has taken the name, and the policy stays with the name.
	swapped bool
}

// endingOf decides what becomes of a policy, without looking at the others.
func endingOf(p Policy, o outcome, after looks) ending {
	g := p.Stage
	e := ending{policy: p, table: p.Table, seen: after[p.Table], rule: p.Rule, state: g.Before, reason: g.BeforeReason, kind: EventFollowed}
	if g.Hold && o != refused {
		e.require = fromDump
	}
	switch o {
	case refused:
		e.text = fmt.Sprintf("%s did not happen", g.Kind)
		if g.Before == "" {
			e.kind = EventRemoved
		}
		return e
	case unclear:
		e.state, e.kind = PolicyDisarmed, EventDisarmed
		e.reason = fmt.Sprintf("the connection ended in the middle of a statement (%s), and the table does not tell whether it was done: "+
			"look at it, then ALTER TABLE … TTL_ENABLE='ON'", g.Kind)
		e.text = e.reason
		return e
	case happened:
	}
	return e.followed(after)
}

// followed applies the intent of a DDL that has happened.
func (e ending) followed(after looks) ending {
	g := e.policy.Stage
	e.text = string(g.Kind)
	if g.Kind == IntentDrop || g.Remove || g.Kind == IntentReplace && g.Rule == nil {
		e.state, e.kind = "", EventDropped
		return e
	}
	e.table = g.target()
	e.moved = e.table != e.policy.Table
	e.seen = after[e.table]
	if e.moved {
		e.kind, e.text = EventRenamed, fmt.Sprintf("%s to %s", e.policy.Table, e.table)
	}
	if g.Rule != nil {
		e.rule, e.kind, e.text = *g.Rule, EventChanged, g.Rule.String()
	}
	if e.anew = g.Imports != "" || g.Kind == IntentReplace; g.Imports != "" {
		e.require = "rows were brought in by " + g.Imports
		e.kind, e.text = EventBraked, e.require+": no approval given before covers them"
	}
	switch {
	case !e.seen.Exists:
		return e.disarm("the table does not exist any more")
	case columnLine(linesOf(e.seen.Shape), quotedColumn(e.seen.Shape, e.rule.Column)) == "":
		return e.disarm("column " + e.rule.Column + " is gone")
	case g.Dormant:
		e.state, e.reason, e.kind = PolicyDormant, "a copy that waits to take over a table's name", EventDormant
	case g.Before == "":
		e.state, e.kind = PolicyArmed, EventDeclared
	case g.Arm && (g.Kind != IntentRename || g.Before == PolicyDormant):
		e.state, e.reason = PolicyArmed, ""
	}
	return e
}

func (e ending) disarm(why string) ending {
	e.state, e.reason, e.kind, e.text = PolicyDisarmed, why, EventDisarmed, why
	return e
}

// keepNames handles the swap that ends an online schema change (RENAME t TO _t_del, _t_gho TO t). When the incoming table
// holds a copy of the rule, the policy of the name stays with the name, with its approval, pauses and history; the copy goes
// away with the old table, asleep.
func keepNames(ends []ending, after looks) {
	for i := range ends {
		out := &ends[i]
		j := slices.IndexFunc(ends, func(in ending) bool {
			return in.moved && in.table == out.policy.Table && in.rule.Equal(out.rule) && in.policy.ID != out.policy.ID
		})
		if !out.moved || j < 0 || out.state == "" {
			continue
		}
		in := &ends[j]
		name, gone := out.policy.Table, out.table
		out.table, out.seen, out.moved, out.swapped = name, after[name], false, true
		out.state, out.reason = out.policy.Stage.Before, out.policy.Stage.BeforeReason
		out.kind, out.text = EventFollowed, fmt.Sprintf("the table was replaced by %s, which holds a copy of the policy", in.policy.Table)
		in.table, in.seen = gone, after[gone]
		in.moved = in.table != in.policy.Table
		if in.moved {
			in.state, in.reason, in.kind = PolicyDormant, fmt.Sprintf("the table has given its name to %s", name), EventDormant
		} else {
			in.state, in.reason = in.policy.Stage.Before, in.policy.Stage.BeforeReason
		}
	}
}
