package catalog

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/ddl"
)

// Staged is a DDL in flight: the policies it touches are stopped, and nothing else holds a lock.
// One of Commit, Discard and Settle ends it, and may be called again if it could not; if none is called, Sweep does
// when the client's connection is gone.
type Staged struct {
	// Warnings are what the client should know about how it ended.
	Warnings []string

	store *Store
	ids   []uint64
	mark  string
}

// Empty reports whether the DDL touches no policy. Ending it is not needed then.
func (g *Staged) Empty() bool { return len(g.ids) == 0 }

// Stage stops the policies that a DDL is about to touch, and records what will become of them. This
// is committed when Stage returns: whatever happens to this process, the client or the server, no
// row is deleted under the old rule until somebody has looked.
func (s *Store) Stage(ctx context.Context, who Client, intents []Intent) (*Staged, error) {
	intents = s.compose(intents)
	staged, err := s.stage(ctx, who, intents)
	if errors.Is(err, ErrPolicyChanged) {
		staged, err = s.stage(ctx, who, intents) // the tables were looked at before others were done with them
	}
	return staged, err
}

func (s *Store) stage(ctx context.Context, who Client, intents []Intent) (*Staged, error) {
	before := make([]compared, len(intents))
	policies := make([]Policy, len(intents))
	for i, in := range intents {
		var err error
		if policies[i], err = s.Policy(ctx, in.Table); err != nil && !errors.Is(err, ErrNoPolicy) {
			return nil, err
		}

		seen, err := s.Look(ctx, in.Table)
		if err != nil {
			return nil, err
		}
		if before[i], err = s.compareWith(ctx, policies[i], seen); err != nil {
			return nil, err
		}
	}

	newest, err := s.newest(ctx)
	if err != nil {
		return nil, err
	}

	staged := &Staged{store: s, mark: rand.Text()}
	err = s.txAlone(ctx, "stage", func(tx *sql.Tx) error {
		staged.ids = nil
		for i, in := range intents {
			intent := stageIntent{Intent: in, Mark: staged.mark}
			id, err := s.stageOne(ctx, tx, who, intent, before[i], policies[i], newest)
			if err != nil {
				return fmt.Errorf("%s: %w", in.Table, err)
			}
			if id != 0 {
				staged.ids = append(staged.ids, id)
			}
		}

		return nil
	})

	return staged, err
}

// txAlone is tx for a change that cannot be made while another statement is changing the table. If
// one is in the way, its client may be gone for good, so it looks, and tries once more.
func (s *Store) txAlone(ctx context.Context, doing string, fn func(*sql.Tx) error) error {
	err := s.tx(ctx, doing, fn)
	if !errors.Is(err, ErrTableInDDL) {
		return err
	}
	if _, err := s.Sweep(ctx); err != nil {
		return err
	}
	return s.tx(ctx, doing, fn)
}

// compose gives each table one intent: a chain of renames becomes one from the first name to the
// last.
func (s *Store) compose(intents []Intent) []Intent {
	var out []Intent
	for _, in := range intents {
		in.Table = s.Stored(in.Table)
		if in.To != nil {
			to := s.Stored(*in.To)
			in.To = &to
		}

		earlier := slices.IndexFunc(out,
			func(o Intent) bool { return o.Kind == IntentRename && o.target() == in.Table })
		if in.Kind == IntentRename && earlier >= 0 {
			out[earlier].To, out[earlier].Dormant = in.To, in.Dormant
			continue
		}

		out = append(out, in)
	}

	return out
}

// stageOne stops the policy of one table, or inserts the new one. It returns 0 if there is neither.
// What was seen of the table belongs to the policy that was read before it; another one by now is
// about a table that was not looked at.
func (s *Store) stageOne(ctx context.Context, tx *sql.Tx, who Client, intent stageIntent, was compared, read Policy,
	newest origin,
) (uint64, error) {
	in, seen := intent.Intent, was.seen
	intent.Account, intent.Identity, intent.Origin = who.Account, seen.Incarnation, originOf(newest, seen)
	if seen.Exists {
		intent.Shape = &seen.Shape
	}

	old, err := s.policy(ctx, tx, in.Table)
	switch {
	case (err == nil || errors.Is(err, ErrNoPolicy)) && old.Stage == nil && !old.sameAs(read):
		return 0, ErrPolicyChanged
	case err != nil && !errors.Is(err, ErrNoPolicy):
		return 0, err
	case old.Stage != nil:
		return 0, ErrTableInDDL
	case in.Base.holds(old) != nil:
		return 0, ErrRuleChanged
	case errors.Is(err, ErrNoPolicy) && in.Remove:
		return 0, s.forgetHome(ctx, tx, in.Table, 0)
	case errors.Is(err, ErrNoPolicy) && in.Rule == nil:
		return 0, nil
	case errors.Is(err, ErrNoPolicy):
		columns, err := intent.columns(who)
		if err != nil {
			return 0, err
		}

		d := Declaration{Table: in.Table, Rule: *in.Rule, FromDump: in.FromDump}
		id, err := s.insertPolicy(ctx, tx, who.Account,
			newPolicy{Declaration: d, state: PolicyStaged, shape: seen.Shape, stage: columns})
		if isServerError(err, ddl.CodeDuplicateKey) {
			err = ErrTableInDDL // somebody else was faster
		}

		return id, err
	}

	intent.Before, intent.BeforeReason, intent.Approved = old.State, old.Reason, old.Approved()
	intent.notice(old.State, was)
	return old.ID, s.stop(ctx, tx, who, old, intent)
}

// notice makes the policy come back disarmed if the table was already another one before this DDL,
// waiting for approval if it may hold other rows, with exchanged partitions held, and without its
// approval if the table was altered. A dormant one stays what it is, and gives nothing to a name.
func (i *stageIntent) notice(state PolicyState, was compared) {
	if state != PolicyArmed && state != PolicyDormant {
		return
	}

	switch {
	case was.How > tables.Changed && state == PolicyDormant:
		i.Stranger = was.Why
	case was.How == tables.Stranger:
		i.Before, i.BeforeReason = PolicyDisarmed, was.Why
	default:
		i.Identity = was.Now // with what is held from now on
	}

	if was.How == tables.Unsure && state == PolicyArmed {
		i.Ask = was.Why
	}
	if was.How > tables.Changed || was.altered() {
		i.Approved, i.Altered = false, true
	}
}

func (s *Store) stop(ctx context.Context, tx *sql.Tx, who Client, old Policy, intent stageIntent) error {
	columns, err := intent.columns(who)
	if err != nil {
		return err
	}
	if err := s.bar(ctx, tx, old.ID); err != nil {
		return err
	}

	reason := fmt.Sprintf("a statement of connection %d is changing the table", who.Connection)
	n, err := s.exec(ctx, tx, stagePolicy, reason, columns.server, columns.boot, columns.connection, columns.node,
		columns.intent, old.ID, old.Version)
	if err == nil && n == 0 {
		err = ErrPolicyChanged
	}

	return err
}
