package catalog

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/ttlproxy/ttlproxy/catalog/tables"
)

// outcome is what became of a DDL for one table.
type outcome int

const (
	happened outcome = iota
	refused
	unclear
)

// Commit gives the policies what the DDL intended, with the new identity of each table. Call it
// after the server's OK.
func (g *Staged) Commit(ctx context.Context) error {
	return g.end(ctx, believe)
}

// Discard makes the policies what they were. Call it after an error of the server that means that
// nothing happened at all.
func (g *Staged) Discard(ctx context.Context) error {
	return g.end(ctx, func(Policy, looks) outcome { return refused })
}

// Settle looks at each table to see whether the DDL has happened. Call it after an error of a
// statement that may have been carried out in part, or if no answer has come.
func (g *Staged) Settle(ctx context.Context) error {
	return g.end(ctx, judge)
}

// looks are the tables of a stage after the DDL, under their old and new names.
type looks map[Table]tables.Seen

// end writes the outcome of all tables in one transaction.
func (g *Staged) end(ctx context.Context, decide func(Policy, looks) outcome) error {
	if g.Empty() {
		return nil
	}
	var err error
	g.Warnings, err = g.store.conclude(ctx, g.ids, g.mark, decide)
	return err
}

// conclude ends the stage of a mark of these policies.
func (s *Store) conclude(ctx context.Context, ids []uint64, mark string,
	decide func(Policy, looks) outcome,
) (warnings []string, err error) {
	var staged []Policy
	after := looks{}
	for _, id := range ids {
		p, err := s.PolicyByID(ctx, id)
		if err != nil {
			return nil, fmt.Errorf("end stage: %w", err)
		}
		if p.Stage == nil || p.Stage.Mark != mark {
			return nil, fmt.Errorf("end stage of %s: %w", p.Table, ErrStageOver)
		}

		for _, t := range []Table{p.Table, p.Stage.target()} {
			if err := s.lookOnce(ctx, after, t); err != nil {
				return nil, err
			}
		}

		if p.Stage.found, err = s.trace(ctx, p, after[p.Stage.target()]); err != nil {
			return nil, fmt.Errorf("end stage of %s: %w", p.Table, err)
		}
		if back := p.Stage.Restores; back != nil {
			if p.Stage.arrival, err = s.arrived(ctx, *back, after[p.Stage.target()]); err != nil {
				return nil, fmt.Errorf("end stage of %s: %w", p.Table, err)
			}
		}

		staged = append(staged, p)
	}

	ends := make([]ending, len(staged))
	for i, p := range staged {
		ends[i] = endingOf(p, decide(p, after), after)
	}

	if ends, err = s.settleNames(ctx, ends, after); err != nil {
		return nil, fmt.Errorf("end stage: %w", err)
	}

	err = s.tx(ctx, "end stage", func(tx *sql.Tx) error { return s.writeEndings(ctx, tx, ends) })
	return warningsOf(ends), err
}

// lookOnce looks at a table, unless that has been done.
func (s *Store) lookOnce(ctx context.Context, after looks, t Table) (err error) {
	if _, looked := after[t]; !looked {
		after[t], err = s.Look(ctx, t)
	}
	return err
}

// warningsOf are what the client should know.
func warningsOf(ends []ending) (all []string) {
	for _, e := range ends {
		if e.warning != "" {
			all = append(all, e.warning)
		}
		all = append(all, e.shared...)
	}
	return all
}

// ending is what becomes of one policy.
type ending struct {
	policy Policy
	table  Table // where it lives now
	seen   tables.Seen
	rule   Rule
	state  PolicyState // empty removes the policy
	reason string
	kind   EventKind
	text   string
	done   bool // the DDL has happened
	moved  bool // the DDL renamed its table
	// anew says that the table holds rows, or dates, that were not there before: no approval covers
	// them, and no running job does.
	anew bool
	// require says why the policy waits for approval from now on; empty if there is no new reason.
	require string
	// swapped says that another table has taken the name, and the policy stays with the name.
	swapped  bool
	dormancy dormancy // what it remembers, or remembered
	// bound are policies whose pause, missing approval and TTL_ENABLE='OFF' apply to this one, too.
	bound   []Policy
	warning string   // for the client
	shared  []string // what became of bound, for the client
}

