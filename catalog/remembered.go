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
// to learn it again. The number of what has kept its id is not forgotten.
func (s *Store) rememberIdentity(ctx context.Context, tx *sql.Tx, policy uint64, seen tables.Seen) error {
	numbers, err := s.numbers(ctx, tx, policy, seen.Server)
	if err != nil {
		return err
	}
	if _, err := s.exec(ctx, tx, deleteIdentities, policy); err != nil {
		return fmt.Errorf("forget identity: %w", err)
	}
	return s.insertIdentities(ctx, tx, policy, seen.Server, seen.Incarnation, numbers)
}

// learnIdentity replaces what is known on one server only.
func (s *Store) learnIdentity(
	ctx context.Context, tx *sql.Tx, policy uint64, server string, all tables.Incarnation,
) error {
	numbers, err := s.numbers(ctx, tx, policy, server)
	if err != nil {
		return err
	}
	if _, err := s.exec(ctx, tx, deleteServerIdentities, policy, server); err != nil {
		return fmt.Errorf("forget identity: %w", err)
	}
	return s.insertIdentities(ctx, tx, policy, server, all, numbers)
}

func (s *Store) insertIdentities(
	ctx context.Context, tx *sql.Tx, policy uint64, server string, all tables.Incarnation, numbers Numbers,
) error {
	for some := range slices.Chunk(all, mostIdentities) {
		var args []any
		for _, i := range some {
			number := numbers.Of(i)
			args = append(args, policy, i.Partition, server, i.TableID, sql.Null[uint64]{V: number, Valid: number != 0},
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

// mostIdentities bounds the partitions that one statement remembers: it has eight parameters for
// each, and servers allow 65,535.
const mostIdentities = 1000

// Holds are the partitions of a table that are held until a person has looked, in the order of their names.
type Holds struct {
	Places []HeldPlace
	All    bool // there are no others
}

// HeldPlace is one of them.
type HeldPlace struct{ Partition, Why string }

// Holds returns what is held, by policy: on the server that saw the table last, which may be another one.
func (s *Store) Holds(ctx context.Context) (map[uint64]Holds, error) {
	type place struct {
		HeldPlace
		policy uint64
		server string
		seen   time.Time
		held   bool
	}
	rows, err := s.db.QueryContext(ctx, s.sql(selectHolds), tables.FirstSight, tables.FirstSight,
		tables.FirstSight)
	if err != nil {
		return nil, fmt.Errorf("read which partitions are held: %w", err)
	}
	places, err := collect(rows, func(r *sql.Rows) (p place, err error) {
		return p, r.Scan(&p.policy, &p.server, &p.seen, &p.Partition, &p.held, &p.Why)
	})

	newest := map[uint64]place{}
	for _, p := range places {
		if n, known := newest[p.policy]; !known || p.seen.After(n.seen) {
			newest[p.policy] = p
		}
	}

	all := map[uint64]Holds{}
	for _, p := range places {
		if p.server != newest[p.policy].server {
			continue
		}
		h, known := all[p.policy]
		if h.All = p.held && (h.All || !known); p.held {
			h.Places = append(h.Places, p.HeldPlace)
		}
		all[p.policy] = h
	}
	return all, err
}

// runReleased requests a run of a policy that is armed, if partitions were held until now: their rows have waited.
func (s *Store) runReleased(ctx context.Context, tx *sql.Tx, policy uint64, known tables.Incarnation) error {
	if !known.AnyLasts() {
		return nil
	}
	_, err := s.exec(ctx, tx, requestRun, Replanner, policy)
	return err
}
