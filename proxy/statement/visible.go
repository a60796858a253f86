package statement

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/report"
	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/proxy"
	"github.com/ttlproxy/ttlproxy/proxy/wire"
)

// censor removes from a list what the client may not see: rows about tables that it does not see on
// the server, the names of such tables, and keys and dates of rows that it may not read.
func (a *admin) censor(ctx context.Context, l *report.List) error {
	if slices.ContainsFunc(l.Rows, func(r report.Row) bool { return r.Table.Name != "" }) {
		if all, err := a.q.readsAll(); all || err != nil {
			return err // who reads everything sees everything
		}
	}

	visible, err := a.q.visibleTables(tablesOf(l))
	if err != nil {
		return err
	}

	l.Keep(func(r report.Row) bool { return r.Table.Name == "" || visible[r.Table] })
	if err := a.q.veilList(l, visible); err != nil {
		return err
	}

	readable, err := a.readableTables(ctx, secretsOf(l))
	if err != nil {
		return err
	}

	l.Hide(func(r report.Row) bool { return !readable[r.Table] })
	return nil
}

// tablesOf lists the tables that a list mentions.
func tablesOf(l *report.List) []catalog.Table {
	seen := map[catalog.Table]bool{}
	var tables []catalog.Table
	var last catalog.Table
	for _, r := range l.Rows {
		if r.Table == last {
			continue
		}

		last = r.Table
		if r.Table.Name != "" && !seen[r.Table] {
			seen[r.Table] = true
			tables = append(tables, r.Table)
		}
	}
	return tables
}

// secretsOf lists the tables of whose rows a list gives something away.
func secretsOf(l *report.List) []catalog.Table {
	var with report.List
	for _, r := range l.Rows {
		if l.HasSecret(r) {
			with.Rows = append(with.Rows, r)
		}
	}
	return tablesOf(&with)
}

// veilList removes the names of tables that the client may not see from what is said about others.
func (q *request) veilList(l *report.List, known map[catalog.Table]bool) error {
	named := l.Mentions()
	if len(named) == 0 {
		return nil
	}

	var unknown []catalog.Table
	for _, table := range named {
		if _, asked := known[table]; !asked {
			unknown = append(unknown, table)
		}
	}
	more, err := q.visibleTables(unknown)
	if err != nil {
		return err
	}
	l.Veil(func(table catalog.Table) bool { return known[table] || more[table] })
	return nil
}

// veil does the same to single sentences.
func (q *request) veil(sentences ...*string) error {
	var named []catalog.Table
	for _, s := range sentences {
		named = append(named, catalog.Mentions(*s)...)
	}
	visible, err := q.visibleTables(named)
	if err != nil {
		return err
	}
	for _, s := range sentences {
		*s = catalog.Veil(*s, func(table catalog.Table) bool { return visible[table] })
	}
	return nil
}

// veilNotes does so to what is left for SHOW WARNINGS; nothing is left if the server does not say
// what the client may see.
func (q *request) veilNotes() error {
	sentences := make([]*string, len(q.notes))
	for i := range q.notes {
		sentences[i] = &q.notes[i].Message
	}
	err := q.veil(sentences...)
	if err != nil {
		q.notes = nil
	}
	return nilIfRefused(err)
}

// veilError does so to an error of ours. The server's own errors name only what the client has
// named.
func (q *request) veilError(err error) error {
	e, ok := errors.AsType[*wire.Error](err)
	if !ok || e.Code != ddl.CodeUnknownError {
		return err
	}
	veiled := *e
	if failed := q.veil(&veiled.Message); failed != nil {
		return failed
	}
	return &veiled
}

// kept is what information_schema says of tables that outlive the session: MariaDB lists its
// temporary tables and sequences, too, since 11.2, as TEMPORARY and TEMPORARY SEQUENCE, and one of
// them says nothing about the right to see the table that it hides.
const kept = "TABLE_TYPE NOT LIKE 'TEMPORARY%'"

