package catalog

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/ttlproxy/ttlproxy/catalog/tables"
)

// ErrPolicyChanged says that a policy is not in the version the caller has seen.
var ErrPolicyChanged = errors.New("policy has changed meanwhile")

// ErrStageOver says that a DDL has been settled already, by whoever.
var ErrStageOver = fmt.Errorf("the statement is settled: %w", ErrPolicyChanged)

// ErrTableInDDL says that another statement is changing the policy's table right now.
var ErrTableInDDL = errors.New("another statement is changing the table")

// ErrRuleChanged says that a rule was made of one that is not in force any more.
var ErrRuleChanged = errors.New("the TTL of the table has been changed meanwhile")

// Base is the policy that a rule was made of: whoever says one thing about a TTL leaves the rest as it is, so what
// somebody else has said meanwhile must not be lost. A policy of 0 stands for none.
type Base struct {
	Policy uint64
	Rule   Rule
}

// holds says ErrRuleChanged if the policy, or that there is none, is not what it was. Nil stands for any.
func (b *Base) holds(now Policy) error {
	if b == nil || b.Policy == now.ID && b.Rule.Equal(now.Rule) {
		return nil
	}
	return ErrRuleChanged
}

// Declaration is a rule for a table that comes without native DDL.
type Declaration struct {
	Table Table
	Rule  Rule
	// Arm wakes a policy that is disarmed or dormant: TTL = … or TTL_ENABLE='ON' was said.
	Arm bool
	// FromDump waits for approval whatever the brake says: the clause came from a dump.
	FromDump bool
	// Base is what Rule was made of; nil if it says everything itself.
	Base *Base
}

// require says why the policy waits for approval, whatever the brake says.
func (d Declaration) require() string {
	if d.FromDump {
		return fromDump
	}
	return ""
}

// Declare gives a table a policy, or changes the one it has, in one transaction: when it returns
// nil no proxy deletes another row under the old rule. A rule that changes nothing keeps version,
// jobs and approval, as long as the table is the one it was; otherwise Arm accepts the new table as
// the policy's, and without Arm the policy comes back disarmed.
func (s *Store) Declare(ctx context.Context, who Client, d Declaration) (Policy, error) {
	d.Table = s.Stored(d.Table)
	for range lookAttempts {
		p, err := s.declare(ctx, who, d)
		if !errors.Is(err, ErrPolicyChanged) {
			return p, err
		}
	}
	return Policy{}, fmt.Errorf("declare TTL of %s: %w", d.Table, ErrPolicyChanged)
}

// declare is Declare, or says ErrPolicyChanged.
func (s *Store) declare(ctx context.Context, who Client, d Declaration) (Policy, error) {
	read, err := s.Policy(ctx, d.Table)
	if err != nil && !errors.Is(err, ErrNoPolicy) {
		return Policy{}, err
	}
	seen, err := s.Look(ctx, d.Table)
	if err != nil {
		return Policy{}, err
	}
	if !seen.Exists {
		return Policy{}, fmt.Errorf("declare TTL of %s: %w", d.Table, tables.ErrNoTable)
	}
	return s.declareOn(ctx, who, d, read, seen)
}

// declareOn declares for what was seen of a table. That belongs to the policy that was read before
// it; another one by now is about a table that was not looked at.
func (s *Store) declareOn(ctx context.Context, who Client, d Declaration, read Policy,
	seen tables.Seen,
) (out Policy, err error) {
	was, err := s.compareWith(ctx, read, seen)
	if err != nil {
		return out, err
	}

	err = s.txAlone(ctx, "declare TTL of "+d.Table.String(), func(tx *sql.Tx) error {
		old, err := s.policy(ctx, tx, d.Table)
		switch {
		case (err == nil || errors.Is(err, ErrNoPolicy)) && old.Stage == nil && !old.sameAs(read):
			return ErrPolicyChanged
		case err != nil && !errors.Is(err, ErrNoPolicy):
			return err
		case old.Stage != nil:
			return ErrTableInDDL
		}
		if changed := d.Base.holds(old); changed != nil {
			return changed
		}
		if err != nil {
			out, err = s.create(ctx, tx, who, d, PolicyArmed, seen)
			return err
		}

		out, err = s.redeclare(ctx, tx, who, old, d, was)
		return err
	})

	return out, err
}

