package catalog

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"

	"github.com/ttlproxy/ttlproxy/catalog/tables"
)

// writeEndings ends a stage: the bar, then names, then rules.
func (s *Store) writeEndings(ctx context.Context, tx *sql.Tx, ends []ending) error {
	for _, e := range ends {
		if err := s.bar(ctx, tx, e.policy.ID); err != nil {
			return err
		}
	}

	for i := range ends {
		if ends[i].state == "" {
			continue
		}
		if err := s.shareHolds(ctx, tx, &ends[i]); err != nil {
			return err
		}
	}

	for _, e := range ends {
		if e.state != "" {
			continue
		}
		if err := s.removeEnding(ctx, tx, e); err != nil {
			return err
		}
	}

	if err := s.writeNames(ctx, tx, ends); err != nil {
		return err
	}

	for _, e := range ends {
		if e.state == "" {
			continue
		}
		if err := s.writeEnding(ctx, tx, e); err != nil {
			return err
		}
	}

	return nil
}

// removeEnding removes a policy.
func (s *Store) removeEnding(ctx context.Context, tx *sql.Tx, e ending) error {
	if e.done && e.policy.Stage.Remove {
		if err := s.removeCopies(ctx, tx, e.policy.Stage.Account, e.policy); err != nil {
			return err
		}
	}
	return s.remove(ctx, tx, e.policy.Stage.Account, e.policy, e.kind, e.text)
}

// writeNames renames policies. They leave their names first, since two may swap, and whatever else
// has a new name belongs to a table that is gone.
func (s *Store) writeNames(ctx context.Context, tx *sql.Tx, ends []ending) error {
	moved := slices.DeleteFunc(slices.Clone(ends), func(e ending) bool { return !e.moved || e.state == "" })
	for _, e := range moved {
		if _, err := s.exec(ctx, tx, parkPolicyName, e.policy.ID); err != nil {
			return err
		}
	}

	for _, e := range moved {
		stale, err := s.policy(ctx, tx, e.table)
		if err == nil {
			err = s.remove(ctx, tx, e.policy.Stage.Account, stale, EventDropped, "another table has taken its name")
		} else if errors.Is(err, ErrNoPolicy) {
			err = nil
		}

		if err != nil {
			return err
		}
		if _, err := s.exec(ctx, tx, namePolicy, e.table.Schema, e.table.Name, e.policy.ID); err != nil {
			return err
		}
	}

	return nil
}

// writeEnding writes rule, state and identity of one policy, and lets its jobs go on if they can.
func (s *Store) writeEnding(ctx context.Context, tx *sql.Tx, e ending) error {
	shape := e.policy.Shape
	if e.adopts() {
		shape = e.seen.Shape
	}

	sameRows := e.state == e.policy.Stage.Before && e.policy.Rule.sameExpiry(e.rule)
	released := e.policy.Stage.Arm && e.policy.Stage.Identity.AnyLasts() // rows that no approval has been about
	if err := s.writeRule(ctx, tx, e.policy, ruleWrite{
		rule: e.rule, state: e.state, reason: e.reason, shape: shape, require: e.require,
		keepApproval: sameRows && e.policy.Stage.Approved && !e.anew && !released,
	}); err != nil {
		return err
	}

	if e.done && e.policy.Stage.Clears {
		if _, err := s.exec(ctx, tx, withdrawConsent, e.policy.ID); err != nil {
			return err
		}
	}

	if err := s.writeDormancy(ctx, tx, e.policy.ID, e.state, e.dormancy); err != nil {
		return err
	}
	if err := s.forgetHome(ctx, tx, e.table, e.policy.ID); err != nil {
		return err
	}
	if err := s.writeJobs(ctx, tx, e, shape); err != nil {
		return err
	}

	if e.adopts() {
		if err := s.keepHolds(ctx, tx, &e); err != nil {
			return err
		}
		if e.anew {
			if err := s.forgetNumbers(ctx, tx, e.policy.ID); err != nil {
				return err
			}
		}
		if err := s.rememberIdentity(ctx, tx, e.policy.ID, e.seen); err != nil {
			return err
		}
	}

	if err := s.writeArrival(ctx, tx, e); err != nil {
		return err
	}

	now := e.policy
	now.Version, now.Table = now.Version+1, e.table
	return s.record(ctx, tx, now.event(e.kind, e.policy.Stage.Account, e.told()))
}

// told is what has happened, and what the policy waits for since.
func (e ending) told() string {
	if e.require == "" || strings.Contains(e.text, e.require) {
		return e.text
	}
	return e.text + "; waits for approval: " + e.require
}

