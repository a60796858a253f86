package work

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/tables"
)

// identityStore remembers what tables were.
type identityStore interface {
	Recognize(ctx context.Context, actor string, p catalog.Policy) (known tables.Incarnation, why string, err error)
	IdentitiesOn(ctx context.Context, policy uint64, server string) (tables.Incarnation, error)
	Look(ctx context.Context, t catalog.Table) (tables.Seen, error)
	IdentityCondition(t catalog.Table, created time.Time, i tables.Identity) (condition string, ok bool)
	Numbers(ctx context.Context, policy uint64, server string) (catalog.Numbers, error)
	LearnNumber(ctx context.Context, policy uint64, server string, place tables.Identity, number uint64) error
	Imported(ctx context.Context, actor string, p catalog.Policy, place tables.Identity) error
}

// Recognizer tells whether a table still is the one its policy was declared on.
type Recognizer struct {
	store   identityStore
	layouts layouts
	log     *slog.Logger
	actor   func() string
}

// NewRecognizer makes a recognizer that signs what it finds as actor.
func NewRecognizer(store identityStore, log *slog.Logger, actor func() string) *Recognizer {
	return &Recognizer{store: store, layouts: newLayouts(), log: log, actor: actor}
}

// Recognize makes sure that a policy's table is still the one on which it was declared; nil if it
// is not, and then the policy is disarmed. A *doubtError says why nobody can tell.
func (r *Recognizer) Recognize(ctx context.Context, p catalog.Policy) (tables.Incarnation, error) {
	known, why, err := r.store.Recognize(ctx, r.actor(), p)
	if blind, ok := errors.AsType[*catalog.BlindError](err); ok {
		return nil, &doubtError{Why: blind.Error()}
	}
	about := []slog.Attr{
		slog.String("schema", p.Table.Schema), slog.String("table", p.Table.Name), slog.String("reason", why),
	}
	switch {
	case why == "" || err != nil:
	case known == nil:
		r.log.LogAttrs(ctx, slog.LevelWarn, "policy is disarmed", about...)
	default:
		r.log.LogAttrs(ctx, slog.LevelInfo, "table was changed around the proxy", about...)
	}
	return known, err
}

// remembered is what the table was on a server when it was last recognized; on first sight, and
// while its ids could not be read, that is done now.
func (r *Recognizer) remembered(ctx context.Context, server string, p catalog.Policy) (tables.Incarnation, error) {
	known, err := r.store.IdentitiesOn(ctx, p.ID, server)
	if err == nil && known.AtFirstSight() {
		err = &doubtError{Why: known.Table().Held.Text}
	}
	if err != nil || known.HasID() {
		return known, err
	}
	if known, err = r.Recognize(ctx, p); err != nil || known == nil {
		return nil, err
	}
	if known.AtFirstSight() {
		return nil, &doubtError{Why: known.Table().Held.Text}
	}
	if known, err = r.store.IdentitiesOn(ctx, p.ID, server); err == nil && len(known) == 0 {
		err = &doubtError{Why: fmt.Sprintf("connections lead to server %s, and those of the catalog to another one",
			server)}
	}

	return known, err
}

// Unaltered reports whether facts that were read before their table was recognized are certainly
// still true. Then the layout is remembered with them.
func (r *Recognizer) Unaltered(
	s *Session, now time.Time, t catalog.Table, known tables.Incarnation, before *tables.Facts,
) bool {
	key, ok := layoutKeyOf(s.server, now, t, known)
	if !ok || before == nil || before.CreatedAt().Unix() != key.created {
		return false
	}
	r.layouts.add(key, &before.Layout)
	return true
}

// doubtError is a reason to wait: nothing is wrong with the policy, but it is not certain from
// which table rows would be deleted.
type doubtError catalog.Waits

func (e *doubtError) Error() string { return e.Why }

// settleTime is how long a table is left alone after CREATE_TIME, which has whole seconds: an
// alteration within the same second would not show.
const settleTime = 1100 * time.Millisecond

// identityOf is the condition in every DELETE: the table, and the partition in question, are still
// the remembered ones.
func (r *Recognizer) identityOf(
	ctx context.Context, now time.Time, t tables.Target, all tables.Incarnation,
) (string, error) {
	table, found := identified(all, "")
	if !found {
		return "", errChanged
	}
	if err := settle(ctx, now, table.CreateTime); err != nil {
		return "", err
	}

	one, found := identified(all, t.Partition)
	if !found {
		return "", errChanged
	}

	condition, known := r.store.IdentityCondition(catalog.Table{Schema: t.Schema, Name: t.Table}, table.CreateTime, one)
	if !known {
		return "", &doubtError{Why: unknownID}
	}

	return condition, nil
}

// unknownID is why nothing is deleted from a table whose replacement would not be noticed.
const unknownID = "InnoDB's id of the table, which tells it from any other that takes its name, cannot be read: " +
	"GRANT PROCESS ON *.* to the service account " +
	"makes ids visible; a table in a tablespace that it shares on MySQL gets one with ALTER TABLE … TABLESPACE = " +
	"innodb_file_per_table"

// settle waits until the second of CREATE_TIME is over, in which the table might be altered once
// more and keep it.
func settle(ctx context.Context, now, created time.Time) error {
	switch left := settleTime - now.Sub(created); {
	case left > 2*settleTime:
		return &doubtError{Why: fmt.Sprintf("the table was created at %s, which the server's clock has not "+
			"reached: it was turned back", catalog.Moment(created))}
	case left > 0:
		Wait(ctx, left)
	}
	return ctx.Err()
}

func identified(all tables.Incarnation, partition string) (tables.Identity, bool) {
	i, found := all.At(partition)
	return i, found && !i.CreateTime.IsZero() && !i.Held.Holds()
}
