package family

import (
	"slices"
	"strings"

	"github.com/ttlproxy/ttlproxy/catalog/tables"
)

// nulling takes their parents away from rows that stay, and from those that would lose them to the server
// before they go themselves.
func (f *Family) nulling(guard string, most int) (all []Statement, err error) {
	for _, e := range f.forest.edges {
		var rows []*row
		for _, r := range f.order {
			if r.loses(e) {
				rows = append(rows, r)
			}
		}
		columns := e.columns
		if !e.nulls {
			columns = e.opens
		}
		for len(rows) > 0 {
			some := rows[:fit(rows[:min(len(rows), most)])]
			rows = rows[len(some):]
			in, err := keyed(some)
			if err != nil {
				return nil, err
			}

			all = append(all, Statement{
				SQL: "UPDATE " + e.child.source(e.child.index) + " SET " + e.child.without(columns) + " WHERE " +
					in + " AND " + guard,
				Rows: int64(len(some)),
			})
		}
	}
	return all, nil
}

// loses reports whether a row has to lose its parent along a key before any row is deleted. In a circle of
// tables a row may go after the parent that it loses; elsewhere it goes before that.
func (r *row) loses(e *edge) bool {
	return slices.Contains(r.opened, e) || slices.Contains(r.nulled, e) && (!r.goes || e.circles())
}

// circles reports whether a key is part of a circle of tables. A table that points at itself is none here:
// one DELETE may take a row and its parent, in whatever order.
func (e *edge) circles() bool { return e.child != e.parent && e.child.rank == e.parent.rank }

// without are the assignments by which rows of a table lose what is in some columns, and nothing else of
// them changes: an UPDATE renews columns with ON UPDATE CURRENT_TIMESTAMP that it does not set, which
// InnoDB's SET NULL leaves alone.
func (t *table) without(columns tables.Columns) string {
	var set []string
	for _, name := range quoted(columns) {
		set = append(set, name+" = NULL")
	}
	for _, c := range t.Columns {
		if c.Renewed && !columns.Has(c.Name) {
			set = append(set, c.Quoted()+" = "+c.Quoted())
		}
	}
	return strings.Join(set, ", ")
}
