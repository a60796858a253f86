package tables

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ttlproxy/ttlproxy/ddl"
)

// Querier is the connection a question is put to: *sql.DB, *sql.Conn or *sql.Tx.
type Querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// ErrNoTable means that the table, or the partition, is not there (or not visible to the asking
// account).
var ErrNoTable = errors.New("table does not exist")

// Facts is what one table is like now. Read again at the start of every job.
type Facts struct {
	Layout
	Type       string // BASE TABLE, SYSTEM VERSIONED, VIEW …
	Engine     string
	Created    string // CREATE_TIME to the second, in UTC; empty when the server does not tell
	Rows       int64  // the server's estimate
	Partitions []Partition
	Children   Children // foreign keys that point here

	server      server
	partitioned bool
}

// Layout is what statements on a table are written from. It stays the same as long as CREATE_TIME
// does: every ALTER moves that.
type Layout struct {
	Schema, Table string
	Columns       Columns
	Indexes       []Index
}

// Index is one index, its parts in order.
type Index struct {
	Name    string
	Unique  bool
	Usable  bool // visible, B-tree, whole columns, one direction
	Columns []string
}

// ReadFacts reads information_schema. It takes no lock and never opens a transaction.
func ReadFacts(ctx context.Context, q Querier, schema, table string) (*Facts, error) {
	f := &Facts{Layout: Layout{Schema: schema, Table: table}}
	if err := f.read(ctx, q, f.readLayout, f.readPartitions, f.readChildren); err != nil {
		return nil, err
	}
	return f, nil
}

// ReadFactsOf is ReadFacts of several tables. It asks once whether foreign keys point at any of them. Where it cannot,
// it asks for each. A table whose facts cannot be read has none.
func ReadFactsOf(ctx context.Context, q Querier, some []Target) []*Facts {
	all := make([]*Facts, len(some))
	var are map[int]bool
	var s server
	asked := false
	if len(some) > 1 {
		var err error
		are, s, err = parents(ctx, q, some)
		asked = err == nil
	}

	for i, t := range some {
		f := &Facts{Layout: Layout{Schema: t.Schema, Table: t.Table}}
		steps := []func(context.Context, Querier) error{f.readLayout, f.readPartitions}
		if asked && !are[i] {
			f.Children.server = s
		} else {
			steps = append(steps, f.readChildren)
		}
		if f.read(ctx, q, steps...) == nil {
			all[i] = f
		}
	}
	return all
}

// read reads the table, and then what else there is to it.
func (f *Facts) read(ctx context.Context, q Querier, steps ...func(context.Context, Querier) error) error {
	schema, table := f.Schema, f.Table
	if err := f.readTable(ctx, q); err != nil {
		return err
	}
	for _, step := range steps {
		if err := step(ctx, q); err != nil {
			return fmt.Errorf("read facts of %s.%s: %w", schema, table, err)
		}
	}
	return nil
}

func (f *Facts) readTable(ctx context.Context, q Querier) error {
	err := q.QueryRowContext(ctx, selectTable, f.Schema, f.Table).
		Scan(&f.Schema, &f.Table, &f.Type, &f.Engine, &f.Created, &f.Rows, &f.server.mariadb, &f.server.folds,
			&f.partitioned)
	if errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("%s.%s: %w", f.Schema, f.Table, ErrNoTable)
	}
	if err != nil {
		return fmt.Errorf("read table %s.%s: %w", f.Schema, f.Table, err)
	}
	return nil
}

// Unfit says why nothing can be deleted from a table of this kind; empty when it can.
func (f *Facts) Unfit() string {
	switch {
	case f.Type == systemVersioned:
		return "the table is a system versioned one: deleted rows would stay as history"
	case f.Type != baseTable:
		return "it is a " + strings.ToLower(f.Type) + ", not a table with rows of its own"
	case f.Engine != innodb:
		return "the table's engine is " + f.Engine + ", not InnoDB: a batch could not be rolled back"
	}
	return ""
}

// innodb is the engine that can roll a batch back, and gives tables ids.
const innodb = "InnoDB"

// The TABLE_TYPE of ordinary tables, and of MariaDB's that keep deleted rows.
const (
	baseTable       = "BASE TABLE"
	systemVersioned = "SYSTEM VERSIONED"
)

// Unfit answers [Facts.Unfit] when nothing else is asked about the table.
func Unfit(ctx context.Context, q Querier, schema, table string) (string, error) {
	f := &Facts{Layout: Layout{Schema: schema, Table: table}}
	if err := f.readTable(ctx, q); err != nil {
		return "", err
	}
	return f.Unfit(), nil
}

// CreatedAt is Created as a time; zero when the server does not tell.
func (f *Facts) CreatedAt() time.Time {
	at, err := time.Parse(time.DateTime, f.Created)
	if err != nil {
		return time.Time{}
	}
	return at
}

// Created is a table's CREATE_TIME now; zero when there is no such table.
func Created(ctx context.Context, q Querier, schema, table string) (time.Time, error) {
	var at int64
	err := q.QueryRowContext(ctx, selectCreated, schema, table).Scan(&at)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return time.Time{}, fmt.Errorf("read creation time of %s.%s: %w", schema, table, err)
	}
	if at == 0 {
		return time.Time{}, nil
	}
	return time.Unix(at, 0), nil
}

// ReadLayout reads columns and indexes only.
func ReadLayout(ctx context.Context, q Querier, schema, table string) (*Layout, error) {
	l := &Layout{Schema: schema, Table: table}
	if err := l.readLayout(ctx, q); err != nil {
		return nil, fmt.Errorf("read layout of %s.%s: %w", schema, table, err)
	}
	return l, nil
}

