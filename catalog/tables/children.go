package tables

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/ddl"
)

// ForeignKey is a foreign key as its parent sees it: which rows of which table point here.
type ForeignKey struct {
	Schema, Table string // of the child
	Name          string // of the constraint
	OnDelete      string // CASCADE, SET NULL, or NO ACTION, which RESTRICT is another word for
	Columns       []string
	References    []string // the parent's columns, one for each of the child's
}

// Child is the quoted name of the table that has the key.
func (k ForeignKey) Child() string { return ddl.QuoteTable(k.Schema, k.Table) }

// String names the child as a sentence names a table, so that it can be kept from those who may not
// see it.
func (k ForeignKey) String() string {
	return k.Child() + " (" + k.Name + ", ON DELETE " + k.OnDelete + ")"
}

// Acts reports whether InnoDB itself changes children when their parent goes.
func (k ForeignKey) Acts() bool { return k.OnDelete != noAction }

// noAction is the rule that only refuses.
const noAction = "NO ACTION"

// Children are the foreign keys that point at a table, wherever the tables are that have them.
type Children struct {
	Keys []ForeignKey
	// Unsure is why these may not be all, or not those; empty if they are.
	Unsure string

	server  server
	columns int    // of all keys
	mark    uint64 // changes with any key, and any of its columns
}

// Why keys may not be what they seem.
const (
	unseen = "TTL_FK: foreign keys from schemas that the service account does not see would go unnoticed; " +
		"GRANT PROCESS ON *.* shows them"
	unclear = "TTL_FK: which tables foreign keys belong to is not certain, because there is a / in a name; " +
		"GRANT SELECT ON all that points at this table shows it"
)

// Names are the keys as sentences name them.
func (c Children) Names() (names []string) {
	for _, k := range c.Keys {
		names = append(names, k.String())
	}
	return names
}

// Unchanged is the condition that exactly these keys point at a table. It belongs inside the DELETE:
// there the table's metadata lock is held, behind which ALTER TABLE … ADD FOREIGN KEY waits on both
// servers. On MariaDB a CREATE TABLE does not wait; its rows would, for the rows that are locked.
func (c Children) Unchanged(schema, table string) string {
	return fmt.Sprintf("%s%s(SELECT %s s, %s t) x)) = '%d/%d'", selectMark, c.server.keys(), Literal(schema),
		Literal(table), c.columns, c.mark)
}

// ReadChildren returns the foreign keys that point at a table. information_schema only shows those of
// tables on which the asking account has rights of its own, and a cascade needs none: so InnoDB is
// asked, which requires PROCESS, and information_schema if that is not granted.
func ReadChildren(ctx context.Context, q Querier, schema, table string) (Children, error) {
	var s server
	if err := q.QueryRowContext(ctx, selectServer).Scan(&s.mariadb, &s.folds); err != nil {
		return Children{}, fmt.Errorf("foreign keys to %s.%s: %w", schema, table, err)
	}
	return readChildren(ctx, q, s, schema, table)
}

// server is what statements about foreign keys depend on.
type server struct {
	mariadb bool // and not MySQL
	folds   bool // names of tables to lower case (lower_case_table_names)
}

// keys are where the foreign keys to a table are read. MariaDB executes a subquery with a variable of
// the server anew for each row that it is asked for: so the condition in a DELETE has none.
func (s server) keys() string { return s.choose(keysToMySQL, keysToMariaDB) }

// choose is the text for this server.
func (s server) choose(onMySQL, onMariaDB string) string {
	text, folds := onMySQL, "FALSE"
	if s.mariadb {
		text = onMariaDB
	}
	if s.folds {
		folds = "TRUE"
	}
	return strings.ReplaceAll(text, folding, folds)
}