// visibleTables asks the server, as the client, which of the tables there are. One that is gone is
// visible to those who had rights on its name.
func (q *request) visibleTables(tables []catalog.Table) (map[catalog.Table]bool, error) {
	visible := map[catalog.Table]bool{}
	if len(tables) == 0 {
		return visible, nil
	}

	all, err := q.readsAll()
	if err != nil {
		return nil, err
	}
	if all {
		return set(tables), nil
	}

	r, err := askAll(q.x, "SELECT CAST(TABLE_SCHEMA AS BINARY), CAST(TABLE_NAME AS BINARY)"+
		" FROM information_schema.TABLES WHERE "+kept+" AND ("+anyOf(tables)+")")
	if err != nil {
		return nil, err
	}

	for _, row := range r.Rows {
		visible[catalog.Table{Schema: string(row[0]), Name: string(row[1])}] = true
	}

	for _, table := range tables {
		if _, asked := visible[table]; asked {
			continue
		}
		if visible[table], err = q.mightRead(table); err != nil {
			return nil, err
		}
	}

	return visible, nil
}

// set is the tables that are in a list.
func set(tables []catalog.Table) map[catalog.Table]bool {
	in := make(map[catalog.Table]bool, len(tables))
	for _, t := range tables {
		in[t] = true
	}
	return in
}

// mightRead asks for a table that does not exist: whoever may not read it is told that first.
func (q *request) mightRead(table catalog.Table) (bool, error) {
	name, err := q.spelledTable(table)
	if err != nil {
		return false, nilIfRefused(err)
	}
	_, err = q.x.Ask("EXPLAIN SELECT 1 FROM " + name)
	return wire.RefusedWith(err, ddl.CodeNoTable, ddl.CodeNoDatabase), nilIfRefused(err)
}

// nilIfRefused drops an error that the server or we have answered the client with: it means no.
func nilIfRefused(err error) error {
	if _, refused := errors.AsType[*wire.Error](err); refused {
		return nil
	}
	return err
}

// readableTables are those whose key and TTL column the client may read.
func (a *admin) readableTables(
	ctx context.Context, tables []catalog.Table,
) (map[catalog.Table]bool, error) {
	if len(tables) == 0 {
		return nil, nil
	}

	all, err := a.q.readsAll()
	if err != nil {
		return nil, err
	}
	if all {
		return set(tables), nil
	}

	policies, err := a.q.store.Policies(ctx)
	if err != nil {
		return nil, err
	}

	r, err := askAll(a.q.x,
		"SELECT CAST(TABLE_SCHEMA AS BINARY), CAST(TABLE_NAME AS BINARY), CAST(COLUMN_NAME AS BINARY) FROM "+
			"information_schema.COLUMNS WHERE ("+anyOf(tables)+
			") AND FIND_IN_SET("+literal("select")+", PRIVILEGES)")
	if err != nil {
		return nil, err
	}

	columns := map[catalog.Table][]string{}
	for _, row := range r.Rows {
		t := catalog.Table{Schema: string(row[0]), Name: string(row[1])}
		columns[t] = append(columns[t], string(row[2]))
	}

	readable := map[catalog.Table]bool{}
	for i := range policies {
		p := &policies[i]
		readable[p.Table] = mayReadKeys(p, columns[p.Table])
	}

	return readable, nil
}

// mayReadKeys reports whether these columns show everything that a key or a date of a row could
// give away.
func mayReadKeys(p *catalog.Policy, columns []string) bool {
	if !slices.Contains(columns, p.Rule.Column) {
		return false
	}
	if p.Shape.PrimaryKey == "" { // another key may serve instead
		return len(columns) > strings.Count(p.Shape.Columns, "\n")
	}

	parts := 0
	for _, c := range columns {
		if strings.Contains(p.Shape.PrimaryKey+",", ddl.Quote(c)+",") {
			parts++
		}
	}

	return parts > strings.Count(p.Shape.PrimaryKey, ",")
}

// anyOf is the condition that names the tables, as information_schema does.
func anyOf(tables []catalog.Table) string {
	bySchema := map[string][]string{}
	for _, t := range tables {
		bySchema[t.Schema] = append(bySchema[t.Schema], literal(t.Name))
	}
	var conditions []string
	for schema, names := range bySchema {
		conditions = append(conditions, fmt.Sprintf("TABLE_SCHEMA = %s AND TABLE_NAME IN (%s)",
			literal(schema), strings.Join(names, ", ")))
	}
	if len(conditions) == 0 {
		return "FALSE"
	}
	return strings.Join(conditions, " OR ")
}

// askAll runs a query without the limit that the client may have set for its own SELECTs. Names are
// selected as binary strings, which come in UTF-8 whatever character set the client wants its
// results in.
func askAll(x *proxy.Exchange, query string) (*wire.Result, error) {
	return x.Ask(query + " LIMIT " + strconv.FormatUint(everyRow, 10))
}
