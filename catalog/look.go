package catalog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ttlproxy/ttlproxy/ddl"
)

// ErrNoTable says that a table does not exist.
var ErrNoTable = errors.New("table does not exist")

// Seen is what a look at a table on this server shows. It takes no lock on the table.
type Seen struct {
	Server     string // key of the server that was looked at
	Exists     bool
	Shape      Shape
	Identities []Identity // the table first, then its partitions
	// TableRows is the optimizer's guess.
	TableRows uint64
}

// lookAttempts bounds how often a table that changes under our eyes is read again.
const lookAttempts = 5

// Look reads a table's shape and identity. Both come from the same incarnation: if CREATE_TIME moved in between, it looks again.
func (s *Store) Look(ctx context.Context, t Table) (Seen, error) {
	t = s.stored(t)
	conn, err := s.db.Conn(ctx) // one connection looks at one server
	if err != nil {
		return Seen{}, fmt.Errorf("look at %s: %w", t, err)
	}
	defer conn.Close()
	for range lookAttempts {
		seen, err := s.look(ctx, conn, t)
		if err != nil {
			return seen, fmt.Errorf("look at %s: %w", t, err)
		}
		after, err := s.outside(ctx, conn, t)
		if err != nil {
			return seen, fmt.Errorf("look at %s: %w", t, err)
		}
		if after.exists == seen.Exists && (!seen.Exists || after.created.Equal(seen.Identities[0].CreateTime)) {
			return seen, nil
		}
	}
	return Seen{}, fmt.Errorf("look at %s: it changes all the time", t)
}

func (s *Store) look(ctx context.Context, conn *sql.Conn, t Table) (Seen, error) {
	o, err := s.outside(ctx, conn, t)
	seen := Seen{Server: o.server, Exists: o.exists, TableRows: o.rows}
	if err != nil || !seen.Exists {
		return seen, err
	}
	whole := Identity{CreateTime: o.created}
	if seen.Shape, err = s.shape(ctx, conn, t); err != nil {
		return seen, err
	}
	parts, err := s.partitions(ctx, conn, t)
	if err != nil {
		return seen, err
	}
	ids, err := s.tableIDs(ctx, conn, t)
	if err != nil {
		return seen, err
	}
	whole.TableID = ids[""]
	seen.Identities = append(seen.Identities, whole)
	for _, p := range parts {
		p.TableID = ids[strings.ToLower(fileName(p.Partition))]
		seen.Identities = append(seen.Identities, p)
	}
	return seen, nil
}

// outside is what information_schema.tables says.
type outside struct {
	server  string
	exists  bool
	created time.Time
	rows    uint64
}

func (s *Store) outside(ctx context.Context, conn *sql.Conn, t Table) (o outside, err error) {
	var at sql.Null[time.Time]
	var rows sql.Null[uint64]
	err = conn.QueryRowContext(ctx, s.sql(selectOutside), t.Schema, t.Name).Scan(&o.server, &o.exists, &at, &rows)
	o.created, o.rows = at.V, rows.V
	return o, err
}

func (s *Store) shape(ctx context.Context, conn *sql.Conn, t Table) (Shape, error) {
	columns, err := lines(ctx, conn, selectShapeColumns, t)
	if err != nil {
		return Shape{}, err
	}
	key, err := lines(ctx, conn, selectShapeKey, t)
	if err != nil {
		return Shape{}, err
	}
	for i := range key {
		key[i] = ddl.Quote(key[i])
	}
	return Shape{Columns: strings.Join(columns, "\n"), PrimaryKey: strings.Join(key, ",")}, nil
}

func lines(ctx context.Context, conn *sql.Conn, query string, t Table) ([]string, error) {
	rows, err := conn.QueryContext(ctx, query, t.Schema, t.Name)
	if err != nil {
		return nil, err
	}
	return collect(rows, func(r *sql.Rows) (line string, err error) { return line, r.Scan(&line) })
}

func (s *Store) partitions(ctx context.Context, conn *sql.Conn, t Table) ([]Identity, error) {
	rows, err := conn.QueryContext(ctx, selectPartitions, t.Schema, t.Name)
	if err != nil {
		return nil, err
	}
	return collect(rows, func(r *sql.Rows) (i Identity, err error) {
		var created sql.Null[time.Time]
		err = r.Scan(&i.Partition, &created)
		i.CreateTime = created.V
		return i, err
	})
}

// tableIDs returns InnoDB's ids by partition, in lower case and in the spelling of file names; "" is a table without partitions.
// Of subpartitions the highest counts. Without PROCESS there are none.
func (s *Store) tableIDs(ctx context.Context, conn *sql.Conn, t Table) (map[string]uint64, error) {
	query := selectTableIDsMySQL
	if s.Server().MariaDB {
		query = selectTableIDsMariaDB
	}
	name := fileName(t.Schema) + "/" + fileName(t.Name) // stored tells its case, which the query does not look at
	rows, err := conn.QueryContext(ctx, query, name, name+"#p#", name+"#p#")
	if isServerError(err, errSpecificAccess) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	ids := map[string]uint64{}
	_, err = collect(rows, func(r *sql.Rows) (struct{}, error) {
		var id uint64
		var full string
		err := r.Scan(&id, &full)
		if part, same := strings.CutPrefix(full, name); same {
			part, _, _ = strings.Cut(strings.TrimPrefix(strings.ToLower(part), "#p#"), "#sp#")
			ids[part] = max(ids[part], id)
		}
		return struct{}{}, err
	})
	if isServerError(err, errSpecificAccess) {
		return nil, nil
	}
	return ids, err
}
