package family

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/ddl"
)

var (
	// ErrTooMany means that more rows depend on the given ones than were asked for.
	ErrTooMany = errors.New("more rows depend on these than may go at once")
	// ErrCircle means that rows point at each other in a circle, or at themselves: none can go first.
	ErrCircle = errors.New("rows that point at themselves, or at each other in a circle, cannot be deleted one after " +
		"the other, unless one of their foreign keys is set to NULL: TTL_FK = 'CHILDREN', said by somebody who may " +
		"UPDATE it, does that where it can be NULL")
)

// listed is how many values one statement names.
const listed = 500

// Family are rows of the root, and all rows that depend on them, locked.
type Family struct {
	forest *Forest
	rows   map[string]*row // by table and key
	order  []*row          // as they were found
	points int             // how often one of them points at another that goes
}

// row is one row of a family.
type row struct {
	of      *table
	key     tables.Key
	values  map[string]sql.NullString // by column
	given   bool                      // and not found through another
	goes    bool
	parents []link  // to others in this family, which go after it
	nulled  []*edge // along which it loses a parent, if it stays
	opened  []*edge // along which it loses parents although it goes; see arrange
	level   int     // among the rows of its circle of tables
	state   state   // while levels are found
}

// Gather locks the rows of the root with these keys, which the caller has locked and found expired in
// the same transaction, and all rows that depend on them. It reads and locks up to limit rows besides
// the given ones; if there are more, the error is ErrTooMany. Nothing waits for a lock.
func (f *Forest) Gather(ctx context.Context, q tables.Querier, keys []tables.Key, limit int) (*Family, error) {
	g := f.gathering(q, limit)
	found := g.named(keys)
	if found == nil {
		var err error
		if found, err = g.given(ctx, keys); err != nil {
			return nil, err
		}
	}

	for i, r := range found {
		r.given, r.goes = true, true
		found[i] = g.add(r)
	}

	return &g.Family, g.complete(ctx, found)
}

// Part locks some of the rows that depend on one row of the root, which the caller has locked, and
// which stays for now: up to limit rows, and with each whatever depends on it. It goes down until
// there are few enough below a row, so it begins with the deepest, and goes round rows that somebody
// has locked. If there are none, it is nil.
func (f *Forest) Part(ctx context.Context, q tables.Querier, key tables.Key, limit int) (*Family, error) {
	top := f.gathering(q, 0)
	found, err := top.given(ctx, []tables.Key{key})
	if err != nil || len(found) == 0 {
		return nil, err
	}

	passed := map[string]bool{}
	for at := found[0]; ; {
		passed[at.id()] = true
		part, below, err := f.partBelow(ctx, q, at, limit)
		if part != nil || err != nil || below.from == nil {
			return part, err
		}
		if passed[below.from.id()] {
			return f.partOpened(q, found[0], below)
		}
		at = below.from
	}
}

// partBelow is a part of what depends on one row. If not even one of the rows that point at it can
// go with all that depends on that, it is returned instead.
func (f *Forest) partBelow(
	ctx context.Context, q tables.Querier, at *row, limit int,
) (part *Family, below link, err error) {
	for _, e := range f.edges {
		v, whole := at.tuple(e.references)
		if e.parent != at.of || !whole {
			continue
		}

		for n := limit; n > 0; n = fewer(n) {
			g := f.gathering(q, limit)
			some, err := g.free(ctx, e, at, v, n)
			if err != nil {
				return nil, link{}, err
			}
			if len(some) == 0 {
				break
			}

			err = g.begin(ctx, e, some)
			if !errors.Is(err, ErrTooMany) {
				return &g.Family, link{}, err
			}
			below = link{e, some[0], at}
		}
		if below.from != nil {
			return nil, below, nil
		}
	}
	return nil, link{}, nil
}

// fewer is how many rows are tried instead of n that were too many. One is always tried: a row is gone
// below of only if it cannot go as a whole.
func fewer(n int) int {
	if n == 1 {
		return 0
	}
	return max(n/4, 1)
}

