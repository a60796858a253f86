package catalog

import (
	"context"
	"database/sql"
	"fmt"
)

// Copy links the policy of a copied table to its origin, as that was when the table was copied.
type Copy struct {
	Of      uint64 `json:"of"` // the policy it was copied from
	Version uint64 `json:"version"`
	Column  string `json:"column"` // the TTL column there; the copy's own rule has its name in the copy
}

// dormancy is what a dormant policy remembers, so that a name can get back what belongs to it. The
// policy is that of a copy that waits for its origin's name, or of a table that has left its name.
type dormancy struct {
	Copy
	home     Table       // the name that was left; empty for a copy
	state    PolicyState // what the policy was there
	reason   string
	approved bool
}

// dormancy reads what a dormant policy remembers, which may be nothing.
func (s *Store) dormancy(ctx context.Context, on execer, policy uint64) (dormancy, error) {
	rows, err := on.QueryContext(ctx, s.sql(selectDormancy), policy)
	if err != nil {
		return dormancy{}, fmt.Errorf("read where policy %d comes from: %w", policy, err)
	}
	all, err := collect(rows, func(r *sql.Rows) (d dormancy, err error) {
		return d, r.Scan(&d.Of, &d.Version, &d.Column, &d.home.Schema, &d.home.Name, &d.state, &d.reason, &d.approved)
	})
	if err != nil || len(all) == 0 {
		return dormancy{}, err
	}
	return all[0], nil
}

// writeDormancy replaces what a policy remembers. One that is not dormant has nothing to remember.
func (s *Store) writeDormancy(ctx context.Context, tx *sql.Tx, policy uint64, state PolicyState, d dormancy) error {
	if _, err := s.exec(ctx, tx, deleteDormancy, policy); err != nil {
		return err
	}
	if state != PolicyDormant || d == (dormancy{}) {
		return nil
	}
	_, err := s.exec(ctx, tx, insertDormancy,
		policy, d.Of, d.Version, d.Column, d.home.Schema, d.home.Name, d.state, d.reason, d.approved)
	return err
}

// forgetHome keeps policies from returning by themselves to a name that has had another policy
// since, or from which the TTL was removed: the name decides.
func (s *Store) forgetHome(ctx context.Context, tx *sql.Tx, name Table, but uint64) error {
	_, err := s.exec(ctx, tx, forgetHome, name.Schema, name.Name, but)
	return err
}

// removeCopies removes the dormant copies of a policy together with it: no copy restores what its
// name has given up.
func (s *Store) removeCopies(ctx context.Context, tx *sql.Tx, actor string, origin Policy) error {
	copies, err := s.policies(ctx, tx, selectCopies, origin.ID)
	if err != nil {
		return err
	}
	for _, c := range copies {
		if err := s.remove(ctx, tx, actor, c, EventRemoved,
			"REMOVE TTL of "+origin.Table.String()+", whose copy it is"); err != nil {
			return err
		}
	}
	return nil
}

// asleep is the reason of a dormant policy.
func asleep(why string) string {
	return why + ": it deletes nothing until ALTER TABLE … TTL_ENABLE='ON'"
}

// forgetOrigin makes a dormant policy independent, when it wakes or is given another rule.
func (s *Store) forgetOrigin(ctx context.Context, tx *sql.Tx, old Policy, rule Rule, state PolicyState) error {
	if old.State != PolicyDormant || state == PolicyDormant && old.Rule.sameExpiry(rule) {
		return nil
	}
	_, err := s.exec(ctx, tx, deleteDormancy, old.ID)
	return err
}
