package catalog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/ddl"
)

// ErrInUse says that proxies are using the catalog.
var ErrInUse = errors.New("proxies are using this catalog")

// Removal is what it takes to remove the catalog from its server. Nothing is dropped that a
// migration did not create.
type Removal struct {
	store *Store
	ours  []object // what is there of it, the table last by which it is known as ours
	// Views are those that TTL_VIEW has made, which their owners have to drop: they stay as they are.
	Views []Table
	// Asides are what partitions have become (TTL_PARTITION = 'EXCHANGE') and is still kept: they stay, too.
	Asides []Table
	// MaybeAsides are tables of which nobody has noted whether partitions have become them: whoever should have may
	// have died before. Where they are, they stay.
	MaybeAsides []Table
	// Kept says why the schema itself stays; empty when it goes.
	Kept string
	// Account is the service account as the server knows it, quoted; somebody else has to drop it.
	Account string
}

// OpenToRemove opens a catalog of this version for Uninstall. Tables may be missing: somebody may
// have begun to remove it.
func OpenToRemove(ctx context.Context, db *sql.DB, cfg Config) (*Store, error) {
	s, err := newStore(ctx, db, cfg)
	if err != nil {
		return nil, err
	}
	return s, s.mustBeUpToDate(ctx)
}

// Uninstall plans the removal of the catalog, and changes nothing. It refuses while live nodes are
// using it.
func (s *Store) Uninstall(ctx context.Context) (*Removal, error) {
	nodes, err := ofWhatIsThere(s.Nodes(ctx))
	if err != nil {
		return nil, err
	}

	for _, n := range nodes {
		if n.Live {
			return nil, fmt.Errorf("%w: %s; stop them first", ErrInUse, n.Name)
		}
	}

	r := &Removal{store: s}
	if r.Account, err = Account(ctx, s.db); err != nil {
		return nil, err
	}
	if err := r.readLeftovers(ctx); err != nil {
		return nil, err
	}

	steps, err := migrations(migrationFiles)
	if err != nil {
		return nil, err
	}

	found, err := s.contents(ctx)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(found, ours(createMigration)) {
		return nil, s.noCatalog()
	}

	r.ours = slices.DeleteFunc(belongings(steps), func(o object) bool { return !slices.Contains(found, o) })
	r.Kept, err = s.keepsSchema(ctx, strangers(found, steps), r.Account)
	return r, err
}

// readLeftovers reads what was made outside of the schema.
func (r *Removal) readLeftovers(ctx context.Context) error {
	views, err := ofWhatIsThere(r.store.LiveViews(ctx))
	if err != nil {
		return err
	}
	for _, v := range views {
		r.Views = append(r.Views, v.View)
	}

	asides, err := ofWhatIsThere(r.store.departures(ctx, r.store.db, selectAsides))
	for _, d := range asides {
		if d.Unnoted() {
			r.MaybeAsides = append(r.MaybeAsides, d.Side)
		} else {
			r.Asides = append(r.Asides, d.Side)
		}
	}
	return err
}

// ofWhatIsThere is nothing of a table that is not there.
func ofWhatIsThere[T any](all []T, err error) ([]T, error) {
	if isServerError(err, ddl.CodeNoTable) {
		return nil, nil
	}
	return all, err
}

// Statements are what Run sends, in order. It locks all tables before it drops one: whoever is
// reading, as a dump does, has an end put to it before anything has happened. The table goes last
// by which the catalog is known as ours, so that what was interrupted can be done again.
func (r *Removal) Statements() []string {
	var lock, drop, rest []string
	for _, o := range r.ours {
		name := ddl.QuoteTable(r.store.cfg.Schema, o.name)
		statement := fmt.Sprintf("DROP %s IF EXISTS %s", o.kind, name)
		switch {
		case o.kind != "TABLE": // which no lock lets anybody drop
			rest = append(rest, statement)
			continue
		case o == ours(createMigration):
			rest = append(rest, statement)
		default:
			drop = append(drop, statement)
		}
		lock = append(lock, name+" WRITE")
	}

	all := append([]string{"LOCK TABLES " + strings.Join(lock, ", ")}, drop...)
	all = append(append(all, "UNLOCK TABLES"), rest...)
	if r.Kept == "" {
		all = append(all, dropSchema+r.store.schema)
	}
	return all
}

// keepsSchema says why the schema has to stay; empty when nothing but ours can be in it.
func (s *Store) keepsSchema(ctx context.Context, others []object, account string) (string, error) {
	if len(others) > 0 {
		return alsoHolds(others), nil
	}

	var rights int
	if err := s.db.QueryRowContext(ctx, selectSeesContents, s.cfg.Schema, account).Scan(&rights); err != nil {
		return "", fmt.Errorf("ask for the rights on schema %s: %w", s.cfg.Schema, err)
	}
	if rights < 2 {
		return "without the rights EXECUTE and EVENT this account cannot see whether somebody keeps routines or " +
			"events in it", nil
	}

	return "", nil
}

func alsoHolds(others []object) string { return fmt.Sprintf("it also holds %s", others[0]) }

// Account is who the server takes us for, as DROP USER and GRANT want it.
func Account(ctx context.Context, db execer) (string, error) {
	var who string
	if err := db.QueryRowContext(ctx, selectAccount).Scan(&who); err != nil {
		return "", fmt.Errorf("ask for the account: %w", err)
	}

	at := strings.LastIndexByte(who, '@') // a user's name may hold one, a host's cannot
	return tables.Literal(who[:max(at, 0)]) + "@" + tables.Literal(who[at+1:]), nil
}

// Run removes the catalog, and no more than was planned. It checks once more whether somebody has
// put something into the schema meanwhile; a schema that was to stay does stay, even if what kept
// it is gone. An error of the first statement, or an end of ctx before it, leaves everything as it is.
func (r *Removal) Run(ctx context.Context) error {
	again, err := r.store.Uninstall(ctx)
	if err != nil {
		return err
	}

	if r.ours = again.ours; r.Kept == "" {
		r.Kept = again.Kept
	}

	conn, err := r.store.db.Conn(ctx)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer discard(conn) // with its locks

	statements := r.Statements()
	if _, err := conn.ExecContext(ctx, statements[0]); err != nil {
		return fmt.Errorf("nothing was removed: %w", lockedOut(err))
	}

	ctx = context.WithoutCancel(ctx) // half of it would help nobody
	for _, q := range statements[1:] {
		if strings.HasPrefix(q, dropSchema) {
			return r.dropSchema(ctx, conn)
		}
		if _, err := conn.ExecContext(ctx, q); err != nil {
			return fmt.Errorf("%s: %w", q, err)
		}
	}

	return nil
}

// lockedOut says what to do about a table that somebody is using.
func lockedOut(err error) error {
	if isServerError(err, ddl.CodeLockWait) {
		return fmt.Errorf("somebody is using a table of the catalog, such as a dump, or a transaction that has read "+
			"it: end that, and do it again: %w", err)
	}
	return err
}

// dropSchema drops the schema, unless somebody has put something into it meanwhile. It looks right
// before: DROP DATABASE takes along whatever there is.
func (r *Removal) dropSchema(ctx context.Context, conn *sql.Conn) error {
	left, err := r.store.contents(ctx)
	if err != nil {
		return err
	}
	if others := strangers(left, nil); len(others) > 0 {
		r.Kept = alsoHolds(others)
		return nil
	}
	_, err = conn.ExecContext(ctx, dropSchema+r.store.schema)
	if err != nil {
		return fmt.Errorf("drop the schema: %w", err)
	}
	return nil
}
