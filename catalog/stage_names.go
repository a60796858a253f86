package catalog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/ddl"
)

// settleNames decides what becomes of policies whose tables have taken other names, or were copied.
// The name decides: a copy brings its columns and nothing else, a name without a policy wakes none,
// and what is paused, held or off stays so.
func (s *Store) settleNames(ctx context.Context, ends []ending, after looks) ([]ending, error) {
	for i := range ends {
		if err := s.remember(ctx, &ends[i], after); err != nil {
			return nil, err
		}
		if err := s.settleCopy(ctx, &ends[i]); err != nil {
			return nil, err
		}
	}

	for i := range ends {
		if !ends[i].takesNameAsleep() {
			continue
		}

		other, err := s.settleSleeper(ctx, ends, i, after)
		if err != nil {
			return nil, err
		}
		if other != nil {
			ends = append(ends, *other)
		}
	}

	yieldNames(ends)
	return ends, s.bindNames(ctx, ends)
}

// yieldNames ends each policy that would stay with a name that another policy's table has taken:
// its own is not there.
func yieldNames(ends []ending) {
	for i := range ends {
		stays := &ends[i]
		if stays.moved || stays.state == "" {
			continue
		}
		for _, in := range ends {
			if in.moved && in.state != "" && in.table == stays.table {
				stays.state, stays.kind, stays.text = "", EventDropped,
					fmt.Sprintf("the table of %s has taken its name", in.policy.Table)
				stays.warning = fmt.Sprintf("the TTL policy of %s is gone: %s", stays.table, stays.text)
			}
		}
	}
}

// takesNameAsleep reports whether a table with a dormant policy has got a name that is not a
// copy's.
func (e *ending) takesNameAsleep() bool {
	return e.moved && e.state == PolicyDormant && !e.policy.Stage.Dormant
}

// remember reads what a dormant policy remembers, and what one does that becomes dormant now. No
// policy can return to a name that another table has taken.
func (s *Store) remember(ctx context.Context, e *ending, after looks) (err error) {
	g := e.policy.Stage
	anew := e.done && (g.Declares || g.Kind == IntentCreate || g.Kind == IntentReplace)
	switch {
	case g.Before == PolicyDormant && !anew:
		e.dormancy, err = s.dormancy(ctx, s.db, e.policy.ID)
	case anew && g.Copy != nil:
		e.dormancy.Copy = *g.Copy
	case e.state == PolicyDormant && e.moved && !after[e.policy.Table].Exists:
		e.dormancy = dormancy{home: e.policy.Table, state: g.Before, reason: g.BeforeReason, approved: g.Approved}
	}

	if g.Altered || e.redates() {
		e.dormancy.approved = false
	}
	if e.redates() {
		e.dormancy.Copy = Copy{} // it does not hold the dates of its origin
	}

	return err
}

// sleep is what becomes of the policy of a table that gets the name of a copy.
func (e ending) sleep() ending {
	g := e.policy.Stage
	switch {
	case g.Before == PolicyDormant && e.moved:
		e.state, e.reason, e.kind = PolicyDormant, g.BeforeReason, EventDormant
		return e
	case e.moved:
		return e.stayDormant(fmt.Sprintf("the table gave up the name %s for that of an online schema change's copy",
			e.policy.Table))
	default:
		return e.stayDormant("its name is that of an online schema change's copy")
	}
}

// settleCopy gives a copied table no more than its origin has when the copy is made.
func (s *Store) settleCopy(ctx context.Context, e *ending) error {
	copied := e.policy.Stage.Copy
	if copied == nil || e.state == "" || !e.done {
		return nil
	}

	origin, err := s.PolicyByID(ctx, copied.Of)
	if errors.Is(err, ErrNoPolicy) {
		*e = e.stayDormant("the TTL of the table that it was copied from is gone")
		return nil
	}
	if err != nil {
		return err
	}

	e.bound = append(e.bound, origin)

	state, why := origin.State, origin.Reason
	if origin.State == PolicyStopped {
		state, why = origin.Stage.Before, origin.Stage.BeforeReason
	}

	switch {
	case e.state != PolicyArmed:
	case state != PolicyArmed:
		*e = e.stayDormant(fmt.Sprintf("the TTL of %s, from which it was copied, is %s (%s)", origin.Table, state, why))
	case !origin.Rule.Equal(e.rule):
		*e = e.stayDormant(fmt.Sprintf("the TTL of %s has changed while the table was copied from it", origin.Table))
	}

	return nil
}

// stayDormant leaves a policy dormant until a person wakes it, and tells the client.
func (e ending) stayDormant(why string) ending {
	e.state, e.reason, e.kind = PolicyDormant, asleep(why), EventDormant
	e.text = e.reason
	e.warning = "the TTL policy of " + e.table.String() + " is dormant: " + e.reason
	return e
}

