package family

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/ttlproxy/ttlproxy/catalog/tables"
)

const (
	// deepest is how many tables stand one below the other at most, the root not counted.
	deepest = 8
	// most is how many tables a forest has at most.
	most = 64
)

// Forest is a table, and all tables whose rows depend on its rows.
type Forest struct {
	tables []*table // the root first, and each before those that were found through it
	edges  []*edge
	// cascades: the server does to rows that depend on others what their keys say, without statements of ours
	cascades bool
}

// table is a member of a forest.
type table struct {
	*tables.Layout
	children tables.Children
	size     int64          // rows, by the server's estimate; 0 for the root
	index    string         // of the key
	key      tables.Columns // by which its rows are named
	read     tables.Columns // of each row: the key, and what foreign keys between members compare
	deletes  bool           // rows of it are deleted; otherwise they lose their parent and stay
	depth    int
	rank     int // in the order of deletion: children have lower ones than parents, unless they form a circle
}

// edge is a foreign key between two members.
type edge struct {
	tables.ForeignKey
	parent, child       *table
	columns, references tables.Columns
	by                  string   // the child's index that serves the key
	through             []string // the parent's indexes that it may point at; none if it is the one that names its rows
	nulls               bool     // the child's rows stay, without their parent

	opens  tables.Columns // what can become NULL where rows point at each other in a circle; see Openings
	opened bool           // and may
}

// Member is a table that depends on the root of a forest.
type Member struct {
	tables.Target
	Depth   int
	Rows    int64 // by the server's estimate
	Deletes bool  // rows of it are deleted; otherwise they lose their parent and stay
	// Unchanged is the condition that the foreign keys that point at it are the ones that were found.
	Unchanged string
}

// Members are all tables but the root, those that were found through others behind them.
func (f *Forest) Members() (all []Member) {
	for _, t := range f.tables[1:] {
		all = append(all, Member{
			Target: t.Target(""), Depth: t.depth, Rows: t.size, Deletes: t.deletes,
			Unchanged: t.children.Unchanged(t.Schema, t.Table),
		})
	}
	return all
}

// Rows is about how many rows of the members go, or lose their parent, with some of the root's rows.
func (f *Forest) Rows(gone, all int64) int64 {
	if f == nil || all <= 0 || gone <= 0 {
		return 0
	}
	sum := 0.0
	for _, t := range f.tables[1:] {
		sum += float64(t.size) * min(float64(gone)/float64(all), 1)
	}
	return int64(sum)
}

// Empty reports whether no row depends on any of the root's.
func (f *Forest) Empty() bool { return len(f.edges) == 0 }

// Read reads the forest under a table. If nothing may be deleted from it together with what depends
// on it, why says so.
func Read(
	ctx context.Context, q tables.Querier, l *tables.Layout, c tables.Children,
) (f *Forest, why string, err error) {
	root := &table{Layout: l, children: c, deletes: true}
	f = &Forest{tables: []*table{root}}
	if len(c.Keys) > 0 {
		why = root.name()
	}

	for next := []*table{root}; len(next) > 0 && why == ""; next = next[1:] {
		var more []*table
		if more, why, err = f.grow(ctx, q, next[0]); err != nil {
			return nil, "", err
		}
		next = append(next, more...)
	}

	for _, e := range f.edges {
		if object := e.unfit(); why == "" && object != "" {
			why = fmt.Sprintf("TTL_FK cannot follow %s: %s", e.ForeignKey, object)
		}
	}
	if why != "" {
		return nil, why, nil
	}

	f.rank()
	for _, e := range f.edges {
		e.opens = e.openable()
	}
	return f, "", nil
}

// grow adds the children of a table, and returns those from which rows are deleted and that are new
// as such.
func (f *Forest) grow(ctx context.Context, q tables.Querier, t *table) (more []*table, why string, err error) {
	if t.children.Unsure != "" {
		return nil, t.children.Unsure, nil
	}
	if t.depth == deepest && len(t.children.Keys) > 0 {
		return nil, fmt.Sprintf("TTL_FK goes no deeper than %d tables, and %s stands below the last",
			deepest, t.children.Keys[0]), nil
	}

	for _, k := range t.children.Keys {
		child, why, err := f.plant(ctx, q, k, t.depth+1)
		if err != nil || why != "" {
			return nil, why, err
		}

		e := &edge{ForeignKey: k, parent: t, child: child, nulls: k.OnDelete == "SET NULL"}
		f.edges = append(f.edges, e)
		if !e.nulls && !child.deletes {
			child.deletes = true
			more = append(more, child)
		}
	}

	if len(f.tables) > most {
		return nil, fmt.Sprintf("TTL_FK is for up to %d tables, and more depend on this one", most), nil
	}
	return more, "", nil
}

