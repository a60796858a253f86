package catalog

import (
	"context"
	"database/sql"
	"fmt"
	"slices"

	"github.com/ttlproxy/ttlproxy/catalog/tables"
)

// Recognize compares a policy's table with the one the policy was declared on. One that was
// altered, or only grew, is followed, with an event; one that may hold other rows waits for
// approval, and another one disarms the policy. why says what is different. It returns what is
// remembered; nil for another table. The error is a *BlindError where nobody can tell.
func (s *Store) Recognize(
	ctx context.Context, actor string, p Policy,
) (known tables.Incarnation, why string, err error) {
	seen, known, c, err := s.compareSeeing(ctx, p)
	if err != nil {
		return nil, "", err
	}

	if c.How != tables.Stranger && (len(known) == 0 || known.AtFirstSight()) {
		if c, err = s.firstSight(ctx, p, known, c); err != nil {
			return nil, "", err
		}
	}

	switch {
	case c.How == tables.Stranger:
		return nil, c.Why, s.Disarm(ctx, actor, p.ID, p.Version, c.Why)
	case c.How == tables.Same:
		return c.Now, "", nil
	case c.Concerns(known):
		return c.Now, c.Text(), s.follow(ctx, actor, p, seen, c)
	}

	return c.Now, c.HeldAnew(), s.tx(ctx, "recognize "+p.Table.String(), func(tx *sql.Tx) error {
		if err := s.inForce(ctx, tx, p.ID, p.Version); err != nil {
			return err
		}

		if known.AlteredTo(c.Now) {
			if err := s.doubt(ctx, tx, &p); err != nil {
				return err
			}
		}

		if why := c.HeldAnew(); why != "" {
			if err := s.record(ctx, tx, p.event(EventHeld, actor, why)); err != nil {
				return err
			}
		}

		return s.learnIdentity(ctx, tx, p.ID, seen.Server, c.Now)
	})
}

// compareSeeing is lookAndCompare, with a *BlindError in place of what only looks like another table.
func (s *Store) compareSeeing(
	ctx context.Context, p Policy,
) (seen tables.Seen, known tables.Incarnation, c tables.Comparison, err error) {
	seen, known, c, err = s.lookAndCompare(ctx, p)
	if err != nil || c.How != tables.Stranger {
		return seen, known, c, err
	}
	if err = s.sees(ctx, p.Table); err != nil {
		return seen, known, c, err
	}
	return s.lookAndCompare(ctx, p) // it may have looked like one without a right that the account has now
}

// lookAndCompare compares a policy's table, as it is now, with what is remembered of it. If that is not
// the same, and partitions ever went whole from it, a comparison counts only if none did between the
// look and what was read.
func (s *Store) lookAndCompare(
	ctx context.Context, p Policy,
) (seen tables.Seen, known tables.Incarnation, c tables.Comparison, err error) {
	seen, known, c, err = s.compareOnce(ctx, p)
	for range lookAttempts {
		if err != nil || c.How == tables.Same {
			return seen, known, c, err
		}

		before, some, err := s.moves(ctx, p.ID)
		if err != nil || !some {
			return seen, known, c, err
		}

		if seen, known, c, err = s.compareOnce(ctx, p); err != nil {
			return seen, known, c, err
		}

		after, _, err := s.moves(ctx, p.ID)
		if err != nil || after == before {
			return seen, known, c, err
		}
	}

	return seen, known, c, errRestless
}

// compareOnce is lookAndCompare for a table whose partitions stay where they are.
func (s *Store) compareOnce(
	ctx context.Context, p Policy,
) (seen tables.Seen, known tables.Incarnation, c tables.Comparison, err error) {
	if seen, err = s.Look(ctx, p.Table); err != nil {
		return seen, nil, c, err
	}
	if known, err = s.identities(ctx, s.db, selectIdentities, p.ID, seen.Server); err != nil {
		return seen, nil, c, err
	}
	c, err = s.compare(ctx, p, known, seen)
	return seen, known, c, err
}

// doubt withdraws the approval of a policy.
func (s *Store) doubt(ctx context.Context, tx *sql.Tx, p *Policy) error {
	p.Approval.Version = 0
	_, err := s.exec(ctx, tx, doubtApproval, p.ID, p.Version)
	return err
}

// firstSight holds what is seen for the first time, as long as there is a node that can vouch for
// it.
func (s *Store) firstSight(
	ctx context.Context, p Policy, known tables.Incarnation, c tables.Comparison,
) (tables.Comparison, error) {
	var vouchers int
	if err := s.db.QueryRowContext(ctx, s.sql(countVouchers), p.ID, s.deadAfter()).Scan(&vouchers); err != nil {
		return c, fmt.Errorf("look for nodes on other members: %w", err)
	}

	now := slices.Clone(c.Now)
	for i := range now {
		switch {
		case vouchers > 0:
			now[i].Held = tables.HeldAtFirstSight()
		case now[i].Held.Code == tables.FirstSight:
			now[i].Held = tables.Hold{}
		}
	}

	if vouchers == 0 {
		var err error
		if now, err = s.heldLikewise(ctx, p, now); err != nil {
			return c, err
		}
	}

	c.How, c.Now = tables.Changed, now
	if known.Equal(now) {
		c.How = tables.Same
	}

	return c, nil
}

// heldLikewise returns what a server sees for the first time, with those partitions held that are
// held on another server.
func (s *Store) heldLikewise(ctx context.Context, p Policy, now tables.Incarnation) (tables.Incarnation, error) {
	held, err := s.identities(ctx, s.db, selectHeldPartitions, p.ID, tables.FirstSight)
	if err != nil || len(held) == 0 {
		return now, err
	}

	now = slices.Clone(now)
	for _, h := range held {
		at := slices.IndexFunc(now, func(n tables.Identity) bool { return n.Partition == h.Partition })
		for i := range now {
			if i == at || at < 0 && i > 0 && !now[i].Held.Holds() { // its rows may be in any
				now[i].Held = h.Held
			}
		}
	}

	return now, nil
}

// Vouch lets other members trust what they see for the first time, where the table still is the
// policy's on this one: what they have seen is older than this look, so that the same table had the
// name all the time. Every node calls it now and then.
func (s *Store) Vouch(ctx context.Context, actor string) error {
	var others bool
	if err := s.db.QueryRowContext(ctx, s.sql(selectOthers), s.deadAfter()).Scan(&others); err != nil || !others {
		return err
	}

	waiting, err := s.policies(ctx, s.db, selectUnvouched)
	if err != nil {
		return err
	}

	for _, p := range waiting {
		known, _, err := s.Recognize(ctx, actor, p)
		if err != nil {
			return err
		}
		if len(known) == 0 || known.Table().Held.Holds() {
			continue
		}
		if _, err := s.exec(ctx, s.db, vouch, tables.FirstSight, p.ID, p.Version); err != nil {
			return fmt.Errorf("vouch for %s: %w", p.Table, err)
		}
	}

	return nil
}
