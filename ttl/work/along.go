package work

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/ttl/family"
)

// along is what goes along with the rows of a table (TTL_FK = 'CHILDREN', 'CASCADE').
type along struct {
	forest *family.Forest
	guard  string // in enter: the policies of those tables let rows of them go
	same   string // before rows are deleted, and at the end: the tables, and what points at them, are as planned for
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
) (policies []catalog.Policy, waits catalog.Waits, err error) {
	if f == nil {
		return nil, waits, nil
	}

	for _, m := range f.Members() {
		p, err := store.Policy(ctx, tableOf(m))
		if errors.Is(err, catalog.ErrNoPolicy) {
			continue
		}
		if err != nil {
			return nil, waits, err
		}

		known, err := store.Identities(ctx, p.ID)
		if err != nil {
			return nil, waits, err
		}
		if why := restrains(p, known, now); why != "" {
			why = "rows of " + m.Name() + " would go along, and its own TTL " + why
			return nil, catalog.Waits{Why: why, For: catalog.ForPolicy}, nil
		}
		policies = append(policies, p)
	}

	return policies, waits, nil
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
	case p.Approval.Required:
		return "waits for approval, " + p.Approval.Reason + ": " + catalog.ApprovalOf(p.Table, p.Version, 0) +
			" lets them go"
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

	policies, waits, err := AlongPause(ctx, w.Store, f, now)
	if err != nil {
		return nil, err
	}
	if waits.Why != "" {
		return nil, (*doubtError)(&waits)
	}

	var others []catalog.Table
	all := []string{"TRUE"}
	for _, m := range f.Members() {
		condition, err := w.Tables.asItIs(ctx, now, w.session.server, tableOf(m))
		if err != nil {
			return nil, err
		}
		if m.Deletes {
			condition += " AND " + m.Unchanged
		}
		others, all = append(others, tableOf(m)), append(all, condition)
	}

	return &along{f, w.Store.GuardAlong(others, policies), strings.Join(all, " AND ")}, nil
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
		return "", &doubtError{Why: fmt.Sprintf("connections lead to server %s, and those of the catalog to %s",
			server, seen.Server)}
	}

	is := seen.Incarnation.Table()
	if err := settle(ctx, now, is.CreateTime); err != nil {
		return "", err
	}
	condition, known := r.store.IdentityCondition(t, is.CreateTime, is)
	if !known {
		return "", &doubtError{Why: "of " + t.String() + ", of which rows would go along: " + unknownID}
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

// errTooLarge: a row that the server would let go with all that depends on it, however much that is.
var errTooLarge = errors.New("more rows depend on this one than ttl_fk_max_children: raise that, or say TTL_FK = " +
	"'CHILDREN', which deletes them in parts")

// deleteAlong deletes those of the rows that nobody has locked, with all rows that depend on them, in
// one transaction. If those are too many, the error is [family.ErrTooMany]; or errTooLarge, if the server
// cascades, which it does not in parts.
func (t *serverTable) deleteAlong(ctx context.Context, keys []tables.Key, c checkpoint, b bounds) (taken, error) {
	if err := t.beginAlong(ctx); err != nil {
		return taken{}, err
	}

	free, locked, err := t.lockFree(ctx, keys)
	var f *family.Family
	if err == nil {
		f, err = t.along.forest.Gather(ctx, t.session, free, b.along)
		err = t.gathered(err)
	}
	if errors.Is(err, family.ErrTooMany) && t.along.forest.Cascades() && len(keys) == 1 && !b.scarce {
		err = errTooLarge
	}
	if err != nil {
		t.session.rollback(ctx)
		return taken{}, t.orTooMany(ctx, free, b, err)
	}

	c.skipped += int64(len(locked))
	done, err := t.endAlong(ctx, f, c, b, taken{
		rows: int64(f.Size()), refreshed: int64(len(keys) - len(locked) - len(free)), locked: locked,
	})
	return done, t.behind(err)
}

// gathered is why a family was not gathered: MySQL has another number for a row that is locked, if it
// must not wait, so it has waited for a table.
func (t *serverTable) gathered(err error) error {
	if my, answered := errors.AsType[*mysql.MySQLError](err); answered && my.Number == ddl.CodeLockWait &&
		t.barrier.waits() {
		return elsewhere(err)
	}
	return err
}

// orTooMany is what keeps rows from going. A single one of which somebody has locked a dependent may have
// too many of them anyway: then the others go first, in parts. Or their table is locked, which MariaDB
// does not tell from a row: but who only reads waits for no row.
func (t *serverTable) orTooMany(ctx context.Context, keys []tables.Key, b bounds, cause error) error {
	if classify(cause) != locked || len(keys) != 1 || !isolates(cause) || t.session.conn == nil {
		return cause
	}
	_, err := t.along.forest.Measure(ctx, t.session, keys, b.along)
	switch {
	case classify(err) == locked:
		return elsewhere(err)
	case errors.Is(err, family.ErrTooMany) && !t.along.forest.Cascades():
		return err
	default:
		return cause
	}
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
		err = t.gathered(err)
	}
	if err != nil || f == nil {
		t.session.rollback(ctx)
		return taken{}, err
	}

	done, err := t.endAlong(ctx, f, c, b, taken{rows: int64(f.Size())})
	return done, t.behind(err)
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

	_, _, err := t.enter(ctx)
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

	looks, alone, err := f.LookBehind()
	if err != nil {
		t.session.rollback(ctx)
		return taken{}, err
	}
	_, err = t.session.packets(ctx, append(t.texts(looks),
		t.barrier.leaveAlong(t.batch, c, done, t.along.same+alone), "COMMIT")...)
	if my, refused := errors.AsType[*mysql.MySQLError](err); refused && my.Number == ddl.CodeOutOfRange {
		err = t.whyOthers(ctx)
	}
	if err != nil {
		return taken{}, err
	}

	t.batch++
	for _, s := range statements {
		if !s.Looks {
			done.statements++
		}
	}
	return done, nil
}

