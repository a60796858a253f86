package catalog

import (
	"context"
	"errors"
	"fmt"
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
	// Drops are the statements, in order.
	Drops []string
	// Views are those that TTL_VIEW has made, which their owners have to drop: they stay as they are.
	Views []Table
	// Asides are what partitions have become (TTL_PARTITION = 'EXCHANGE') and is still kept: they stay, too.
	Asides []Table
	// Kept says why the schema itself stays; empty when it goes.
	Kept string
	// Account is the service account as the server knows it, quoted; somebody else has to drop it.
	Account string
}

// Uninstall plans the removal of the catalog, and changes nothing. It refuses while live nodes are
// using it.
func (s *Store) Uninstall(ctx context.Context) (*Removal, error) {
	nodes, err := s.Nodes(ctx)
	if err != nil {
		return nil, err
	}

	for _, n := range nodes {
		if n.Live {
			return nil, fmt.Errorf("%w: %s; stop them first", ErrInUse, n.Name)
		}
	}

	r := &Removal{store: s}
	if r.Account, err = s.account(ctx); err != nil {
		return nil, err
	}

	views, err := s.LiveViews(ctx)
	if err != nil {
		return nil, err
	}
	for _, v := range views {
		r.Views = append(r.Views, v.View)
	}

	kept, err := s.Kept(ctx)
	if err != nil {
		return nil, err
	}
	for _, d := range kept {
		r.Asides = append(r.Asides, d.Side)
	}

	steps, err := migrations(migrationFiles)
	if err != nil {
		return nil, err
	}

	for _, o := range belongings(steps) {
		r.Drops = append(r.Drops, fmt.Sprintf("DROP %s IF EXISTS %s", o.kind, ddl.QuoteTable(s.cfg.Schema, o.name)))
	}

	if r.Kept, err = s.keepsSchema(ctx, steps, r.Account); err == nil && r.Kept == "" {
		r.Drops = append(r.Drops, dropSchema+s.schema)
	}

	return r, err
}

// keepsSchema says why the schema has to stay; empty when nothing but ours can be in it.
func (s *Store) keepsSchema(ctx context.Context, steps []migration, account string) (string, error) {
	found, err := s.contents(ctx)
	if err != nil {
		return "", err
	}
	if others := strangers(found, steps); len(others) > 0 {
		return fmt.Sprintf("it also holds %s", others[0]), nil
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

// account is who the server takes us for, as DROP USER wants it.
func (s *Store) account(ctx context.Context) (string, error) {
	var who string
	if err := s.db.QueryRowContext(ctx, selectAccount).Scan(&who); err != nil {
		return "", fmt.Errorf("ask for the account: %w", err)
	}

	at := strings.LastIndexByte(who, '@') // a user's name may hold one, a host's cannot
	return tables.Literal(who[:max(at, 0)]) + "@" + tables.Literal(who[at+1:]), nil
}

// Run removes the catalog, and no more than was planned. It checks once more whether somebody has
// put something into the schema meanwhile; a schema that was to stay does stay, even if what kept
// it is gone.
func (r *Removal) Run(ctx context.Context) error {
	again, err := r.store.Uninstall(ctx)
	if err != nil {
		return err
	}

	if r.Kept == "" {
		r.Drops, r.Kept = again.Drops, again.Kept
	}

	for _, q := range r.Drops {
		if _, err := r.store.db.ExecContext(ctx, q); err != nil {
			return fmt.Errorf("%s: %w", q, err)
		}
	}

	return nil
}
