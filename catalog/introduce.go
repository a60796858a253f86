package catalog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/ttlproxy/ttlproxy/catalog/tables"
)

// introduceTables writes down what the tables of armed policies are on another server: their ids
// are others there. Otherwise nobody could tell after a fail-over whether a table still is the one
// that it was here when it was last looked at.
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
// still is the policy's here afterwards, the one over there is, too, unless changes from before
// have not come there yet.
func (s *Store) introduceTable(ctx context.Context, conn *sql.Conn, server string, p Policy) error {
	there, err := s.lookOn(ctx, conn, p.Table)
	if err != nil {
		return err
	}

	here, why, err := s.Recognize(ctx, "ttlproxy", p)
	if err != nil || why != "" || len(here) == 0 || here[0].Held != "" {
		return err
	}

	behind := !there.Exists || there.Shape.Difference(p.Shape) != "" ||
		there.Identities[0].CreateTime.Before(here[0].CreateTime)
	if behind || there.Server != server || !tables.HasID(there.Identities) {
		return nil
	}

	held, err := s.heldLikewise(ctx, p, there.Identities)
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
