package statement

import (
	"errors"
	"slices"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/proxy/wire"
)

// passage is one pair of a RENAME, with the policy that its table has before the statement, or nil.
type passage struct {
	ddl.Rename
	from, to catalog.Table
	policy   *catalog.Policy
}

// asleep reports whether the policy will be dormant under its new name, until somebody with the
// right to delete wakes it: online schema changes end in such moves, and have no second to lose.
func (m passage) asleep() bool {
	return m.from.Schema == m.to.Schema && (isGhost(m.to) || m.policy != nil && m.policy.State == catalog.PolicyDormant)
}

// mayMoveAll checks a chain of moves, in which a policy may move from name to name.
func (q *request) mayMoveAll(moves []passage) error {
	var at []catalog.Table // names that a policy has come to
	for _, m := range moves {
		here := func(other catalog.Table) bool { return q.store.SameTable(other, m.from) }
		if m.policy == nil && !slices.ContainsFunc(at, here) {
			continue
		}
		at = append(at, m.to)
		if err := q.mayMove(m); err != nil {
			return err
		}
	}
	return nil
}

// mayMove checks that a policy arrives at no name from which the client itself could not delete: it
// would not be allowed to create a table there with this policy. Only within a schema may those who
// can delete from neither name move what others have declared.
func (q *request) mayMove(m passage) error {
	if m.asleep() {
		return nil
	}

	what, err := q.resolve(m.To)
	switch {
	case err != nil:
		return err
	case what == temporary:
		return refusal(ddl.TemporaryTable()) // which would be probed instead of the other
	}

	denied := q.mayDeleteNow(m.To)
	if denied == nil && m.policy != nil {
		return q.mayRemove(m.To, m.policy.Rule)
	}
	if !wire.RefusedWith(denied, ddl.CodeTableDenied) {
		return denied
	}

	if m.from.Schema == m.to.Schema {
		if err := q.mayDeleteNow(m.From); err != nil {
			if wire.RefusedWith(err, ddl.CodeTableDenied) {
				return nil
			}
			return err
		}
	}

	why, _ := errors.AsType[*wire.Error](denied)
	return &wire.Error{
		Code: ddl.CodeTableDenied, State: "42000",
		Message: "ttlproxy: nothing was renamed, because the TTL of " + m.from.String() +
			" would delete from " + m.to.String() + ", and you may not: " + why.Message +
			"; ALTER TABLE … REMOVE TTL first",
	}
}

// mayDeleteNow is mayDelete for a table that somebody may have locked: servers check rights before
// they wait for a lock.
func (q *request) mayDeleteNow(name ddl.Name) error {
	err := briefly(q.x, func() error { return q.mayDelete(name, "") })
	if wire.RefusedWith(err, ddl.CodeLockWait) {
		return nil
	}
	return err
}
