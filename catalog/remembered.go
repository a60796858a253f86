package catalog

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog/tables"
)

// Identities returns what is remembered about a policy's table on the server the catalog is reached
// at. Nothing is remembered before the table has first been seen.
func (s *Store) Identities(ctx context.Context, policy uint64) (tables.Incarnation, error) {
	return s.identities(ctx, s.db, selectIdentitiesHere, policy)
}

// IdentitiesOn is Identities for the server with that key: another one, while connections move to
// another member.
func (s *Store) IdentitiesOn(ctx context.Context, policy uint64, server string) (tables.Incarnation, error) {
	return s.identities(ctx, s.db, selectIdentities, policy, server)
}

func (s *Store) identities(ctx context.Context, on execer, query string, args ...any) (tables.Incarnation, error) {
	rows, err := on.QueryContext(ctx, s.sql(query), args...)
	if err != nil {
		return nil, fmt.Errorf("read identities: %w", err)
	}
	return collect(rows, func(r *sql.Rows) (tables.Identity, error) { return scanIdentity(r) })
}

// scanIdentity reads one of them, behind other columns.
func scanIdentity(r *sql.Rows, before ...any) (i tables.Identity, err error) {
	var created sql.Null[time.Time]
	var code, text sql.Null[string]
	err = r.Scan(append(before, &i.Partition, &i.TableID, &created, &code, &text)...)
	i.CreateTime, i.Held = created.V, tables.HoldOf(code.V, text.V)
	return i, err
}

// rememberIdentity replaces what is known about the policy's table on all servers: the others have
// to learn it again.
func (s *Store) rememberIdentity(ctx context.Context, tx *sql.Tx, policy uint64, seen tables.Seen) error {
	if _, err := s.exec(ctx, tx, deleteIdentities, policy); err != nil {
		return fmt.Errorf("forget identity: %w", err)
	}
	return s.insertIdentities(ctx, tx, policy, seen.Server, seen.Incarnation)
}

// learnIdentity replaces what is known on one server only.
func (s *Store) learnIdentity(
	ctx context.Context, tx *sql.Tx, policy uint64, server string, all tables.Incarnation,
) error {
	if _, err := s.exec(ctx, tx, deleteServerIdentities, policy, server); err != nil {
		return fmt.Errorf("forget identity: %w", err)
	}
	return s.insertIdentities(ctx, tx, policy, server, all)
}

func (s *Store) insertIdentities(
	ctx context.Context, tx *sql.Tx, policy uint64, server string, all tables.Incarnation,
) error {
	for some := range slices.Chunk(all, mostIdentities) {
		var args []any
		for _, i := range some {
			args = append(args, policy, i.Partition, server, i.TableID,
				sql.Null[time.Time]{V: i.CreateTime, Valid: !i.CreateTime.IsZero()},
				sql.Null[string]{V: string(i.Held.Code), Valid: i.Held.Holds()},
				sql.Null[string]{V: i.Held.Text, Valid: i.Held.Holds()})
		}

		values := strings.Join(slices.Repeat([]string{identityValues}, len(some)), ", ")
		if _, err := s.exec(ctx, tx, insertIdentities+values, args...); err != nil {
			return fmt.Errorf("remember identity: %w", err)
		}
	}

	return nil
}

// mostIdentities bounds the partitions that one statement remembers: it has seven parameters for
// each, and servers allow 65,535.
const mostIdentities = 1000
