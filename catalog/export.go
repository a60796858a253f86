package catalog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
)

// Export returns all policies as statements that bring them back, through the proxy, into this or another server. What a policy
// waits for is a comment above it.
func (s *Store) Export(ctx context.Context) (string, error) {
	all, err := s.Policies(ctx)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, p := range all {
		b.WriteString(p.Statement())
	}
	return b.String(), nil
}

// Statement returns the ALTER TABLE that declares the policy.
func (p Policy) Statement() string {
	var b strings.Builder
	if p.State != PolicyArmed {
		fmt.Fprintf(&b, "-- %s: %s\n", p.State, strings.ReplaceAll(p.Reason, "\n", " "))
	}
	if p.Rule.ZoneSource != ZoneFromTable && p.Rule.TimeZone != "" {
		fmt.Fprintf(&b, "-- dates are in zone %s, from the %s\n", p.Rule.TimeZone, p.Rule.ZoneSource)
	}
	fmt.Fprintf(&b, "ALTER TABLE %s %s;\n", p.Table, p.Rule)
	return b.String()
}

// ErrInUse says that proxies are at work with the catalog.
var ErrInUse = errors.New("proxies are at work with this catalog")

// Uninstall drops the catalog's schema, which is all that ttlproxy creates on a server. It refuses while live nodes work with it.
func (s *Store) Uninstall(ctx context.Context) error {
	nodes, err := s.Nodes(ctx)
	if err != nil {
		return err
	}
	for _, n := range nodes {
		if n.Live {
			return fmt.Errorf("%w: %s; stop them first", ErrInUse, n.Name)
		}
	}
	if _, err := s.db.ExecContext(ctx, dropSchema+s.schema); err != nil {
		return fmt.Errorf("drop schema %s: %w", s.cfg.Schema, err)
	}
	return nil
}

// ErrNoCatalog says that the schema has not been made.
var ErrNoCatalog = errors.New("there is no catalog")

// OpenExisting opens a catalog that is there and up to date, and creates or changes nothing.
func OpenExisting(ctx context.Context, db *sql.DB, cfg Config) (*Store, error) {
	s, err := newStore(ctx, db, cfg)
	if err != nil {
		return nil, err
	}
	steps, err := migrations(migrationFiles)
	if err != nil {
		return nil, err
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, fmt.Errorf("open catalog: %w", err)
	}
	defer conn.Close()
	done, err := s.migrated(ctx, conn, steps)
	if err != nil {
		return nil, err
	}
	if !done {
		return nil, fmt.Errorf("%w in schema %s, or it is older than this version", ErrNoCatalog, s.cfg.Schema)
	}
	return s, s.complete(ctx)
}

// complete reports ErrDamagedCatalog when a table or column of the schema is missing.
func (s *Store) complete(ctx context.Context) error {
	for _, q := range []string{
		selectPolicies, selectJobs, selectTasks, selectSchedules, selectSettings, selectLineage, selectGeneration, selectGlobalPause,
	} {
		_, err := answers(ctx, s.db, s.sql(q))
		if isServerError(err, errNoTable, errNoColumn) {
			return fmt.Errorf("%w: %w; restore schema %s from a backup, or drop it and declare the policies again", ErrDamagedCatalog, err, s.cfg.Schema)
		}
		if err != nil {
			return fmt.Errorf("look at the catalog: %w", err)
		}
	}
	return nil
}