// endingOf decides what becomes of a policy, without looking at the others.
func endingOf(p Policy, o outcome, after looks) ending {
	g := p.Stage
	e := ending{
		policy: p, table: p.Table, seen: after[p.Table], rule: p.Rule, state: g.Before, reason: g.BeforeReason,
		kind: EventFollowed,
	}
	switch {
	case g.FromDump && o != refused:
		e.require = fromDump
	case !g.Arm && g.Kind != IntentTruncate: // which leaves none of the rows that are asked about
		e.require = g.Ask
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
		e.reason = fmt.Sprintf("the table does not show whether a statement (%s) was carried out: look at it, then "+
			"ALTER TABLE … TTL_ENABLE='ON'", g.Kind)
		e.text = e.reason
		e.warning = "the TTL policy of " + e.table.String() + " is disarmed: " + e.reason
		return e
	case happened:
	}

	return e.followed(after)
}

// followed applies the intent of a DDL that has happened.
func (e ending) followed(after looks) ending {
	g := e.policy.Stage
	e.text, e.done = string(g.Kind), true
	if g.Kind == IntentDrop || g.Remove || g.Kind == IntentReplace && g.Rule == nil {
		e.state, e.kind = "", EventDropped
		return e
	}

	e.table = g.target()
	e.moved = e.table != e.policy.Table
	e.seen = after[e.table]
	if g.found.descent == itself {
		e.seen.Incarnation = g.holdForeign(e.seen)
	}
	if e.moved {
		e.kind, e.text = EventRenamed, fmt.Sprintf("%s to %s", e.policy.Table, e.table)
	}
	if g.Rule != nil {
		e.rule, e.kind, e.text = *g.Rule, EventChanged, g.Rule.String()
	}

	imports := g.Imports
	if g.Restores != nil && !g.arrival.back && !g.arrival.unknown {
		imports, e.text = "", "partition "+g.Restores.Partition+" has not come back"
	}
	e.anew = imports != "" || e.redates() || g.Kind == IntentReplace || e.cleared()
	if imports != "" {
		e.require = g.brought()
		e.kind, e.text = EventBraked, e.require+": no approval given before covers them"
		e.warning = e.awaited()
	}
	if why := g.Identity.Scattered(e.seen.Incarnation); why != "" && len(e.seen.Incarnation) == 1 && !g.Arm {
		e.anew, e.require, e.kind, e.text = true, why, EventBraked, why
		e.warning = e.awaited()
	}

	switch {
	case !e.seen.Exists:
		return e.disarm("the table does not exist any more")
	case g.found.descent == foreign && g.Kind != IntentRename:
		e = e.disarm(fmt.Sprintf("while a statement (%s) was carried out, another table may have taken its place: %s; "+
			"look at it, then ALTER TABLE … TTL_ENABLE='ON'", g.Kind, g.found.why))
		e.warning = "the TTL policy of " + e.table.String() + " is disarmed: " + e.reason
		return e
	case e.seen.Shape.Column(e.rule.Column) == "":
		return e.disarm("column " + e.rule.Column + " is gone")
	case g.Dormant:
		return e.sleep()
	case g.Before == "":
		e.state, e.kind = PolicyArmed, EventDeclared
	case g.Arm:
		e.state, e.reason = PolicyArmed, ""
	}

	return e
}

// cleared reports whether the DDL has left none of the rows: those that come after it are new to everybody.
func (e ending) cleared() bool {
	g := e.policy.Stage
	return g.Kind == IntentTruncate || g.Clears && !g.Identity.SharesID(e.seen.Incarnation)
}

// redates reports whether the DDL may have given the rows other dates under the name of the TTL column.
func (e ending) redates() bool {
	return e.policy.Stage.Redates || e.done && e.policy.Shape.Redates(e.seen.Shape, e.policy.Rule.Column, e.rule.Column)
}

// awaited says, to the client, what the policy waits for; nothing to one that restores a partition, and is told
// so in any case.
func (e ending) awaited() string {
	if e.policy.Stage.Restores != nil {
		return ""
	}
	return "the TTL of " + e.table.String() + " waits for APPROVE TTL JOB: " + e.require
}

func (e ending) disarm(why string) ending {
	e.state, e.reason, e.kind, e.text = PolicyDisarmed, why, EventDisarmed, why
	return e
}
