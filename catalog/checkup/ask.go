package checkup

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"

	"github.com/go-sql-driver/mysql"
)

// each runs a query and scans its rows.
func (c *check) each(ctx context.Context, query string, scan func(*sql.Rows) error, args ...any) error {
	rows, err := c.db.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()

	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// answers runs a query whose rows do not matter, and reports whether there are any.
func (c *check) answers(ctx context.Context, query string) (found bool, err error) {
	err = c.each(ctx, query, func(*sql.Rows) error {
		found = true
		return nil
	})
	return found, err
}

// texts returns the rows of a query with one column.
func (c *check) texts(ctx context.Context, query string, args ...any) (all []string, err error) {
	err = c.each(ctx, query, func(r *sql.Rows) error {
		var text string
		err := r.Scan(&text)
		all = append(all, text)
		return err
	}, args...)
	return all, err
}

// variables returns the rows of a SHOW statement by lower-case name.
func (c *check) variables(ctx context.Context, query string) (map[string]string, error) {
	all := map[string]string{}
	err := c.each(ctx, query, func(r *sql.Rows) error {
		var name, value string
		err := r.Scan(&name, &value)
		all[strings.ToLower(name)] = value
		return err
	})
	return all, err
}

// variable returns a global variable; "" for one that the server does not know.
func (c *check) variable(ctx context.Context, name string) (string, error) {
	vars, err := c.variables(ctx, `SHOW GLOBAL VARIABLES LIKE '`+strings.ReplaceAll(name, "_", `\_`)+`'`)
	return vars[name], err
}

// refused reports whether the server has answered with an error of one of these numbers.
func refused(err error, numbers ...uint16) bool {
	e, ok := errors.AsType[*mysql.MySQLError](err)
	return ok && slices.Contains(numbers, e.Number)
}
