package tables

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/ddl"
)

// Children returns the foreign keys that point at a table, wherever the tables that have them are.
// information_schema only shows those of tables on which the asking account has rights of its own,
// and a cascade needs none: so InnoDB is asked, which requires PROCESS, and information_schema if
// that is not granted.
func Children(ctx context.Context, q Querier, schema, table string) ([]string, error) {
	var mariadb bool
	if err := q.QueryRowContext(ctx, "SELECT VERSION() LIKE '%MariaDB%'").Scan(&mariadb); err != nil {
		return nil, fmt.Errorf("foreign keys to %s.%s: %w", schema, table, err)
	}
	return children(ctx, q, mariadb, schema, table)
}

func children(ctx context.Context, q Querier, mariadb bool, schema, table string) ([]string, error) {
	ask := selectChildrenMySQL
	if mariadb {
		ask = selectChildrenMariaDB
	}
	found, err := childrenIn(ctx, q, ask, schema, table)
	if my, ok := errors.AsType[*mysql.MySQLError](err); ok && my.Number == ddl.CodeRightNeeded {
		found, err = childrenIn(ctx, q, selectVisibleChildren, schema, table)
	}
	if err != nil {
		return nil, fmt.Errorf("foreign keys to %s.%s: %w", schema, table, err)
	}
	return found, nil
}

// childrenIn names each child as a sentence names a table, so that it can be kept from those who
// may not see it.
func childrenIn(ctx context.Context, q Querier, query, schema, table string) (all []string, err error) {
	err = EachRow(ctx, q, query, []any{schema, table}, func(rows *sql.Rows) error {
		var schema, name, rule string
		err := rows.Scan(&schema, &name, &rule)
		all = append(all, ddl.QuoteTable(schema, name)+rule)
		return err
	})
	return all, err
}