// adopts reports whether the table's present identity is to be remembered. If nothing has happened,
// what was known before still shows whether it is the same table: the engine looks before it
// deletes.
func (e ending) adopts() bool {
	return e.seen.Exists && e.state != PolicyDisarmed && (e.done || e.swapped)
}

// keepHolds lets partitions that were held before the DDL stay so, unless it arms the policy or the
// table is another one now.
func (s *Store) keepHolds(ctx context.Context, tx *sql.Tx, e *ending) error {
	if e.swapped {
		return nil
	}

	known, err := s.identities(ctx, tx, selectIdentities, e.policy.ID, e.seen.Server)
	if err != nil {
		return err
	}
	if e.policy.Stage.Arm {
		if !e.rule.Enabled || !e.rule.sameExpiry(e.policy.Rule) {
			return nil
		}
		return s.runReleased(ctx, tx, e.policy.ID, known)
	}

	known = append(known, e.policy.Stage.Identity...)
	e.seen.Incarnation = slices.Clone(e.seen.Incarnation)
	for i, n := range e.seen.Incarnation {
		k := slices.IndexFunc(known, func(k tables.Identity) bool {
			return k.Partition == n.Partition && k.Held.Holds()
		})
		if k >= 0 {
			e.seen.Incarnation[i].Held = known[k].Held
		}
	}

	if e.policy.Stage.Kind != IntentTruncate { // which leaves no rows
		e.seen.Incarnation = known.SpreadHolds(e.seen.Incarnation)
	}

	return nil
}

// writeJobs gives the new version to the jobs of a policy that deletes the same rows by the same
// key as before, and ends the others: no job goes on in a table that may have other rows, or other dates, than it
// was begun for. In place of a running one that was to delete the same rows another is requested: what it had
// still to do does not wait for the next interval.
func (s *Store) writeJobs(ctx context.Context, tx *sql.Tx, e ending, shape tables.Shape) error {
	sameRows := !e.anew && e.require == "" && !e.policy.Stage.Altered
	if sameRows && e.state == e.policy.Stage.Before && e.rule.Equal(e.policy.Rule) &&
		e.policy.Shape.SameKey(shape, e.rule.Column) {
		if err := s.endJobsOfLost(ctx, tx, e); err != nil {
			return err
		}
		_, err := s.exec(ctx, tx, restampJobs, e.policy.Version+1, e.table.Schema, e.table.Name, e.policy.ID)
		return err
	}
	end := JobCancelled
	if e.state == PolicyDisarmed {
		end = JobDisarmed
	}
	open, err := s.openJobs(ctx, tx, e.policy.ID)
	if err != nil {
		return err
	}
	if err := s.endJobs(ctx, tx, e.policy.ID, end, "the table was changed: "+e.text); err != nil {
		return err
	}
	if len(open) == 0 || !e.goesOn() {
		return nil
	}
	_, err = s.exec(ctx, tx, requestRun, Replanner, e.policy.ID)
	return err
}

// endJobsOfLost ends the jobs of partitions whose rows are gone, with the partition or out of it: a job knows its
// partition by name, and another one may have that before anybody looks.
func (s *Store) endJobsOfLost(ctx context.Context, tx *sql.Tx, e ending) error {
	if !e.done {
		return nil
	}
	rows, err := tx.QueryContext(ctx, s.sql(selectJobPlaces), e.policy.ID)
	if err != nil {
		return err
	}
	type placed struct {
		job       uint64
		partition string
	}
	open, err := collect(rows, func(r *sql.Rows) (p placed, err error) { return p, r.Scan(&p.job, &p.partition) })
	if err != nil {
		return err
	}

	for _, o := range open {
		if why := e.lost(o.partition); why != "" {
			if err := s.endJob(ctx, tx, o.job, JobCancelled, "the table was changed: "+why); err != nil {
				return err
			}
		}
	}
	return nil
}

// lost says why a partition has none of the rows that it had; empty if it may have them.
func (e ending) lost(partition string) string {
	was, _ := e.policy.Stage.Identity.At(partition)
	is, there := e.seen.Incarnation.At(partition)
	switch {
	case partition == "" || len(e.seen.Incarnation) == 0:
		return ""
	case !there:
		return "partition " + partition + " is gone"
	case e.policy.Stage.Clears && (was.TableID == 0 || was.TableID != is.TableID):
		return "partition " + partition + " was emptied"
	default:
		return ""
	}
}

// goesOn reports whether the policy deletes the rows that it deleted before, whatever their column and key are
// called now.
func (e ending) goesOn() bool {
	before := e.policy.Rule
	before.Column = e.rule.Column
	return e.state == PolicyArmed && e.policy.Stage.Before == PolicyArmed && !e.anew && e.require == "" &&
		e.rule.Enabled && before.sameExpiry(e.rule)
}