// redeclare changes a known policy, unless there is nothing to change.
func (s *Store) redeclare(ctx context.Context, tx *sql.Tx, who Client, old Policy, d Declaration,
	was compared,
) (Policy, error) {
	if was.altered() {
		if err := s.doubt(ctx, tx, &old); err != nil {
			return old, err
		}
	}
	if was.How > tables.Changed || d.FromDump || d.Arm && was.Now.AnyHeld() ||
		old.State != PolicyArmed || !old.Rule.Equal(d.Rule) {
		return s.change(ctx, tx, who, old, d, was)
	}
	if was.altered() {
		if err := s.endAltered(ctx, tx, old); err != nil {
			return old, err
		}
	}
	if was.How == tables.Changed {
		return old, s.learnIdentity(ctx, tx, old.ID, was.seen.Server, was.Now)
	}
	return old, nil
}

// endAltered ends the jobs that were begun before a table was altered around the proxy.
func (s *Store) endAltered(ctx context.Context, tx *sql.Tx, p Policy) error {
	if err := s.bar(ctx, tx, p.ID); err != nil {
		return err
	}
	return s.planAnew(ctx, tx, p.ID, "the table was altered outside ttlproxy")
}

// change writes a new rule over a known policy and ends the jobs of the old one. A table that is
// not the one that the policy was declared on disarms it, and one that may hold other rows waits
// for approval, unless it is declared to be the policy's.
func (s *Store) change(ctx context.Context, tx *sql.Tx, who Client, old Policy, d Declaration,
	was compared,
) (Policy, error) {
	if err := s.bar(ctx, tx, old.ID); err != nil {
		return old, err
	}

	seen, require := was.seen, d.require()
	state, reason, kind := old.State, old.Reason, EventChanged
	switch {
	case d.Arm && (state != PolicyArmed || was.How >= tables.Unsure):
		state, reason, kind = PolicyArmed, "", EventArmed
	case state == PolicyArmed && was.How == tables.Stranger:
		state, reason, kind = PolicyDisarmed, was.Why, EventDisarmed
	case state == PolicyArmed && was.How == tables.Unsure && require == "":
		require = was.Why
	}

	if !d.Arm && was.How != tables.Stranger {
		seen.Incarnation = was.Now // a partition that is held stays so
	}

	shape := seen.Shape
	if state == PolicyDisarmed {
		shape = old.Shape // what it was armed on
	}

	released := d.Arm && was.Now.AnyLasts() // rows that no approval has been about
	if err := s.writeRule(ctx, tx, old, ruleWrite{
		rule: d.Rule, state: state, reason: reason, shape: shape, require: require,
		keepApproval: state == old.State && was.How <= tables.Changed && old.Rule.sameExpiry(d.Rule) &&
			old.Approved() && !released,
	}); err != nil {
		return old, err
	}

	if err := s.forgetOrigin(ctx, tx, old, d.Rule, state); err != nil {
		return old, err
	}
	if err := s.endChanged(ctx, tx, old, d.Rule, state == PolicyArmed && was.How < tables.Unsure); err != nil {
		return old, err
	}
	if d.Arm && d.Rule.Enabled && old.Rule.sameExpiry(d.Rule) {
		if err := s.runReleased(ctx, tx, old.ID, was.Now); err != nil {
			return old, err
		}
	}

	if state != PolicyDisarmed {
		if err := s.rememberIdentity(ctx, tx, old.ID, seen); err != nil {
			return old, err
		}
	}

	p, err := s.policy(ctx, tx, d.Table)
	if err != nil {
		return old, err
	}

	text := p.Rule.String()
	if kind == EventDisarmed {
		text = reason
	}

	return p, s.record(ctx, tx, p.event(kind, who.Account, text))
}

