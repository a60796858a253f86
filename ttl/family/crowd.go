package family

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/ddl"
)

// crowded is how many rows of the root are told for each foreign key that points at it.
const crowded = 100

// Crowded finds the rows of the root that most rows of one other table point at, for each foreign key
// that does: as far as the first entries of its index tell, up to limit. It is whole if there are no more.
// For people: it locks nothing, and is what was there a moment ago.
func (f *Forest) Crowded(
	ctx context.Context, q tables.Querier, limit int,
) (keys [][]tables.Key, whole bool, err error) {
	whole = true
	g := f.gathering(q, 0)
	for _, e := range f.edges {
		if e.parent != f.tables[0] {
			continue
		}
		values, all, err := e.crowded(ctx, q, limit)
		if err != nil {
			return nil, false, err
		}
		whole = whole && all < limit
		if len(values) == 0 {
			continue
		}

		index := e.parent.index
		if len(e.through) > 0 {
			index = e.through[0]
		}
		found, err := g.read(ctx, e.parent, index, e.references, values, len(values), "")
		if err != nil {
			return nil, false, err
		}
		keys = append(keys, inOrder(found, e, values))
	}
	return keys, whole, nil
}

// inOrder are the keys of the rows that have the values, in their order.
func inOrder(found []*row, e *edge, values []tables.Key) (keys []tables.Key) {
	at := map[string]tables.Key{}
	for _, r := range found {
		v, _ := r.tuple(e.references)
		at[v.Encode()] = r.key
	}
	for _, v := range values {
		if key, there := at[v.Encode()]; there {
			keys = append(keys, key)
		}
	}
	return keys
}

// crowded reads the values that most entries of a foreign key's index have, and how many were read.
func (e *edge) crowded(ctx context.Context, q tables.Querier, limit int) (values []tables.Key, all int, err error) {
	var there []string
	for _, c := range e.columns {
		there = append(there, ddl.Quote(c.Name)+" IS NOT NULL")
	}
	columns := e.columns.Order()
	query := fmt.Sprintf("SELECT %s, COUNT(*), SUM(COUNT(*)) OVER () FROM (SELECT %s FROM %s WHERE %s LIMIT %d) AS "+
		"some GROUP BY %s ORDER BY COUNT(*) DESC LIMIT %d", e.columns.Select(), columns, e.child.source(e.by),
		strings.Join(there, " AND "), limit, columns, crowded)
	err = tables.EachRow(ctx, q, query, nil, func(rows *sql.Rows) error {
		var n int
		texts, into := make([]string, len(e.columns)), make([]any, len(e.columns), len(e.columns)+2)
		for i := range texts {
			into[i] = &texts[i]
		}
		if err := rows.Scan(append(into, &n, &all)...); err != nil {
			return err
		}
		var v tables.Key
		for _, text := range texts {
			v = append(v, tables.Value(text))
		}
		values = append(values, v)
		return nil
	})
	if err != nil {
		return nil, 0, fmt.Errorf("count rows of %s: %w", e.child.Target("").Name(), err)
	}
	return values, all, nil
}