// parents tells which of some tables any foreign key points at, by their places. To ask that of many costs a server no
// more than to ask for the keys to one.
func parents(ctx context.Context, q Querier, some []Target) (are map[int]bool, s server, err error) {
	if err := q.QueryRowContext(ctx, selectServer).Scan(&s.mariadb, &s.folds); err != nil {
		return nil, s, err
	}

	names, args := "(SELECT ? s, ? t, 0 n", []any{some[0].Schema, some[0].Table}
	for i, t := range some[1:] {
		names += fmt.Sprintf(" UNION ALL SELECT ?, ?, %d", i+1)
		args = append(args, t.Schema, t.Table)
	}

	are = map[int]bool{}
	query := s.choose(parentsMySQL, parentsMariaDB) + names + ") x" + pointedAt + s.choose(nameMySQL, nameMariaDB)
	err = EachRow(ctx, q, query, args, func(rows *sql.Rows) error {
		var n int
		err := rows.Scan(&n)
		are[n] = true
		return err
	})
	return are, s, err
}

func readChildren(ctx context.Context, q Querier, s server, schema, table string) (c Children, err error) {
	c.server = s
	ask := s.choose(selectChildrenMySQL, selectChildrenMariaDB)
	err = c.read(ctx, q, ask+s.keys()+"(SELECT ? s, ? t) x) ORDER BY c.POS", schema, table)
	if my, ok := errors.AsType[*mysql.MySQLError](err); ok && my.Number == ddl.CodeRightNeeded {
		c.Unsure = unseen
		err = c.read(ctx, q, selectVisibleChildren, schema, table)
	}
	if err == nil && c.Unsure == "" && !s.mariadb && c.slashed(schema, table) {
		err = c.clarify(ctx, q, schema, table)
	}
	if err != nil {
		return c, fmt.Errorf("foreign keys to %s.%s: %w", schema, table, err)
	}

	return c, nil
}

// slashed reports whether a name has a / in it. Between a schema and what is in it MySQL writes one as well:
// so it is not known where the schema ends, nor which columns are of which key.
func (c *Children) slashed(schema, table string) bool {
	has := func(name string) bool { return strings.Contains(name, "/") }
	return has(schema) || has(table) || slices.ContainsFunc(c.Keys, func(k ForeignKey) bool {
		return has(k.Table) || has(k.Name)
	})
}

// clarify lets information_schema say which keys these are, if it shows as many: then it shows all.
func (c *Children) clarify(ctx context.Context, q Querier, schema, table string) error {
	var visible Children
	if err := visible.read(ctx, q, selectVisibleChildren, schema, table); err != nil {
		return err
	}
	if visible.columns != c.columns {
		c.Unsure = unclear
		return nil
	}
	c.Keys = visible.Keys
	return nil
}

// Denied reports whether a server refused a question for want of a right on a table or a column.
func Denied(err error) bool {
	my, ok := errors.AsType[*mysql.MySQLError](err)
	return ok && (my.Number == ddl.CodeTableDenied || my.Number == ddl.CodeColumnDenied)
}

// read reads keys column by column.
func (c *Children) read(ctx context.Context, q Querier, query, schema, table string) error {
	err := EachRow(ctx, q, query, []any{schema, table}, func(rows *sql.Rows) error {
		var k ForeignKey
		var column, reference string
		var mark uint64
		if err := rows.Scan(&k.Schema, &k.Table, &k.Name, &k.OnDelete, &column, &reference, &mark); err != nil {
			return err
		}

		at := slices.IndexFunc(c.Keys, k.is)
		if at < 0 {
			at, c.Keys = len(c.Keys), append(c.Keys, k)
		}

		key := &c.Keys[at]
		key.Columns, key.References = append(key.Columns, column), append(key.References, reference)
		c.columns, c.mark = c.columns+1, c.mark+mark
		return nil
	})

	slices.SortFunc(c.Keys, func(a, b ForeignKey) int {
		return cmp.Or(cmp.Compare(a.Schema, b.Schema), cmp.Compare(a.Table, b.Table), cmp.Compare(a.Name, b.Name))
	})
	return err
}

// is reports whether two rows are about one key.
func (k ForeignKey) is(o ForeignKey) bool {
	return k.Schema == o.Schema && k.Table == o.Table && k.Name == o.Name
}