// Measure counts what depends on rows of the root, up to limit, and locks nothing: for people, it is
// what was there a moment ago.
func (f *Forest) Measure(ctx context.Context, q tables.Querier, keys []tables.Key, limit int) (rows int, err error) {
	g := f.gathering(q, limit)
	g.lock = ""
	found, err := g.given(ctx, keys)
	if err != nil {
		return 0, err
	}
	for i, r := range found {
		r.given, r.goes = true, true
		found[i] = g.add(r)
	}
	err = g.complete(ctx, found)
	return len(g.order) - len(found), err
}

// gathering is a family in the making.
type gathering struct {
	Family
	q    tables.Querier
	left int
	lock string // what a statement that reads rows ends in
}

const (
	nowait     = " FOR UPDATE NOWAIT"
	skipLocked = " FOR UPDATE SKIP LOCKED"
)

func (f *Forest) gathering(q tables.Querier, limit int) *gathering {
	return &gathering{
		Family: Family{forest: f, rows: map[string]*row{}}, q: q, left: limit, lock: nowait,
	}
}

// named are rows of the root that are known to be there, if their keys are all that is read of them.
func (g *gathering) named(keys []tables.Key) (all []*row) {
	root := g.forest.tables[0]
	if len(root.read) > len(root.key) {
		return nil
	}
	for _, key := range keys {
		r := &row{of: root, key: key, values: map[string]sql.NullString{}}
		for i, c := range root.key {
			r.values[c.Name] = sql.NullString{String: string(key[i]), Valid: true}
		}
		all = append(all, r)
	}
	return all
}