// settleSleeper decides about a table with a dormant policy that has taken a name. It returns the
// ending of a policy that was not part of the statement and is concerned.
func (s *Store) settleSleeper(ctx context.Context, ends []ending, i int, after looks) (*ending, error) {
	in := &ends[i]
	if out := slices.IndexFunc(ends,
		func(o ending) bool { return o.moved && o.policy.Table == in.table && o.policy.ID != in.policy.ID }); out >= 0 {
		keepName(&ends[out], in, after)
		return nil, nil //nolint:nilnil // nobody else is concerned
	}

	if stale, err := s.policy(ctx, s.db, in.table); err == nil &&
		!slices.ContainsFunc(ends, func(e ending) bool { return e.policy.ID == stale.ID }) {
		return s.outlived(stale, in, after), nil
	} else if err != nil && !errors.Is(err, ErrNoPolicy) {
		return nil, err
	}

	if in.dormancy.home == in.table && in.policy.Stage.Stranger == "" {
		in.comeHome()
		return nil, nil //nolint:nilnil // nobody else is concerned
	}

	out, err := s.awayFrom(ctx, in, after)
	if err != nil {
		return nil, err
	}
	if out != nil {
		keepName(out, in, after)
		return out, nil
	}
	if why := in.policy.Stage.Stranger; why != "" {
		*in = in.disarm(why)
		return nil, nil //nolint:nilnil // nobody else is concerned
	}

	*in = in.stayDormant(fmt.Sprintf("the table has taken the name %s, which had no TTL", in.table))
	return nil, nil //nolint:nilnil // nobody else is concerned
}

// comeHome makes a policy what it was, when its table takes back the name that it had.
func (e *ending) comeHome() {
	g := e.policy.Stage
	g.Before, g.BeforeReason, g.Approved = e.dormancy.state, e.dormancy.reason, e.dormancy.approved
	e.state, e.reason = g.Before, g.BeforeReason
}

// awayFrom returns the policy of the name that a copy has taken, if its table has left that name in
// an earlier statement, as in a cut-over of two steps.
func (s *Store) awayFrom(ctx context.Context, in *ending, after looks) (*ending, error) {
	if in.dormancy.Of == 0 {
		return nil, nil //nolint:nilnil // it is nobody's copy
	}

	p, err := s.PolicyByID(ctx, in.dormancy.Of)
	if errors.Is(err, ErrNoPolicy) {
		return nil, nil //nolint:nilnil // the origin is gone
	}
	if err != nil || p.State != PolicyDormant {
		return nil, err
	}

	left, err := s.dormancy(ctx, s.db, p.ID)
	if err != nil || left.home != in.table {
		return nil, err
	}
	if err := s.lookOnce(ctx, after, p.Table); err != nil {
		return nil, err
	}

	known, err := s.identities(ctx, s.db, selectIdentities, p.ID, after[p.Table].Server)
	if err != nil {
		return nil, err
	}
	if c := tables.Compare(p.Shape, p.Rule.Column, known, after[p.Table]); c.How > tables.Changed {
		after[p.Table] = tables.Seen{} // what has its name now is not one of ours
	}

	p.Stage = in.policy.Stage.alike(p.Table, left.state, left.reason, left.approved)
	return &ending{policy: p, table: p.Table, seen: after[p.Table], rule: p.Rule, moved: true}, nil
}

// outlived ends the policy of a name whose table has vanished behind our back, so that nobody knows
// whether the copy is meant to go on: the policy stays with the name, and a person has to look.
func (s *Store) outlived(p Policy, in *ending, after looks) *ending {
	in.state, in.kind = "", EventDropped
	in.text = fmt.Sprintf("the name %s has a policy", in.table)
	if p.Stage != nil || p.State != PolicyArmed {
		return nil // the statement that changes it decides; one that is not armed stays as it is
	}
	p.Stage = in.policy.Stage.alike(p.Table, p.State, p.Reason, false)
	out := ending{policy: p, table: p.Table, seen: after[p.Table], rule: p.Rule}.
		disarm(fmt.Sprintf("the table was gone when %s took its name", in.policy.Table))
	out.warning = "the TTL policy of " + out.table.String() + " is disarmed: " + out.reason
	return &out
}

// alike is a stage of the same client for a policy that was not part of the statement.
func (i *StageInfo) alike(t Table, before PolicyState, reason string, approved bool) *StageInfo {
	return &StageInfo{Client: i.Client, At: i.At, stageIntent: stageIntent{
		Intent: Intent{Kind: i.Kind, Table: t}, Account: i.Account, Before: before, BeforeReason: reason,
		Approved: approved,
	}}
}

