package model

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-sql-driver/mysql"
)

// eyes read what is in the tables of a script, around the proxy.
type eyes struct {
	db      *sql.DB
	schemas map[string]string // db1 and db2, by their names on the server
}

const selectTables = `SELECT t.table_schema, t.table_name, COALESCE(t.create_options, ''), GROUP_CONCAT(c.column_name)
	FROM information_schema.tables t JOIN information_schema.columns c USING (table_schema, table_name)
	WHERE t.table_schema IN (?, ?) AND t.table_type = 'BASE TABLE' GROUP BY 1, 2, 3`

// changed are the errors of a table that is no more what it was a moment ago.
var changed = []uint16{1054, 1146, 1412}

// look reads all tables. One that goes meanwhile makes it look again.
func (e *eyes) look(ctx context.Context) (map[name]table, []row, error) {
	for {
		tables, rows, err := e.once(ctx)
		gone, refused := errors.AsType[*mysql.MySQLError](err)
		if !refused || ctx.Err() != nil || !slices.Contains(changed, gone.Number) {
			return tables, rows, err
		}
	}
}

func (e *eyes) once(ctx context.Context) (map[name]table, []row, error) {
	tables, text, err := e.tables(ctx)
	if err != nil || text == "" {
		return tables, nil, err
	}

	rows, err := e.db.QueryContext(ctx, text)
	if err != nil {
		return nil, nil, fmt.Errorf("look at the rows: %w", err)
	}
	defer rows.Close()

	var found []row
	for rows.Next() {
		var r row
		var schema string
		if err := rows.Scan(&schema, &r.table.table, &r.id, &r.part, &r.days); err != nil {
			return nil, nil, err
		}

		r.table.schema = e.schemas[schema]
		if r.id < 0 {
			tables[r.table].markers[r.part] = r.id
		}

		found = append(found, r)
	}

	return tables, found, rows.Err()
}

// tables lists the tables, and writes the query for their rows.
func (e *eyes) tables(ctx context.Context) (map[name]table, string, error) {
	var names []any
	for schema := range e.schemas {
		names = append(names, schema)
	}

	rows, err := e.db.QueryContext(ctx, selectTables, names...)
	if err != nil {
		return nil, "", fmt.Errorf("look at the tables: %w", err)
	}
	defer rows.Close()

	tables, parts := map[name]table{}, []string{}
	for rows.Next() {
		var schema, options, columns string
		var n name
		if err := rows.Scan(&schema, &n.table, &options, &columns); err != nil {
			return nil, "", err
		}

		n.schema = e.schemas[schema]
		t := table{column: timeColumn(columns), markers: map[int]int{}, split: strings.Contains(options, "partitioned")}
		tables[n] = t
		parts = append(parts, selectRows(schema, n.table, t.column))
	}

	return tables, strings.Join(parts, " UNION ALL "), rows.Err()
}

// timeColumn finds created or made among columns.
func timeColumn(columns string) string {
	for _, c := range []string{"created", "made"} {
		if strings.Contains(","+columns+",", ","+c+",") {
			return c
		}
	}
	return ""
}

func selectRows(schema, table, column string) string {
	if column == "" {
		column = "NULL"
	}
	return fmt.Sprintf("SELECT '%s', '%s', id, part, GREATEST(COALESCE(DATEDIFF(UTC_TIMESTAMP(), %s), 0), 0) FROM "+
		"%s.`%s`",
		schema, table, column, schema, table)
}