// given reads rows of the root.
func (g *gathering) given(ctx context.Context, keys []tables.Key) ([]*row, error) {
	root := g.forest.tables[0]
	var all []*row
	for some := range root.key.Lists(keys, listed) {
		found, err := g.read(ctx, root, root.index, root.key, some, len(some), g.lock)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// begin completes a family of rows that depend on one that is not in it.
func (g *gathering) begin(ctx context.Context, e *edge, some []*row) error {
	for i, r := range some {
		some[i] = g.add(r)
		g.left--
		if e.nulls {
			r.nulled = append(r.nulled, e)
		} else {
			r.goes = true
		}
	}
	if e.nulls {
		return nil
	}
	return g.complete(ctx, some)
}

// complete adds all rows that depend on rows which go.
func (g *gathering) complete(ctx context.Context, level []*row) error {
	for len(level) > 0 {
		var next []*row
		for _, e := range g.forest.edges {
			more, err := g.follow(ctx, e, level)
			if err != nil {
				return err
			}
			next = append(next, more...)
		}
		level = next
	}
	return nil
}

// id names a row among all tables.
func (r *row) id() string { return r.of.Target("").Name() + r.key.Encode() }

// add remembers a row, once.
func (g *gathering) add(r *row) *row {
	id := r.id()
	if known := g.rows[id]; known != nil {
		return known
	}
	g.rows[id] = r
	g.order = append(g.order, r)
	return r
}

// follow finds the children of rows along a foreign key, and returns those that go and were not known
// to.
func (g *gathering) follow(ctx context.Context, e *edge, level []*row) (fresh []*row, err error) {
	parents := map[string][]*row{}
	var wanted []tables.Key
	for _, r := range level {
		if r.of != e.parent {
			continue
		}
		v, whole := r.tuple(e.references)
		if !whole {
			continue // a NULL is pointed at by nothing
		}
		id := v.Encode()
		if parents[id] == nil {
			wanted = append(wanted, v)
		}
		parents[id] = append(parents[id], r)
	}

	for some := range e.columns.Lists(wanted, listed) {
		found, err := g.children(ctx, e, some, len(g.rows)+g.left+1)
		if err != nil {
			return nil, err
		}

		g.points += len(found)
		for _, r := range found {
			count := len(g.order)
			r = g.add(r)
			g.left -= len(g.order) - count

			if e.nulls {
				r.nulled = append(r.nulled, e)
				continue
			}
			if !r.goes {
				r.goes = true
				fresh = append(fresh, r)
			}
			r.parents = append(r.parents, r.parentsAmong(e, some, parents)...)
		}
		if g.left < 0 {
			return nil, ErrTooMany
		}
	}

	return fresh, nil
}

// children locks and reads rows that point at values along a foreign key.
func (g *gathering) children(ctx context.Context, e *edge, values []tables.Key, limit int) ([]*row, error) {
	if err := g.lockThrough(ctx, e, values); err != nil {
		return nil, err
	}
	return g.read(ctx, e.child, e.by, e.columns, values, limit, g.lock)
}

// free locks and reads up to n rows that point at another, which has that value, and that nobody else
// has locked. If somebody has locked all there are, that is an error.
func (g *gathering) free(ctx context.Context, e *edge, at *row, value tables.Key, n int) (some []*row, err error) {
	values, others := []tables.Key{value}, n
	if at.of == e.child && e.sparesItself() {
		n++ // it may be among them
	}
	if err := g.lockThrough(ctx, e, values); err != nil {
		return nil, err
	}

	for _, lock := range []string{skipLocked, nowait} {
		if some, err = g.read(ctx, e.child, e.by, e.columns, values, n, lock); err != nil {
			return nil, err
		}
		some = slices.DeleteFunc(some, func(r *row) bool { return r.id() == at.id() && e.sparesItself() })
		if len(some) > 0 {
			return some[:min(len(some), others)], nil
		}
	}
	return nil, nil
}

// sparesItself reports whether a row that points at itself can be deleted: InnoDB takes it for its own
// child, which a cascade finds gone, and any other rule an obstacle.
func (e *edge) sparesItself() bool { return e.OnDelete == "CASCADE" }

// parentsAmong are the rows that a row points at and that go after it. Where a collation takes
// different bytes for equal, they are not told apart: then it is all that were asked for.
func (r *row) parentsAmong(e *edge, asked []tables.Key, parents map[string][]*row) (all []link) {
	v, _ := r.tuple(e.columns)
	found := parents[v.Encode()]
	if len(found) == 0 {
		for _, key := range asked {
			found = append(found, parents[key.Encode()]...)
		}
	}
	for _, p := range found {
		if p != r || !e.sparesItself() {
			all = append(all, link{e, r, p})
		}
	}
	return all
}

// tuple are the values of a row in some columns; not whole if one is NULL.
func (r *row) tuple(columns tables.Columns) (v tables.Key, whole bool) {
	for _, c := range columns {
		value, known := r.values[c.Name]
		if !known || !value.Valid {
			return nil, false
		}
		v = append(v, tables.Value(value.String))
	}
	return v, true
}

// lockThrough locks the records of the indexes that a foreign key may point at. A child that is added
// locks its parent in one of them, and nowhere else.
func (g *gathering) lockThrough(ctx context.Context, e *edge, wanted []tables.Key) error {
	if len(e.through) == 0 {
		return nil
	}
	in, err := e.references.In(wanted)
	if err != nil {
		return err
	}

	for _, index := range e.through {
		var n int
		query := "SELECT COUNT(*) FROM " + e.parent.source(index) + " WHERE " + in + g.lock
		if err := g.q.QueryRowContext(ctx, query).Scan(&n); err != nil {
			return err
		}
	}
	return nil
}

// source is the table as FROM takes it, read by one of its indexes: given the choice, servers read
// all of a small table, and run into whoever has locked any row of it.
func (t *table) source(index string) string {
	return t.Target("").Name() + " FORCE INDEX (" + ddl.Quote(index) + ")"
}

// read locks and reads up to limit rows whose columns have one of the values.
func (g *gathering) read(
	ctx context.Context, t *table, index string, columns tables.Columns, values []tables.Key, limit int, lock string,
) (found []*row, err error) {
	in, err := columns.In(values)
	if err != nil {
		return nil, err
	}

	query := "SELECT " + t.read.Select() + " FROM " + t.source(index) + " WHERE " + in + " LIMIT " +
		strconv.Itoa(limit) + lock
	err = tables.EachRow(ctx, g.q, query, nil, func(rows *sql.Rows) error {
		values, into := make([]sql.NullString, len(t.read)), make([]any, len(t.read))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			return err
		}

		r := &row{of: t, values: map[string]sql.NullString{}}
		for i, c := range t.read {
			r.values[c.Name] = values[i]
		}
		r.key, _ = r.tuple(t.key)
		found = append(found, r)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("rows of %s: %w", t.Target("").Name(), err)
	}

	return found, nil
}
