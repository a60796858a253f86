package catalog

import (
	"context"
	"database/sql"
)

// Recognize compares a policy's table with the one the policy was declared on. The same table, altered in a way that
// does not matter, is remembered as it is now; another one disarms the policy, and why says what is different. It returns
// what is remembered: the table first, then its partitions. What was altered behind our back may hold other dates under
// the same names, so the brake looks at it again: the approval is taken back, but for tables with partitions, which come and go.
func (s *Store) Recognize(ctx context.Context, actor string, p Policy) (known []Identity, why string, err error) {
	seen, err := s.Look(ctx, p.Table)
	if err != nil {
		return nil, "", err
	}
	if known, err = s.identities(ctx, s.db, selectIdentities, p.ID, seen.Server); err != nil {
		return nil, "", err
	}
	how, now, why := Compare(p.Shape, known, seen)
	switch how {
	case Same:
		return now, "", nil
	case Changed:
		return now, "", s.tx(ctx, "recognize "+p.Table.String(), func(tx *sql.Tx) error {
			if err := s.inForce(ctx, tx, p.ID, p.Version); err != nil {
				return err
			}
			if len(known) == 1 && len(now) == 1 {
				if _, err := s.exec(ctx, tx, doubtApproval, p.ID, p.Version); err != nil {
					return err
				}
			}
			return s.learnIdentity(ctx, tx, p.ID, seen.Server, now)
		})
	default:
		return nil, why, s.Disarm(ctx, actor, p.ID, p.Version, why)
	}
}
