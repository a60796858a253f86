package tables

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
)

// readIndexes reads SHOW INDEX, whose columns differ by server: MySQL says Visible, MariaDB says
// Ignored.
func (l *Layout) readIndexes(ctx context.Context, q Querier) error {
	query := "SHOW INDEX FROM " + l.Target("").Name()
	return EachRow(ctx, q, query, nil, func(rows *sql.Rows) error {
		part, err := NamedStrings(rows)
		if err != nil {
			return err
		}
		l.addIndexPart(part)
		return nil
	})
}

func (l *Layout) addIndexPart(part map[string]string) {
	name := part["key_name"]
	if len(l.Indexes) == 0 || l.Indexes[len(l.Indexes)-1].Name != name {
		l.Indexes = append(l.Indexes, Index{Name: name, Unique: part["non_unique"] == "0", Usable: true})
	}
	ix := &l.Indexes[len(l.Indexes)-1]
	ix.Columns = append(ix.Columns, part["column_name"])
	whole := part["sub_part"] == "" && part["column_name"] != "" // no prefix, no expression
	ix.Usable = ix.Usable && whole && part["collation"] == "A" && part["index_type"] == "BTREE" &&
		part["visible"] != "NO" && part["ignored"] != "YES"
}

// NamedStrings reads the current row as text by lower-case column name; NULL is empty.
func NamedStrings(rows *sql.Rows) (map[string]string, error) {
	names, err := rows.Columns()
	if err != nil {
		return nil, err
	}

	values := make([]sql.NullString, len(names))
	into := make([]any, len(names))
	for i := range values {
		into[i] = &values[i]
	}

	if err := rows.Scan(into...); err != nil {
		return nil, err
	}

	row := make(map[string]string, len(names))
	for i, name := range names {
		row[strings.ToLower(name)] = values[i].String
	}

	return row, nil
}

// PagingKey is the key a table is walked along: the primary key, else the first unique key without
// NULLs whose columns can all be compared exactly. ok is false when there is none.
func (l *Layout) PagingKey() (index string, columns Columns, ok bool) {
	for _, ix := range l.Indexes {
		if !ix.Unique || !ix.Usable {
			continue
		}
		if cs, err := l.keyColumns(ix.Columns); err == nil {
			return ix.Name, cs, true
		}
	}
	return "", nil, false
}

// PrimaryKey names the columns of the primary key, in its order; none if there is none.
func (l *Layout) PrimaryKey() []string {
	for _, ix := range l.Indexes {
		if ix.Name == "PRIMARY" {
			return ix.Columns
		}
	}
	return nil
}

func (l *Layout) keyColumns(names []string) (Columns, error) {
	var cs Columns
	for _, name := range names {
		c, found := l.Column(name)
		if !found || c.Nullable || c.Kind == Unsupported {
			return nil, fmt.Errorf("column %s cannot stand in a key", name)
		}
		cs = append(cs, c)
	}
	return cs, nil
}

// TimeIndex is the index to walk from the old end: led by the TTL column, the fewest columns first.
// walk is the order of its entries: its own columns, then those of the paging key it does not hold.
func (l *Layout) TimeIndex(ttl string) (index string, walk Columns, ok bool) {
	_, key, _ := l.PagingKey()
	c, _ := l.Column(ttl)
	best := -1
	for _, ix := range l.Indexes {
		if !ix.Usable || ix.Columns[0] != c.Name || best >= 0 && len(ix.Columns) >= best {
			continue
		}

		cs, err := l.walkColumns(ix.Columns, key)
		if err != nil {
			continue
		}

		index, walk, ok, best = ix.Name, cs, true, len(ix.Columns)
	}

	return index, walk, ok
}

// walkColumns allows NULL in the TTL column only: the predicate keeps its NULLs out, and no cursor
// compares with one.
func (l *Layout) walkColumns(names []string, key Columns) (Columns, error) {
	lead, _ := l.Column(names[0])
	rest, err := l.keyColumns(names[1:])
	if err != nil {
		return nil, err
	}
	walk := append(Columns{lead}, rest...)
	for _, c := range key {
		if !slices.ContainsFunc(walk, func(w Column) bool { return w.Name == c.Name }) {
			walk = append(walk, c)
		}
	}
	return walk, nil
}
