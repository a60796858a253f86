package catalog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog/setting"
	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/ddl"
)

// A table that was changed around the proxy is followed as far as that is safe. The ids say that it
// is the same table, its shape that the policy still means the same rows. A table or partition with
// another id may be any that now has the name: without rows it goes on, since nobody loses any, and
// with rows it waits until somebody has looked.

// compare is Compare, with a look at what is new, under the setting: with ttl_around = 'disarm' a
// table that is not quite the same counts as another one. Partitions that are new are looked at in any case.
func (s *Store) compare(
	ctx context.Context, p Policy, known tables.Incarnation, seen tables.Seen,
) (tables.Comparison, error) {
	c := tables.Compare(p.Shape, p.Rule.Column, known, seen)
	if c.How == tables.Stranger || c.How <= tables.Changed && len(c.Doubted()) == 0 || len(known) == 0 {
		return c, nil
	}

	values, err := s.Values(ctx)
	if err != nil {
		return c, err
	}

	strict := values[setting.Around] != setting.AroundFollow || known.AtFirstSight()
	switch {
	case strict && c.How > tables.Changed:
		c.How = tables.Stranger
		return c, nil
	case known.AtFirstSight():
		return c, nil
	}

	empty, err := s.emptyAmong(ctx, p.Table, c)
	if err != nil {
		return c, fmt.Errorf("look into %s: %w", p.Table, err)
	}

	return c.LookedInto(known, empty), nil
}

// compared is a comparison with what it rests on.
type compared struct {
	tables.Comparison
	known tables.Incarnation
	seen  tables.Seen
}

// compareWith is compare for a policy before it is changed; one that is not there, or deletes
// nothing, is compared with nothing.
func (s *Store) compareWith(ctx context.Context, p Policy, seen tables.Seen) (was compared, err error) {
	was.seen = seen
	if p.ID == 0 {
		return was, nil
	}
	if was.known, err = s.identities(ctx, s.db, selectIdentities, p.ID, seen.Server); err != nil {
		return was, err
	}
	was.Comparison, err = s.compare(ctx, p, was.known, seen)
	return was, err
}

func (c compared) altered() bool { return c.known.AlteredTo(c.seen.Incarnation) }

// lookFor bounds how long a place is examined: rows that were deleted from it a moment ago may be
// in the way.
const lookFor = 5 * time.Second

// emptyAmong returns which of the places in doubt have no rows. Where all have to be empty, it stops
// once one is not.
func (s *Store) emptyAmong(ctx context.Context, t Table, c tables.Comparison) (empty []int, err error) {
	err = s.briefly(ctx, func(ctx context.Context, conn *sql.Conn) error {
		for n, at := range c.Doubted() {
			if len(empty) < n && !c.Alone(at) {
				break
			}

			none, err := s.isEmpty(ctx, conn, t, c.Now.Table(), c.Now[at])
			if err != nil {
				return err
			}

			if none {
				empty = append(empty, at)
			}
		}
		return nil
	})
	return empty, err
}

// briefly reads a user's table without waiting for long.
func (s *Store) briefly(ctx context.Context, read func(context.Context, *sql.Conn) error) (err error) {
	ctx, cancel := context.WithTimeout(ctx, lookFor)
	defer cancel()

	conn, err := s.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()

	if _, err := conn.ExecContext(ctx, waitBriefly); err != nil {
		return err
	}
	defer func() {
		_, usual := conn.ExecContext(context.WithoutCancel(ctx), waitAsUsual)
		err = errors.Join(err, usual)
	}()

	return read(ctx, conn)
}

// isEmpty reports whether a table or partition has no rows. The ids are asked for by the same
// statement, which holds the metadata lock: so it is the very one that was seen.
func (s *Store) isEmpty(ctx context.Context, conn *sql.Conn, t Table, table, place tables.Identity) (bool, error) {
	same, known := s.IdentityCondition(t, table.CreateTime, place)
	if !known {
		return false, nil
	}

	var rows, unchanged bool
	query := fmt.Sprintf(selectAnyRow, t, inPartition(place.Partition), same)
	err := conn.QueryRowContext(ctx, query).Scan(&rows, &unchanged)
	switch {
	case isServerError(err, ddl.CodeTableDenied, ddl.CodeColumnDenied, ddl.CodeSchemaDenied):
		return false, nil
	case err != nil:
		return false, err
	case !unchanged:
		return false, errRestless
	}

	return !rows, nil
}

// errRestless says that a table is being changed at this moment: the caller looks again later.
var errRestless = errors.New("the table is changing")

// follow makes a policy go on with a table that was changed outside ttlproxy, or wait for approval.
// Its version changes: what was approved was approved for the table as it was, and what was planned
// is replanned.
func (s *Store) follow(ctx context.Context, actor string, p Policy, seen tables.Seen, c tables.Comparison) error {
	return s.tx(ctx, "follow "+p.Table.String(), func(tx *sql.Tx) error {
		if err := s.bar(ctx, tx, p.ID); err != nil {
			return err
		}
		if err := s.inForce(ctx, tx, p.ID, p.Version); err != nil {
			return err
		}
		if err := s.writeRule(ctx, tx, p, ruleAfter(c, p, seen)); err != nil {
			return err
		}
		if err := s.planAnew(ctx, tx, p.ID, c.Text()); err != nil {
			return err
		}

		seen.Incarnation = c.Now
		if err := s.rememberIdentity(ctx, tx, p.ID, seen); err != nil {
			return err
		}

		now := p
		now.Version++
		return s.record(ctx, tx, now.event(eventOf(c), actor, c.Text()))
	})
}

// ruleAfter is what a policy becomes: the same rule for the table as it is, without the approval.
func ruleAfter(c tables.Comparison, p Policy, seen tables.Seen) ruleWrite {
	w := ruleWrite{rule: p.Rule, state: p.State, reason: p.Reason, shape: seen.Shape}
	if c.How == tables.Unsure {
		w.require = c.Why
	}
	return w
}

// planAnew ends the open jobs of a policy, and requests one in their place.
func (s *Store) planAnew(ctx context.Context, tx *sql.Tx, policy uint64, why string) error {
	open, err := s.openJobs(ctx, tx, policy)
	if err != nil || len(open) == 0 {
		return err
	}
	if err := s.endJobs(ctx, tx, policy, JobCancelled, why+"; another job is planned"); err != nil {
		return err
	}
	_, err = s.exec(ctx, tx, requestRun, Replanner, policy)
	return err
}

// eventOf is the kind of event that reports a comparison.
func eventOf(c tables.Comparison) EventKind {
	switch {
	case c.How == tables.Unsure:
		return EventBraked
	case c.HeldAnew() != "":
		return EventHeld
	default:
		return EventFollowed
	}
}
