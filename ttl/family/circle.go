package family

import (
	"context"
	"database/sql"
	"slices"

	"github.com/ttlproxy/ttlproxy/catalog/tables"
)

// link says that a row depends on another along a key, and goes before it.
type link struct {
	along    *edge
	from, to *row
}

// state is how far the level of a row is known.
type state int

const (
	unknown state = iota
	rising
	risen
)

// arrange finds the levels of all rows. Where rows point at themselves, or at each other in a circle, one
// of them loses its parent first, if it may.
func (f *Family) arrange() error {
	for i := 0; i < len(f.order); i++ {
		circle := f.order[i].rise(nil)
		if circle == nil {
			continue
		}

		at := slices.IndexFunc(circle, func(l link) bool { return l.along.opened })
		if at < 0 {
			return ErrCircle
		}
		circle[at].open()
		for _, r := range f.order {
			r.state, r.level = unknown, 0
		}
		i = -1 // from the beginning
	}
	return nil
}

// rise finds the level of a row: one more than that of any parent in the same circle of tables. If it is
// its own ancestor, that is returned; path are the links that have led to it.
func (r *row) rise(path []link) (circle []link) {
	switch r.state {
	case risen:
		return nil
	case rising:
		return path[slices.IndexFunc(path, func(l link) bool { return l.from == r }):]
	default:
	}

	r.state = rising
	for _, l := range r.parents {
		if l.to.of.rank != r.of.rank {
			continue
		}
		if circle := l.to.rise(append(path, l)); circle != nil {
			return circle
		}
		r.level = max(r.level, l.to.level+1)
	}
	r.state = risen
	return nil
}

// open lets a row lose its parents along a key, although it goes.
func (l link) open() {
	l.from.parents = slices.DeleteFunc(l.from.parents, func(other link) bool { return other.along == l.along })
	l.from.opened = append(l.from.opened, l.along)
}

// partOpened lets the row below which a part is to go lose a parent that depends on it, if it may.
func (f *Forest) partOpened(q tables.Querier, top *row, l link) (*Family, error) {
	if !l.along.opened || l.from.id() != top.id() {
		return nil, ErrCircle
	}
	g := f.gathering(q, 1)
	g.add(&row{of: top.of, key: top.key, values: top.values, opened: []*edge{l.along}}) // which stays for now
	return &g.Family, nil
}

// openable are the columns of a key that can become NULL to open a circle of rows: one is enough.
func (e *edge) openable() tables.Columns {
	if e.nulls || e.child.rank != e.parent.rank {
		return nil
	}
	for _, c := range e.columns {
		if c.Nullable && !c.Generated && !e.child.pointedAt(c.Name) && !e.child.key.Has(c.Name) {
			return tables.Columns{c}
		}
	}
	return nil
}

// Openings are the rights that it takes to delete rows that point at themselves, or at each other in a
// circle, by keys of which none is ON DELETE SET NULL: an UPDATE lets one of them lose its parent before
// all of them go. Without such a right they stay.
func (f *Forest) Openings() (all []Right) {
	for _, t := range f.tables {
		var columns tables.Columns
		for _, e := range f.edges {
			if e.child == t {
				columns = columns.With(e.opens)
			}
		}
		if len(columns) > 0 {
			all = append(all, t.updating(columns, " CIRCLES"))
		}
	}
	return all
}

// Open lets circles be opened where that was agreed to, and the asking account may do it.
func (f *Forest) Open(ctx context.Context, q tables.Querier, agreed []string) error {
	for _, r := range f.Openings() {
		if !slices.Contains(agreed, r.Consent()) {
			continue
		}
		err := tables.EachRow(ctx, q, r.Before+r.Name()+r.Behind, nil, func(*sql.Rows) error { return nil })
		if tables.Denied(err) {
			continue
		}
		if err != nil {
			return err
		}
		for _, e := range f.edges {
			e.opened = e.opened || len(e.opens) > 0 && e.child.Target("").Name() == r.Name()
		}
	}
	return nil
}