// endChanged ends the jobs of a policy that gets another rule. If that expires the same rows, and
// may go on, another job is requested in place of a running one, so that a changed limit does not
// make due rows wait for the next interval.
func (s *Store) endChanged(ctx context.Context, tx *sql.Tx, old Policy, next Rule, goesOn bool) error {
	jobs, err := s.openJobs(ctx, tx, old.ID)
	if err != nil {
		return err
	}
	if err := s.endJobs(ctx, tx, old.ID, JobCancelled, "the policy was changed"); err != nil {
		return err
	}
	if len(jobs) == 0 || !goesOn || !next.Enabled || !old.Rule.sameExpiry(next) {
		return nil
	}
	_, err = s.exec(ctx, tx, requestRun, Replanner, old.ID)
	return err
}

// Remove removes the policy that a name has, or returns ErrNoPolicy.
func (s *Store) Remove(ctx context.Context, who Client, t Table) error {
	t = s.Stored(t)
	there := false
	err := s.txAlone(ctx, "remove TTL of "+t.String(), func(tx *sql.Tx) error {
		if err := s.forgetHome(ctx, tx, t, 0); err != nil {
			return err
		}

		p, err := s.policy(ctx, tx, t)
		switch {
		case errors.Is(err, ErrNoPolicy):
			return nil // what the name remembered is forgotten all the same
		case err != nil:
			return err
		case p.Stage != nil:
			return ErrTableInDDL
		}

		there = true
		if err := s.removeCopies(ctx, tx, who.Account, p); err != nil {
			return err
		}

		return s.remove(ctx, tx, who.Account, p, EventRemoved, "REMOVE TTL")
	})
	if err == nil && !there {
		err = ErrNoPolicy
	}

	return err
}

// remove deletes a policy with everything that depends on it; its history and events stay.
func (s *Store) remove(ctx context.Context, tx *sql.Tx, actor string, p Policy, kind EventKind, why string) error {
	if err := s.bar(ctx, tx, p.ID); err != nil {
		return err
	}
	if err := s.endJobs(ctx, tx, p.ID, JobCancelled, why); err != nil {
		return err
	}
	if err := s.execAll(ctx, tx, []any{p.ID}, deletePolicy, deletePolicyPause, deleteDepartures); err != nil {
		return err
	}
	return s.record(ctx, tx, p.event(kind, actor, why))
}

// create inserts a new policy, with the rows that depend on it.
func (s *Store) create(ctx context.Context, tx *sql.Tx, who Client, d Declaration, state PolicyState,
	seen tables.Seen,
) (Policy, error) {
	id, err := s.insertPolicy(ctx, tx, who.Account, newPolicy{Declaration: d, state: state, shape: seen.Shape})
	if err != nil {
		return Policy{}, err
	}
	if err := s.rememberIdentity(ctx, tx, id, seen); err != nil {
		return Policy{}, err
	}
	if err := s.forgetHome(ctx, tx, d.Table, id); err != nil {
		return Policy{}, err
	}

	p, err := s.policy(ctx, tx, d.Table)
	if err != nil {
		return p, err
	}

	return p, s.record(ctx, tx, p.event(EventDeclared, who.Account, p.Rule.String()))
}

// newPolicy is a policy to be inserted; stage is empty unless its DDL is still to come.
type newPolicy struct {
	Declaration
	state PolicyState
	shape tables.Shape
	stage stageColumns
}