func (l *Layout) readLayout(ctx context.Context, q Querier) error {
	if err := l.readColumns(ctx, q); err != nil {
		return err
	}
	return l.readIndexes(ctx, q)
}

func (l *Layout) readColumns(ctx context.Context, q Querier) (err error) {
	l.Columns, err = ReadColumns(ctx, q, l.Schema, l.Table)
	return err
}

// ReadColumns reads the columns of a table, in order; none of one that is not there, or not visible
// to the asking account.
func ReadColumns(ctx context.Context, q Querier, schema, table string) (all Columns, err error) {
	err = EachRow(ctx, q, selectColumns, []any{schema, table}, func(rows *sql.Rows) error {
		var c Column
		var dataType, columnType, nullable, extra, expression string
		if err := rows.Scan(&c.Name, &dataType, &columnType, &c.Charset, &c.Collation, &nullable, &extra,
			&expression, &c.Primary, &c.Digits); err != nil {
			return err
		}

		c.Kind = kindOf(strings.ToLower(dataType))
		c.Nullable = nullable == "YES"
		extra = strings.ToUpper(extra)
		c.Generated = strings.Contains(extra, "GENERATED") && !strings.Contains(extra, "DEFAULT_GENERATED")
		c.Renewed = strings.Contains(extra, "ON UPDATE")
		c.Invisible = strings.Contains(extra, "INVISIBLE")

		c.Declared = ddl.Column{
			Name: c.Name, Type: strings.ToUpper(dataType),
			Virtual: strings.Contains(extra, "VIRTUAL"), Expression: expression,
		}
		if c.Kind == Ordinal {
			c.Values = ordinals(dataType, columnType)
		}

		all = append(all, c)
		return nil
	})
	return all, err
}

// ordinals is the largest number an ENUM or SET can hold: the count of names, or the mask with
// every name's bit.
func ordinals(dataType, columnType string) uint64 {
	names := countNames(columnType)
	if strings.EqualFold(dataType, "set") {
		return 1<<min(names, 64) - 1
	}
	return uint64(names)
}

// countNames counts the quoted names in "enum('a','it”s')".
func countNames(columnType string) int {
	n, inside := 0, false
	for i := 0; i < len(columnType); i++ {
		if columnType[i] != '\'' {
			continue
		}
		if inside && i+1 < len(columnType) && columnType[i+1] == '\'' {
			i++ // a doubled quote is part of the name
			continue
		}
		if inside = !inside; inside {
			n++
		}
	}

	return n
}

func (f *Facts) readPartitions(ctx context.Context, q Querier) error {
	if !f.partitioned {
		return nil // and the query is an expensive one
	}
	return f.each(ctx, q, selectPartitions, func(rows *sql.Rows) error {
		var p Partition
		if err := rows.Scan(&p.Name, &p.Rows, &p.Bytes, &p.Method, &p.Expression, &p.Below,
			&p.Divided, &p.Comment); err != nil {
			return err
		}
		f.Partitions = append(f.Partitions, p)
		return nil
	})
}

func (f *Facts) readChildren(ctx context.Context, q Querier) (err error) {
	f.Children, err = readChildren(ctx, q, f.server, f.Schema, f.Table)
	return err
}

// each runs a query whose parameters are the schema and the table.
func (l *Layout) each(ctx context.Context, q Querier, query string, row func(*sql.Rows) error) error {
	return EachRow(ctx, q, query, []any{l.Schema, l.Table}, row)
}

// EachRow asks a question and reads its rows, one by one.
func EachRow(ctx context.Context, q Querier, query string, args []any, row func(*sql.Rows) error) error {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := row(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// Column finds a column by name, as the servers do: without regard to case.
func (l *Layout) Column(name string) (Column, bool) { return l.Columns.Named(name) }

// Named finds a column by name, in the same way.
func (cs Columns) Named(name string) (Column, bool) {
	if i := ddl.IndexNamed(cs, func(c Column) string { return c.Name }, name); i >= 0 {
		return cs[i], true
	}
	return Column{}, false
}

// All finds the columns with these names, in their order, as Named does.
func (cs Columns) All(names []string) (found Columns, all bool) {
	for _, name := range names {
		c, known := cs.Named(name)
		if !known {
			return nil, false
		}
		found = append(found, c)
	}
	return found, true
}

// Has reports whether a column has exactly this name, which has been read from the table as well.
func (cs Columns) Has(name string) bool {
	return slices.ContainsFunc(cs, func(c Column) bool { return c.Name == name })
}

// Are reports whether these columns, and no others, have exactly these names, in whatever order.
func (cs Columns) Are(names []string) bool {
	return len(cs) == len(names) && !slices.ContainsFunc(names, func(name string) bool { return !cs.Has(name) })
}

// With are the columns and those of others of the table that are not among them.
func (cs Columns) With(others Columns) Columns {
	for _, c := range others {
		if !cs.Has(c.Name) {
			cs = append(cs, c)
		}
	}
	return cs
}

// SessionDependence is [ddl.SessionDependence] of a column.
func (l *Layout) SessionDependence(column string) string {
	c, _ := l.Column(column)
	return ddl.SessionDependence(c.Declared, func(name string) (ddl.Column, bool) {
		c, found := l.Column(name)
		return c.Declared, found
	})
}

// Partition finds a partition by name.
func (f *Facts) Partition(name string) (Partition, bool) {
	if i := ddl.IndexNamed(f.Partitions, func(p Partition) string { return p.Name }, name); i >= 0 {
		return f.Partitions[i], true
	}
	return Partition{}, false
}
