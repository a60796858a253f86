package work

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/ttl/family"
)

// along is what goes along with the rows of a table (TTL_FK = 'CHILDREN').
type along struct {
	forest *family.Forest
	guard  string                   // in enter: the policies of those tables let rows of them go
	same   map[tables.Target]string // in each statement: the table, and what points at it, are as planned for
	all    string                   // at the end: all of them are
}

// condition is what a batch has to find when it begins.
func (a *along) condition() string {
	if a == nil {
		return ""
	}
	return a.guard
}

// AlongStore is what is asked of the catalog about tables of which rows go along.
type AlongStore interface {
	Policy(ctx context.Context, t catalog.Table) (catalog.Policy, error)
	Identities(ctx context.Context, policy uint64) (tables.Incarnation, error)
}

// AlongPause returns the policies of the tables of which rows go along, and why one of them lets no row
// go, which holds for rows that go along as well.
func AlongPause(
	ctx context.Context, store AlongStore, f *family.Forest, now time.Time,
) (policies []catalog.Policy, why string, err error) {
	if f == nil {
		return nil, "", nil
	}

	for _, m := range f.Members() {
		p, err := store.Policy(ctx, tableOf(m))
		if errors.Is(err, catalog.ErrNoPolicy) {
			continue
		}
		if err != nil {
			return nil, "", err
		}

		known, err := store.Identities(ctx, p.ID)
		if err != nil {
			return nil, "", err
		}
		if why := restrains(p, known, now); why != "" {
			return nil, fmt.Sprintf("rows of %s would go along, and its own TTL %s", m.Name(), why), nil
		}
		policies = append(policies, p)
	}

	return policies, "", nil
}

// restrains says why a policy lets no row of its table go.
func restrains(p catalog.Policy, known tables.Incarnation, now time.Time) string {
	switch {
	case p.Paused.InForce(now):
		return "is paused: RESUME TTL FOR " + p.Table.String() + " lets them go"
	case p.Unread != "":
		return "is not understood: " + p.Unread
	case p.State != catalog.PolicyArmed:
		return "is " + string(p.State) + ": " + p.Reason
	case !p.Rule.Enabled:
		return "is off: ALTER TABLE " + p.Table.String() + " TTL_ENABLE = 'ON', or REMOVE TTL, lets them go"
	case known.AnyHeld():
		return "is held, as SHOW TTL TABLES says"
	}
	return ""
}

func tableOf(m family.Member) catalog.Table { return catalog.Table{Schema: m.Schema, Name: m.Table} }

// alongOf prepares what goes along with the rows of a table, for the session's server; nil if nothing
// does.
func (w *worker) alongOf(ctx context.Context, now time.Time, f *family.Forest) (*along, error) {
	if f == nil {
		return nil, nil //nolint:nilnil // nothing is no error
	}

	policies, why, err := AlongPause(ctx, w.Store, f, now)
	if err != nil {
		return nil, err
	}
	if why != "" {
		return nil, &doubtError{why}
	}

	var others []catalog.Table
	all := []string{"TRUE"}
	a := &along{forest: f, same: map[tables.Target]string{}}
	for _, m := range f.Members() {
		condition, err := w.Tables.asItIs(ctx, now, w.session.server, tableOf(m))
		if err != nil {
			return nil, err
		}
		if m.Deletes {
			condition += " AND " + m.Unchanged
		}
		a.same[m.Target] = condition
		others, all = append(others, tableOf(m)), append(all, condition)
	}

	a.guard, a.all = w.Store.GuardAlong(others, policies), strings.Join(all, " AND ")
	return a, nil
}

// asItIs is the condition that a table without a policy of ours is the one that it is now.
func (r *Recognizer) asItIs(ctx context.Context, now time.Time, server string, t catalog.Table) (string, error) {
	seen, err := r.store.Look(ctx, t)
	switch {
	case err != nil:
		return "", err
	case !seen.Exists:
		return "", errors.Join(errChanged, fmt.Errorf("%s is gone", t))
	case seen.Server != server:
		return "", &doubtError{fmt.Sprintf("connections lead to server %s, and those of the catalog to %s", server,
			seen.Server)}
	}

	is := seen.Incarnation.Table()
	if err := settle(ctx, now, is.CreateTime); err != nil {
		return "", err
	}
	condition, known := r.store.IdentityCondition(t, is.CreateTime, is)
	if !known {
		return "", &doubtError{"of " + t.String() + ", of which rows would go along: " + unknownID}
	}
	return condition, nil
}

// taken is what a batch has taken along.
type taken struct {
	rows       int64        // that went or lost a parent, of all tables
	refreshed  int64        // rows of the table that were due, and are not any more
	locked     []tables.Key // rows of the table that somebody else has locked
	statements int
}

// bounds are how many rows a batch may take along, and how many one of its statements may name.
type bounds struct {
	along, listed int
	scarce        bool // less than usual, because the run may not delete more
}

// errObstinate: rows that are locked, and were counted, are not the ones that statements find.
var errObstinate = errors.New("rows that depend on this one change while they are deleted; does a trigger do that?")