// plant makes the table of a foreign key a member.
func (f *Forest) plant(
	ctx context.Context, q tables.Querier, k tables.ForeignKey, depth int,
) (t *table, why string, err error) {
	if t = f.member(k.Schema, k.Table); t != nil {
		return t, "", nil
	}

	facts, err := tables.ReadFacts(ctx, q, k.Schema, k.Table)
	if errors.Is(err, tables.ErrNoTable) || tables.Denied(err) || err == nil && len(facts.Columns) == 0 {
		return nil, fmt.Sprintf("the service account cannot see %s: GRANT SELECT, DELETE ON %s to it", k,
			k.Child()), nil
	}
	if err != nil {
		return nil, "", err
	}
	if why := facts.Unfit(); why != "" {
		return nil, fmt.Sprintf("rows of %s depend on this table: %s", k.Child(), why), nil
	}

	if t = f.member(facts.Schema, facts.Table); t != nil {
		return t, "", nil // which InnoDB and the server spell differently (lower_case_table_names = 2)
	}

	t = &table{Layout: &facts.Layout, children: facts.Children, size: facts.Rows, depth: depth}
	f.tables = append(f.tables, t)
	return t, t.name(), nil
}

// member finds a table by its exact name: another that only differs by case may be another table.
func (f *Forest) member(schema, name string) *table {
	for _, t := range f.tables {
		if t.Schema == schema && t.Table == name {
			return t
		}
	}
	return nil
}

// name finds out how the rows of a table are named; why says that they cannot be.
func (t *table) name() (why string) {
	var keyed bool
	if t.index, t.key, keyed = t.PagingKey(); !keyed {
		return "TTL_FK needs a key by which to name the rows of " + t.Target("").Name() + ", which has none"
	}
	t.read = slices.Clone(t.key)
	return ""
}

// unfit says why rows cannot be followed along a foreign key, and prepares that.
func (e *edge) unfit() string {
	for i, name := range e.Columns {
		child, known := e.child.Columns.Named(name)
		parent, there := e.parent.Columns.Named(e.References[i])
		switch {
		case !known || !there:
			return "the service account cannot see its columns"
		case child.Kind != parent.Kind || child.Collation != parent.Collation || child.Kind == tables.Ordinal ||
			child.Kind == tables.Unsupported:
			return "column " + name + " is not certain to be compared as InnoDB does"
		case e.nulls && !child.Nullable:
			return "column " + name + " cannot be NULL"
		case e.nulls && (e.child.pointedAt(child.Name) || e.child.key.Has(child.Name)):
			return "something points at column " + name + ", which would become NULL"
		}
		e.columns, e.references = append(e.columns, child), append(e.references, parent)
		e.child.read = e.child.read.With(tables.Columns{child})
		e.parent.read = e.parent.read.With(tables.Columns{parent}) // which may be the same table
	}

	return e.indexes()
}

// indexes finds the indexes by which both sides of a foreign key are read, so that no lock is met but
// those of the rows in question.
func (e *edge) indexes() (why string) {
	if !slices.ContainsFunc(e.parent.Indexes, func(ix tables.Index) bool {
		return ix.Unique && ix.Usable && e.references.Are(ix.Columns)
	}) {
		return "what it points at is not unique, so a row may have several parents"
	}

	from, to := beginningWith(e.child.Indexes, e.columns), beginningWith(e.parent.Indexes, e.references)
	if len(from) == 0 || len(to) == 0 {
		return "no index that can be used begins with its columns"
	}

	e.by = from[0]
	if !slices.Contains(to, e.parent.index) { // which InnoDB, too, prefers to others
		e.through = to
	}
	return ""
}

// beginningWith are the indexes that can be used and begin with columns in this order.
func beginningWith(all []tables.Index, columns tables.Columns) (names []string) {
	is := func(name string, c tables.Column) bool { return name == c.Name }
	for _, ix := range all {
		if ix.Usable && len(ix.Columns) >= len(columns) && slices.EqualFunc(ix.Columns[:len(columns)], columns, is) {
			names = append(names, ix.Name)
		}
	}
	return names
}

// pointedAt reports whether a foreign key points at a column, or may.
func (t *table) pointedAt(column string) bool {
	return slices.ContainsFunc(t.children.Keys, func(k tables.ForeignKey) bool {
		return slices.ContainsFunc(k.References, func(name string) bool {
			c, known := t.Column(name)
			return !known || c.Name == column
		})
	})
}

// rank numbers the tables from below. Tables that reach each other share a number: their rows are
// put in order one by one.
func (f *Forest) rank() {
	reach := map[*table]map[*table]bool{}
	for _, t := range f.tables {
		reach[t] = f.below(t)
	}
	for _, t := range f.tables {
		t.rank = 0
		for below := range reach[t] {
			if !reach[below][t] {
				t.rank++ // whatever is below a child is below its parent, too
			}
		}
	}
}

// below are the tables that a table's rows are deleted after.
func (f *Forest) below(t *table) map[*table]bool {
	all, next := map[*table]bool{}, []*table{t}
	for len(next) > 0 {
		at := next[0]
		next = next[1:]
		for _, e := range f.edges {
			if e.parent == at && !all[e.child] {
				all[e.child] = true
				next = append(next, e.child)
			}
		}
	}
	return all
}