// insertPolicy inserts a policy with its pause and schedule rows. There is no batch of its own to bar yet, but
// one that takes rows of its table along has read that there is no such policy.
func (s *Store) insertPolicy(ctx context.Context, tx *sql.Tx, owner string, n newPolicy) (uint64, error) {
	if err := s.Reserved(n.Table); err != nil {
		return 0, err
	}

	options, err := n.Rule.optionsJSON()
	if err != nil {
		return 0, err
	}

	if err := s.barTakers(ctx, tx, 0); err != nil {
		return 0, err
	}

	r, g := n.Rule, n.stage
	id, err := s.insert(ctx, tx, insertPolicy, n.Table.Schema, n.Table.Name, r.Column, r.Literal, r.Unit, r.Enabled,
		r.JobInterval, r.TimeZone, r.zoneSource(), options, n.state, "", n.shape.Columns, n.shape.PrimaryKey,
		n.FromDump, n.require(), owner, g.server, g.boot, g.connection, g.node, g.server, g.intent)
	if err != nil {
		return 0, err
	}

	return id, s.execAll(ctx, tx, []any{id}, insertPolicyPause, insertPolicySchedule)
}

// ruleWrite is what writeRule makes of a policy.
type ruleWrite struct {
	rule         Rule
	state        PolicyState
	reason       string
	shape        tables.Shape
	require      string // why it waits for approval from now on, whatever the brake says; empty for what it was
	keepApproval bool   // it was approved, and the rule expires the same rows as before
}

// writeRule gives a policy a rule, a state and a new version, and ends its stage.
func (s *Store) writeRule(ctx context.Context, tx *sql.Tx, old Policy, w ruleWrite) error {
	options, err := w.rule.optionsJSON()
	if err != nil {
		return err
	}

	r, required := w.rule, clip(w.require)
	if required == "" && old.Approval.Required {
		required = old.Approval.Reason
	}

	n, err := s.exec(ctx, tx, updateRule, r.Column, r.Literal, r.Unit, r.Enabled, r.JobInterval, r.TimeZone,
		r.zoneSource(), options,
		w.state, w.reason, w.shape.Columns, w.shape.PrimaryKey, w.require != "" || old.Approval.Required, required,
		w.keepApproval && w.require == "", old.ID, old.Version)
	if err == nil && n == 0 {
		err = ErrPolicyChanged
	}
	if err != nil {
		return err
	}

	return s.prolong(ctx, tx, old.ID, w.rule)
}

// clip shortens a reason to the room that the catalog has for it.
func clip(reason string) string {
	const room = 255
	if letters := []rune(reason); len(letters) > room {
		return string(letters[:room-1]) + "…"
	}
	return reason
}

// bar makes every batch planned so far for the policy impossible, and those of others that take rows
// of its table along. It comes first in each transaction that stops or changes a policy, before the
// policy's own row.
func (s *Store) bar(ctx context.Context, tx *sql.Tx, policy uint64) error {
	if err := s.execAll(ctx, tx, []any{policy}, bumpSchedule, bumpTasks, barDepartures); err != nil {
		return err
	}
	return s.barTakers(ctx, tx, policy)
}

// barTakers makes every batch planned so far impossible that takes rows of other tables along, except those
// of one policy. A job that is created meanwhile finds what has been changed. One that waited for another table's
// policy looks for itself whether it still has to: whoever has just lifted what held it is told nothing else.
func (s *Store) barTakers(ctx context.Context, tx *sql.Tx, except uint64) error {
	rows, err := tx.QueryContext(ctx, s.sql(selectTakersAlong), except)
	if err != nil {
		return err
	}
	takers, err := collect(rows, func(r *sql.Rows) (id uint64, err error) { return id, r.Scan(&id) })
	if err != nil {
		return err
	}

	for _, taker := range takers {
		if err := s.execAll(ctx, tx, []any{taker}, bumpSchedule, bumpTasks, lookAgainAlong); err != nil {
			return err
		}
	}
	return nil
}

// barAll does the same for all policies.
func (s *Store) barAll(ctx context.Context, tx *sql.Tx) error {
	return s.execAll(ctx, tx, nil, bumpAllSchedules, bumpAllTasks, barAllDepartures)
}

func (r Rule) optionsJSON() (string, error) {
	if len(r.Options) == 0 {
		return "{}", nil
	}
	text, err := json.Marshal(r.Options)
	return string(text), err
}

func (r Rule) zoneSource() ZoneSource {
	if r.ZoneSource == "" {
		return ZoneFromServer
	}
	return r.ZoneSource
}