// deleteAlong deletes those of the rows that nobody has locked, with all rows that depend on them, in
// one transaction. If those are too many, the error is [family.ErrTooMany].
func (t *serverTable) deleteAlong(ctx context.Context, keys []tables.Key, c checkpoint, b bounds) (taken, error) {
	if err := t.beginAlong(ctx); err != nil {
		return taken{}, err
	}

	free, locked, err := t.lockFree(ctx, keys)
	var f *family.Family
	if err == nil {
		f, err = t.along.forest.Gather(ctx, t.session, free, b.along)
	}
	if err != nil {
		t.session.rollback(ctx)
		return taken{}, err
	}

	c.skipped += int64(len(locked))
	return t.endAlong(ctx, f, c, b, taken{
		rows: int64(f.Size()), refreshed: int64(len(keys) - len(locked) - len(free)), locked: locked,
	})
}

// deleteBelow deletes some of the rows that depend on one that goes later. None, if somebody has locked
// that one, or it is not due any more.
func (t *serverTable) deleteBelow(ctx context.Context, key tables.Key, c checkpoint, b bounds) (taken, error) {
	if err := t.beginAlong(ctx); err != nil {
		return taken{}, err
	}

	free, _, err := t.lockFree(ctx, []tables.Key{key})
	var f *family.Family
	if err == nil && len(free) > 0 {
		f, err = t.along.forest.Part(ctx, t.session, key, b.along)
	}
	if err != nil || f == nil {
		t.session.rollback(ctx)
		return taken{}, err
	}

	return t.endAlong(ctx, f, c, b, taken{rows: int64(f.Size())})
}

// beginAlong begins a transaction behind the barrier.
func (t *serverTable) beginAlong(ctx context.Context) error {
	if err := t.ready(ctx); err != nil {
		return err
	}
	if t.beforePacket != nil {
		t.beforePacket()
	}
	if t.halted != nil && t.halted() != "" {
		return errHalted
	}

	opened := t.barrier.open(t.batch)
	found, err := t.session.packet(ctx, opened.statements...)
	if err == nil && found[opened.enter] == 0 {
		t.session.rollback(ctx)
		err = errRefused
	}
	return err
}

// endAlong deletes a family, makes sure that its rows and no others went, and commits.
func (t *serverTable) endAlong(
	ctx context.Context, f *family.Family, c checkpoint, b bounds, done taken,
) (taken, error) {
	statements, err := t.statementsAlong(f, b.listed)
	if err != nil {
		t.session.rollback(ctx)
		return taken{}, err
	}
	if err := t.executeAlong(ctx, statements); err != nil {
		return taken{}, err
	}

	_, err = t.session.packet(ctx, t.barrier.leaveAlong(t.batch, c, done, t.along.all), "COMMIT")
	if my, refused := errors.AsType[*mysql.MySQLError](err); refused && my.Number == ddl.CodeOutOfRange {
		err = errors.Join(errChanged, err)
	}
	if err != nil {
		return taken{}, err
	}

	t.batch++
	done.statements = len(statements)
	return done, nil
}

// statementsAlong are those that delete a family, the rows of the table itself last.
func (t *serverTable) statementsAlong(f *family.Family, listed int) ([]family.Statement, error) {
	inside := t.barrier.inside(t.batch)
	all, err := f.Statements(func(of tables.Target) string {
		if same := t.along.same[of]; same != "" {
			return inside + " AND " + same
		}
		return inside // a row of the table itself
	}, listed)
	if err != nil {
		return nil, err
	}

	for tops := range slices.Chunk(f.Tops(), listed) {
		del, err := t.statements.Forcing().DeleteKeys(tops, inside)
		if err != nil {
			return nil, err
		}
		all = append(all, family.Statement{SQL: del, Rows: int64(len(tops))})
	}
	return all, nil
}

// executeAlong executes statements, each of which has to find as many rows as are locked for it.
func (t *serverTable) executeAlong(ctx context.Context, statements []family.Statement) error {
	if len(statements) == 0 {
		return nil
	}

	texts := make([]string, len(statements))
	for i, s := range statements {
		texts[i] = t.barrier.delete(s.SQL)
	}
	found, err := t.session.packet(ctx, texts...)
	t.session.visited = t.policy.ID
	if classify(err) == poison && errors.Is(t.whyOthers(ctx), errChanged) {
		return errChanged // children that were not found because of that stand in the way of their parents
	}
	if err != nil {
		return err
	}

	for i, s := range statements {
		if i >= len(found) || found[i] != s.Rows {
			err := t.whyOthers(ctx)
			t.session.rollback(ctx)
			return err
		}
	}
	return nil
}

// whyOthers finds out why statements do not find the rows that are locked.
func (t *serverTable) whyOthers(ctx context.Context) error {
	if t.session.conn == nil {
		return errObstinate // nobody can be asked
	}
	var same bool
	query := "SELECT COALESCE(" + t.barrier.same() + " AND " + t.along.all + ", FALSE)"
	if err := t.session.QueryRowContext(ctx, query).Scan(&same); err != nil {
		return err
	}
	if !same {
		return errChanged
	}
	return errObstinate
}
