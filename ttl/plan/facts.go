package plan

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
)

// Querier is the connection a question is put to: *sql.DB, *sql.Conn or *sql.Tx.
type Querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// ErrNoTable means that the table, or the partition, is not there (or not visible to the asking account).
var ErrNoTable = errors.New("table does not exist")

// Facts is what one table is like now. Read again at the start of every job.
type Facts struct {
	Schema, Table string
	Type          string // BASE TABLE, SYSTEM VERSIONED, VIEW …
	Engine        string
	Created       string // CREATE_TIME to the second, in UTC; empty when the server does not tell
	Rows, Bytes   int64  // the server's estimates
	Columns       Columns
	Indexes       []Index
	Partitions    []Partition
	Children      []string // foreign keys of other tables that point here
	Triggers      []string // triggers that fire on DELETE
}

// Index is one index, its parts in order.
type Index struct {
	Name    string
	Unique  bool
	Usable  bool // visible, B-tree, whole columns, one direction
	Columns []string
}

// Partition is one partition of a partitioned table.
type Partition struct {
	Name    string
	Created string
	Rows    int64
	Bytes   int64
}

// ReadFacts reads information_schema. It takes no lock and never opens a transaction.
func ReadFacts(ctx context.Context, q Querier, schema, table string) (*Facts, error) {
	f := &Facts{Schema: schema, Table: table}
	err := q.QueryRowContext(ctx, selectTable, schema, table).
		Scan(&f.Schema, &f.Table, &f.Type, &f.Engine, &f.Created, &f.Rows, &f.Bytes)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, fmt.Errorf("%s.%s: %w", schema, table, ErrNoTable)
	}
	if err != nil {
		return nil, fmt.Errorf("read table %s.%s: %w", schema, table, err)
	}
	for _, read := range []func(context.Context, Querier) error{
		f.readColumns, f.readIndexes, f.readPartitions, f.readChildren, f.readTriggers,
	} {
		if err := read(ctx, q); err != nil {
			return nil, fmt.Errorf("read facts of %s.%s: %w", schema, table, err)
		}
	}
	return f, nil
}

func (f *Facts) readColumns(ctx context.Context, q Querier) error {
	return f.each(ctx, q, selectColumns, func(rows *sql.Rows) error {
		var c Column
		var dataType, columnType, nullable, extra string
		if err := rows.Scan(&c.Name, &dataType, &columnType, &c.Charset, &c.Collation, &nullable, &extra); err != nil {
			return err
		}
		c.Kind = KindOf(strings.ToLower(dataType))
		c.Nullable = nullable == "YES"
		extra = strings.ToUpper(extra)
		c.Generated = strings.Contains(extra, "GENERATED") && !strings.Contains(extra, "DEFAULT_GENERATED")
		c.Invisible = strings.Contains(extra, "INVISIBLE")
		if c.Kind == Ordinal {
			c.Values = ordinals(dataType, columnType)
		}
		f.Columns = append(f.Columns, c)
		return nil
	})
}

// ordinals is the largest number an ENUM or SET can hold: the count of names, or the mask with every name's bit.
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
	return f.each(ctx, q, selectPartitions, func(rows *sql.Rows) error {
		var p Partition
		if err := rows.Scan(&p.Name, &p.Created, &p.Rows, &p.Bytes); err != nil {
			return err
		}
		f.Partitions = append(f.Partitions, p)
		return nil
	})
}

func (f *Facts) readChildren(ctx context.Context, q Querier) error {
	return f.names(ctx, q, selectChildren, &f.Children)
}

func (f *Facts) readTriggers(ctx context.Context, q Querier) error {
	return f.names(ctx, q, selectTriggers, &f.Triggers)
}

func (f *Facts) names(ctx context.Context, q Querier, query string, into *[]string) error {
	return f.each(ctx, q, query, func(rows *sql.Rows) error {
		var name string
		err := rows.Scan(&name)
		*into = append(*into, name)
		return err
	})
}

// each runs a query whose parameters are the schema and the table.
func (f *Facts) each(ctx context.Context, q Querier, query string, row func(*sql.Rows) error) error {
	return eachRow(ctx, q, query, []any{f.Schema, f.Table}, row)
}

func eachRow(ctx context.Context, q Querier, query string, args []any, row func(*sql.Rows) error) error {
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
func (f *Facts) Column(name string) (Column, bool) {
	for _, c := range f.Columns {
		if strings.EqualFold(c.Name, name) {
			return c, true
		}
	}
	return Column{}, false
}

// Partition finds a partition by name.
func (f *Facts) Partition(name string) (Partition, bool) {
	for _, p := range f.Partitions {
		if strings.EqualFold(p.Name, name) {
			return p, true
		}
	}
	return Partition{}, false
}
