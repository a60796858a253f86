package catalog

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/ddl"
)

// Familiar is Recognize for many policies at once, as far as there is nothing to decide: with few
// statements it finds the tables that are exactly as they are remembered. It returns that by
// policy, and changes nothing. Whatever is missing there is for Recognize: tables that were
// altered, replaced, are partitioned, or whose id cannot be seen.
func (s *Store) Familiar(ctx context.Context, policies []Policy) (map[uint64]tables.Incarnation, error) {
	conn, err := s.db.Conn(ctx) // one connection looks at one server
	if err != nil {
		return nil, fmt.Errorf("look at tables: %w", err)
	}
	defer conn.Close()

	seen, err := s.lookAtMany(ctx, conn, policies)
	if err != nil {
		return nil, fmt.Errorf("look at tables: %w", err)
	}

	known, err := s.identitiesOfMany(ctx, conn, seen)
	if err != nil {
		return nil, err
	}

	familiar := map[uint64]tables.Incarnation{}
	for _, p := range policies {
		now, looked := seen[p.ID]
		if was := known[p.ID]; looked && !was.Partitioned() && was.Table().TableID != 0 && !was.Table().Held.Holds() {
			if c := tables.Compare(p.Shape, p.Rule.Column, was, now); c.How == tables.Same {
				familiar[p.ID] = c.Now
			}
		}
	}

	return familiar, nil
}

// lookAtMany is Look, by policy, for those tables that have one id and one CREATE_TIME all the
// while. Look asks about one table and is told of everything, an absent table and every partition;
// this asks about many with as many statements, and leaves out whatever is not that simple.
func (s *Store) lookAtMany(ctx context.Context, conn *sql.Conn, policies []Policy) (map[uint64]tables.Seen, error) {
	many := make([]Table, len(policies))
	for i, p := range policies {
		many[i] = s.Stored(p.Table)
	}

	before, err := s.createdOfMany(ctx, conn, many)
	if err != nil {
		return nil, err
	}

	columns, err := s.linesOfMany(ctx, conn, selectShapesColumns, many)
	if err != nil {
		return nil, err
	}

	keys, err := s.linesOfMany(ctx, conn, selectShapesKeys, many)
	if err != nil {
		return nil, err
	}

	ids, err := s.idsOfMany(ctx, conn, many)
	if err != nil {
		return nil, err
	}

	after, err := s.createdOfMany(ctx, conn, many)
	if err != nil {
		return nil, err
	}

	all := map[uint64]tables.Seen{}
	for i, p := range policies {
		t := many[i]
		created, there := before[t]
		if !there || ids[t] == 0 || !after[t].Equal(created) {
			continue
		}

		now := tables.Seen{Exists: true, Shape: shapeOf(columns[t], keys[t])}
		now.Add("", created, []uint64{ids[t]})
		all[p.ID] = now
	}

	return all, nil
}

// ofMany makes one statement about many tables. Each part of it names schema and tables as
// constants, so that the servers open no others: MariaDB needs one table at a time for that, MySQL
// those of one schema.
func (s *Store) ofMany(query string, many []Table) string {
	var parts []string
	if s.Server().MariaDB {
		for _, t := range many {
			parts = append(parts, fmt.Sprintf(query,
				"table_schema = "+tables.Literal(t.Schema)+" AND table_name = "+tables.Literal(t.Name)))
		}
		return strings.Join(parts, "\nUNION ALL ")
	}

	names := map[string][]string{}
	for _, t := range many {
		names[t.Schema] = append(names[t.Schema], tables.Literal(t.Name))
	}

	for schema, list := range names {
		parts = append(parts, fmt.Sprintf(query,
			"table_schema = "+tables.Literal(schema)+" AND table_name IN ("+strings.Join(list, ", ")+")"))
	}

	return strings.Join(parts, "\nUNION ALL ")
}

func (s *Store) createdOfMany(ctx context.Context, conn *sql.Conn, many []Table) (map[Table]time.Time, error) {
	created := map[Table]time.Time{}
	return created, each(ctx, conn, s.ofMany(selectCreatedOfMany, many), func(r *sql.Rows) error {
		var t Table
		var at sql.Null[time.Time]
		err := r.Scan(&t.Schema, &t.Name, &at)
		if at.Valid {
			created[t] = at.V
		}
		return err
	})
}

// linesOfMany reads what a table has several of, in their order.
func (s *Store) linesOfMany(
	ctx context.Context, conn *sql.Conn, query string, many []Table,
) (map[Table][]string, error) {
	type line struct {
		at   int
		text string
	}
	found := map[Table][]line{}
	err := each(ctx, conn, s.ofMany(query, many), func(r *sql.Rows) error {
		var t Table
		var l line
		err := r.Scan(&t.Schema, &t.Name, &l.at, &l.text)
		found[t] = append(found[t], l)
		return err
	})

	lines := map[Table][]string{}
	for t, all := range found {
		slices.SortFunc(all, func(a, b line) int { return cmp.Compare(a.at, b.at) })
		for _, l := range all {
			lines[t] = append(lines[t], l.text)
		}
	}

	return lines, err
}

// idsOfMany reads InnoDB's ids of tables that are not partitioned; those of others are not there.
func (s *Store) idsOfMany(ctx context.Context, conn *sql.Conn, many []Table) (map[Table]uint64, error) {
	names := make([]string, len(many))
	for i, t := range many {
		names[i] = s.innodbName(t, "")
	}

	query := fmt.Sprintf(selectIDsOfManyMySQL, strings.Join(names, ", "))
	if s.Server().MariaDB {
		wanted := make([]string, len(names))
		for i, name := range names {
			wanted[i] = fmt.Sprintf("%s AS n%d", name, i)
			names[i] = fmt.Sprintf("w.n%d", i)
		}
		query = fmt.Sprintf(selectIDsOfManyMariaDB, strings.Join(names, ", "), strings.Join(wanted, ", "))
	}

	ids := map[Table]uint64{}
	var twice []Table
	err := each(ctx, conn, query, func(r *sql.Rows) error {
		var id uint64
		var at int
		err := r.Scan(&at, &id)
		if err != nil {
			return err
		}

		if t := many[at-1]; ids[t] == 0 {
			ids[t] = id
		} else {
			twice = append(twice, t)
		}

		return nil
	})
	if isServerError(err, ddl.CodeRightNeeded) {
		return nil, nil
	}

	for _, t := range twice { // names that the server takes for the same
		delete(ids, t)
	}

	return ids, err
}

// identitiesOfMany is what is remembered on the server that was looked at, by policy.
func (s *Store) identitiesOfMany(ctx context.Context, conn *sql.Conn,
	of map[uint64]tables.Seen,
) (map[uint64]tables.Incarnation, error) {
	known := map[uint64]tables.Incarnation{}
	if len(of) == 0 {
		return known, nil
	}

	var policies []any
	for id := range of {
		policies = append(policies, id)
	}

	query := fmt.Sprintf(selectIdentitiesOfMany, "?"+strings.Repeat(", ?", len(policies)-1))
	err := each(ctx, conn, s.sql(query), func(r *sql.Rows) error {
		var policy uint64
		i, err := scanIdentity(r, &policy)
		known[policy] = append(known[policy], i)
		return err
	}, policies...)
	if err != nil {
		return nil, fmt.Errorf("read identities: %w", err)
	}

	return known, nil
}

// each runs a query and does something with each row.
func each(ctx context.Context, on execer, query string, do func(*sql.Rows) error, args ...any) error {
	rows, err := on.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	_, err = collect(rows, func(r *sql.Rows) (struct{}, error) { return struct{}{}, do(r) })
	return err
}