// keepName leaves the policy of a name with the name when a table with a dormant policy takes it:
// rule, pause, hold, approval and history stay what they are. Only the TTL column follows what was
// done to the copy. The copy's policy stays dormant, with the table that has left.
func keepName(out, in *ending, after looks) {
	name, left := in.table, out.table
	g := out.policy.Stage
	out.table, out.seen, out.swapped, out.warning = name, after[name], true, ""
	out.moved = out.policy.Table != name
	out.state, out.reason = g.Before, g.BeforeReason
	out.kind, out.text = EventFollowed, fmt.Sprintf("the table was replaced by %s", in.policy.Table)

	column, same, why := columnBrought(out, in)
	if why == "" && out.seen.Shape.Column(column) == "" {
		why = "column " + column + " is gone"
	}

	switch {
	case why == "":
		out.rule.Column = column
		out.anew = !same
	case out.state == PolicyArmed:
		*out = out.disarm(why)
		out.warning = "the TTL policy of " + name.String() + " is disarmed: " + why +
			"; look at it, then ALTER TABLE … TTL_ENABLE='ON'"
	}

	if out.warning == "" && in.overruled(out.policy.Rule) {
		out.warning = fmt.Sprintf("the TTL of %s stays as it was (%s); that of the copy was not adopted",
			name, out.rule)
	}

	in.table, in.seen, in.moved = left, after[left], left != in.policy.Table
	in.rule, in.dormancy = out.policy.Rule, dormancy{Copy: Copy{
		Of: out.policy.ID, Version: out.policy.Version + 1,
		Column: out.rule.Column,
	}}
	in.state, in.kind, in.warning = PolicyDormant, EventDormant, ""
	in.reason = asleep(fmt.Sprintf("the table has given its name to %s", name))
	in.text = in.reason

	in.bound = append(in.bound, out.policy)
	if !in.seen.Exists {
		in.state, in.kind, in.text = "", EventDropped, "the table of the dormant policy is gone"
	}
}

// overruled reports whether the copy said something else than the policy that stays, apart from the
// name of the column.
func (e *ending) overruled(by Rule) bool {
	rule := e.policy.Rule
	rule.Column = by.Column
	return !rule.Equal(by)
}

// columnBrought returns what the TTL column of a name is called in the table that has taken it.
// same says that the table is a copy of the one that it replaces, so that an approval applies to it
// as well. If the column cannot be known, why says so.
func columnBrought(out, in *ending) (column string, same bool, why string) {
	was := out.policy.Rule.Column
	tie := in.dormancy.Copy
	tied := tie.Of == out.policy.ID
	switch {
	case in.policy.Stage.Stranger != "":
		return "", false, "the table that took its name is not the copy that it was: " + in.policy.Stage.Stranger
	case tied && ddl.SameName(tie.Column, was):
		return in.rule.Column, !in.policy.Stage.Altered, ""
	case tied:
		return "", false, fmt.Sprintf("its TTL column was changed from %s to %s while a copy was made", tie.Column, was)
	case !ddl.SameName(in.rule.Column, was):
		return "", false,
			fmt.Sprintf("the table that took its name was not copied from this one, and has its TTL on column %s",
				in.rule.Column)
	}

	before := out.policy.Shape.Column(was)
	if now := out.seen.Shape.Column(was); !ddl.SameName(before, now) {
		return "", false,
			fmt.Sprintf("the table that took its name was not copied from this one, and its column is %s, not %s",
				now, before)
	}

	return was, false, ""
}

// bindNames lets pauses, missing approvals and TTL_ENABLE='OFF' stay with their names when tables
// with policies of their own trade places.
func (s *Store) bindNames(ctx context.Context, ends []ending) error {
	for i := range ends {
		in := &ends[i]
		if !in.moved || in.state == "" {
			continue
		}

		for _, out := range ends {
			if out.policy.Table == in.table && out.policy.ID != in.policy.ID {
				in.bound = append(in.bound, out.policy)
			}
		}

		stale, err := s.policy(ctx, s.db, in.table)
		switch {
		case errors.Is(err, ErrNoPolicy):
		case err != nil:
			return err
		case !slices.ContainsFunc(ends, func(e ending) bool { return e.policy.ID == stale.ID }):
			in.bound = append(in.bound, stale)
		}
	}
	return nil
}

// shareHolds makes a policy wait for what others wait for, and switches it off where they are.
func (s *Store) shareHolds(ctx context.Context, tx *sql.Tx, e *ending) error {
	e.shared = nil
	for _, other := range e.bound {
		var required, enabled bool
		var reason string
		err := tx.QueryRowContext(ctx, s.sql(selectRequired), other.ID).Scan(&required, &reason, &enabled)
		if isNoRows(err) {
			continue // it was removed meanwhile
		}
		if err != nil {
			return err
		}

		paused, err := s.exec(ctx, tx, sharePause, other.ID, e.policy.ID)
		if err != nil {
			return err
		}
		if required {
			e.require = reason
		}
		if e.state == PolicyDormant {
			continue
		}
		if !enabled && e.rule.Enabled && !e.policy.Stage.Arm {
			e.rule.Enabled = false
			e.shared = append(e.shared,
				fmt.Sprintf("the TTL of %s is off, as that of %s is: ALTER TABLE %[1]s TTL_ENABLE='ON'",
					e.table, other.Table))
		}
		if required && !e.policy.Approval.Required {
			e.shared = append(e.shared, fmt.Sprintf("the TTL of %s waits for APPROVE TTL JOB, as that of %s does",
				e.table, other.Table))
		}
		if paused > 0 {
			e.shared = append(e.shared, fmt.Sprintf("the TTL of %s is paused, as that of %s is: RESUME TTL FOR %[1]s",
				e.table, other.Table))
		}
	}

	return nil
}
