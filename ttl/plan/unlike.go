package plan

import (
	"context"
	"database/sql"
	"fmt"
	"regexp"
	"strings"

	"github.com/ttlproxy/ttlproxy/catalog/tables"
)

// unlikeSide says why MySQL would refuse to exchange partitions of a table with a table that was made like
// it; empty if it would not, for all that is known. MariaDB makes that table of the partition.
func unlikeSide(ctx context.Context, q tables.Querier, f *tables.Facts) (string, error) {
	text, err := shownTable(ctx, q, f)
	if err != nil {
		return "", err
	}
	if option := refusedOption.FindString(unquoted.ReplaceAllString(text, "''")); option != "" {
		return "MySQL exchanges no partitions of a table with " + option, nil
	}

	instant, otherFormat, err := innodbSays(ctx, q, f.Schema+"/"+f.Table)
	switch {
	case err != nil:
		return "", fmt.Errorf("read InnoDB's partitions of %s: %w", f.Target("").Name(), err)
	case instant:
		return "columns were added or dropped with ALGORITHM = INSTANT, and MySQL exchanges no such partitions; " +
			"ALTER TABLE " + f.Target("").Name() + " FORCE writes it anew", nil
	case otherFormat && !saysFormat.MatchString(text):
		return "it was made under another innodb_default_row_format, and MySQL exchanges no such partitions; ALTER " +
			"TABLE " + f.Target("").Name() + " FORCE writes it anew", nil
	}
	return "", nil
}

// innodbSays reports whether columns of a table's partitions came or went without a rebuild, and whether the
// partitions have another format than new ones get. What an older server does not list is not known.
func innodbSays(ctx context.Context, q tables.Querier, name string) (instant, otherFormat bool, err error) {
	args := []any{name + "#p#", name + "#p$"}
	err = tables.EachRow(ctx, q, selectInnoDBTables, args, func(rows *sql.Rows) error {
		one, err := tables.NamedStrings(rows)
		if err != nil {
			return err
		}
		none := func(count string) bool { return count == "" || count == "0" }
		instant = instant || !none(one["total_row_versions"]) || !none(one["instant_cols"])
		otherFormat = otherFormat || !strings.EqualFold(one["row_format"], one["usual"])
		return nil
	})
	return instant, otherFormat, err
}

var (
	unquoted      = regexp.MustCompile(`'(?:[^'\\]|''|\\.)*'`)
	refusedOption = regexp.MustCompile(`\b(MAX_ROWS|MIN_ROWS|DATA DIRECTORY)\b`)
	saysFormat    = regexp.MustCompile(`\bROW_FORMAT=`)
)

// shownTable is what SHOW CREATE TABLE says.
func shownTable(ctx context.Context, q tables.Querier, f *tables.Facts) (text string, err error) {
	return shown(ctx, q, f.Target("").Name())
}

func shown(ctx context.Context, q tables.Querier, table string) (text string, err error) {
	var name string
	if err := q.QueryRowContext(ctx, "SHOW CREATE TABLE "+table).Scan(&name, &text); err != nil {
		return "", fmt.Errorf("show %s: %w", table, err)
	}
	return text, nil
}
