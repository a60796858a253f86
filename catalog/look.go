package catalog

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/ddl"
)

// lookAttempts bounds how often a table that changes under our eyes is read again.
const lookAttempts = 5

// Look reads a table's shape and identity. Both come from the same incarnation: if CREATE_TIME
// moved in between, it looks again.
func (s *Store) Look(ctx context.Context, t Table) (tables.Seen, error) {
	conn, err := s.db.Conn(ctx) // one connection looks at one server
	if err != nil {
		return tables.Seen{}, fmt.Errorf("look at %s: %w", t, err)
	}
	defer conn.Close()
	return s.lookOn(ctx, conn, t)
}

// lookOn is Look at the server at the other end of a connection.
func (s *Store) lookOn(ctx context.Context, conn *sql.Conn, t Table) (tables.Seen, error) {
	t = s.Stored(t)
	for range lookAttempts {
		seen, err := s.look(ctx, conn, t)
		if err != nil {
			return seen, fmt.Errorf("look at %s: %w", t, err)
		}

		after, err := s.outside(ctx, conn, t)
		if err != nil {
			return seen, fmt.Errorf("look at %s: %w", t, err)
		}
		if after.exists == seen.Exists && (!seen.Exists || after.created.Equal(seen.Incarnation.Table().CreateTime)) {
			return seen, nil
		}
	}

	return tables.Seen{}, fmt.Errorf("look at %s: it keeps changing", t)
}

func (s *Store) look(ctx context.Context, conn *sql.Conn, t Table) (tables.Seen, error) {
	o, err := s.outside(ctx, conn, t)
	seen := tables.Seen{Server: o.server, Exists: o.exists, TableRows: o.rows, Engine: o.engine}
	if err != nil || !seen.Exists {
		return seen, err
	}
	if seen.Shape, err = s.shape(ctx, conn, t); err != nil {
		return seen, err
	}

	ids, err := s.innodbIDs(ctx, conn, t)
	if err != nil {
		return seen, err
	}

	seen.IDsRead = ids != nil
	seen.Add("", o.created, ids[""])
	err = s.addPartitions(ctx, conn, t, ids, &seen)
	return seen, err
}

// outside is what information_schema.tables says.
type outside struct {
	server  string
	exists  bool
	created time.Time
	rows    uint64
	engine  string
}

func (s *Store) outside(ctx context.Context, conn *sql.Conn, t Table) (o outside, err error) {
	var at sql.Null[time.Time]
	var rows sql.Null[uint64]
	var engine sql.Null[string]
	err = conn.QueryRowContext(ctx, s.sql(selectOutside), t.Schema, t.Name).
		Scan(&o.server, &o.exists, &at, &rows, &engine)
	o.created, o.rows, o.engine = at.V, rows.V, engine.V
	return o, err
}

func (s *Store) shape(ctx context.Context, conn *sql.Conn, t Table) (tables.Shape, error) {
	columns, err := lines(ctx, conn, selectShapeColumns, t)
	if err != nil {
		return tables.Shape{}, err
	}
	key, err := lines(ctx, conn, selectShapeKey, t)
	if err != nil {
		return tables.Shape{}, err
	}
	return shapeOf(columns, key), nil
}

// shapeOf is the shape of a table with these columns and this primary key, in their order.
func shapeOf(columns, key []string) tables.Shape {
	quoted := make([]string, len(key))
	for i, name := range key {
		quoted[i] = ddl.Quote(name)
	}
	return tables.Shape{Columns: strings.Join(columns, "\n"), PrimaryKey: strings.Join(quoted, ",")}
}

func lines(ctx context.Context, conn *sql.Conn, query string, t Table) ([]string, error) {
	rows, err := conn.QueryContext(ctx, query, t.Schema, t.Name)
	if err != nil {
		return nil, err
	}
	return collect(rows, func(r *sql.Rows) (line string, err error) { return line, r.Scan(&line) })
}
