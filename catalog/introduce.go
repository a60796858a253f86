package catalog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// introduceTables records the identities of the tables of armed policies on another server, where
// their ids differ. Otherwise nobody could tell after a fail-over whether a table is still the one
// that was last seen here.
func (s *Store) introduceTables(ctx context.Context, member *sql.DB, server string) error {
	unseen, err := s.policies(ctx, s.db, selectUnseenOn, server)
	if err != nil || len(unseen) == 0 {
		return err
	}

	conn, err := member.Conn(ctx)
	if err != nil {
		return fmt.Errorf("look at tables on %s: %w", server, err)
	}
	defer conn.Close()

	for _, p := range unseen {
		if err := s.introduceTable(ctx, conn, server, p); err != nil && !errors.Is(err, ErrStopped) {
			return err
		}
	}

	return nil
}

// introduceTable looks over there first: that shows the table as it is here, or as it was. So if it
// is still the policy's here afterwards, the one over there is, too, unless earlier changes have
// not reached it yet.
func (s *Store) introduceTable(ctx context.Context, conn *sql.Conn, server string, p Policy) error {
	there, err := s.lookOn(ctx, conn, p.Table)
	if err != nil {
		return err
	}

	here, why, err := s.Recognize(ctx, "ttlproxy", p)
	if err != nil || why != "" || len(here) == 0 || here.Table().Held.Holds() {
		return err
	}

	behind := !there.Exists || there.Shape.Difference(p.Shape) != "" ||
		there.Incarnation.Table().CreateTime.Before(here.Table().CreateTime)
	if behind || there.Server != server || !there.Incarnation.HasID() {
		return nil
	}

	held, err := s.heldLikewise(ctx, p, there.Incarnation)
	if err != nil {
		return err
	}

	return s.tx(ctx, "introduce "+p.Table.String(), func(tx *sql.Tx) error {
		if err := s.inForce(ctx, tx, p.ID, p.Version); err != nil {
			return err
		}
		return s.learnIdentity(ctx, tx, p.ID, server, held)
	})
}