// same is the condition that a look at all tables has found them as they were planned for.
const same = "@ttlproxy_same = 1"

// statementsAlong are those that delete a family, the rows of the table itself last.
func (t *serverTable) statementsAlong(f *family.Family, listed int) ([]family.Statement, error) {
	found, err := f.Statements(same, listed)
	if err != nil {
		return nil, err
	}

	// All of these tables have been read and locked: none can become another, nor get a foreign key, as
	// long as the transaction lasts. So they are compared once for all statements.
	look := "SELECT " + t.barrier.inside(t.batch) + " AND " + t.along.same + " INTO @ttlproxy_same"
	all := append([]family.Statement{{SQL: look, Looks: true}}, found...)
	for tops := range t.statements.Key.Lists(f.Tops(), listed) {
		looks, alone, err := f.LookBelow(tops)
		if err != nil {
			return nil, err
		}
		del, err := t.statements.Forcing(t.barrier.mariadb).DeleteKeys(tops, same+alone)
		if err != nil {
			return nil, err
		}
		all = append(append(all, looks...), family.Statement{SQL: del, Rows: int64(len(tops))})
	}
	return all, nil
}

// executeAlong executes statements, each of which has to find as many rows as are locked for it.
func (t *serverTable) executeAlong(ctx context.Context, statements []family.Statement) error {
	if len(statements) == 0 {
		return nil
	}

	found, err := t.session.packets(ctx, t.texts(statements)...)
	t.session.visit(t.policy.ID)
	if classify(err) == poison {
		if why := t.whyOthers(ctx); errors.Is(why, errChanged) || errors.Is(why, errRefused) {
			return why // children that were not found because of that stand in the way of their parents
		}
	}
	if err != nil {
		return err
	}

	for i, s := range statements {
		if !s.Looks && (i >= len(found) || found[i] != s.Rows) {
			err := t.whyOthers(ctx)
			t.session.rollback(ctx)
			return err
		}
	}
	return nil
}

// texts are statements as they are sent.
func (t *serverTable) texts(statements []family.Statement) []string {
	texts := make([]string, len(statements))
	for i, s := range statements {
		texts[i] = t.barrier.delete(s.SQL)
	}
	return texts
}

// whyOthers finds out why statements do not find the rows that are locked, or others.
func (t *serverTable) whyOthers(ctx context.Context) error {
	if err := t.altered(ctx); err != nil {
		return err
	}
	if may, err := t.holds(ctx, t.barrier.now()); err != nil || !may {
		return cmp.Or(err, errRefused)
	}
	return errObstinate
}

// altered is errChanged if a table that statements name, or what points at it, is not as it was planned
// for. If nobody can be asked, it is taken to be.
func (t *serverTable) altered(ctx context.Context) error {
	same := t.barrier.same()
	if t.along != nil {
		same += " AND " + t.along.same
	}
	if kept, err := t.holds(ctx, same); err != nil || !kept {
		return cmp.Or(err, errChanged)
	}
	return nil
}

// holds reports whether the server finds a condition true, or nobody can ask it.
func (t *serverTable) holds(ctx context.Context, condition string) (held bool, err error) {
	if t.session.conn == nil {
		return true, nil
	}
	err = t.session.QueryRowContext(ctx, "SELECT COALESCE("+condition+", FALSE)").Scan(&held)
	return held, err
}
