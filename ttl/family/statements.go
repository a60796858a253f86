package family

import (
	"slices"
	"strings"

	"github.com/ttlproxy/ttlproxy/catalog/tables"
)

// Statement is one statement on rows of one table, and how many rows it has to find.
type Statement struct {
	SQL   string
	Rows  int64
	Looks bool // and changes nothing
}

// Tops are the rows of the root that depend on no other of the family: what is left to delete when all
// statements have been executed.
func (f *Family) Tops() (keys []tables.Key) {
	for _, r := range f.order {
		if r.top() {
			keys = append(keys, r.key)
		}
	}
	return keys
}

// Given is how many rows of the root were there.
func (f *Family) Given() (n int) {
	for _, r := range f.order {
		if r.given {
			n++
		}
	}
	return n
}

// Size is how many rows go or lose a parent.
func (f *Family) Size() int { return len(f.order) }

// top reports whether a row was given, and nothing in the family takes it along.
func (r *row) top() bool { return r.given && len(r.parents) == 0 }

// Statements are what has to be executed before the tops can be deleted, in order. Each is for one
// table, names up to most rows (0 for what is usual), and carries the guard. If the server cascades, they
// only look.
func (f *Family) Statements(guard string, most int) (all []Statement, err error) {
	if most <= 0 || most > listed {
		most = listed
	}
	if err := f.arrange(); err != nil {
		return nil, err
	}
	if f.forest.cascades {
		return f.lookAround()
	}
	if all, err = f.nulling(guard, most); err != nil {
		return nil, err
	}

	going := slices.DeleteFunc(slices.Clone(f.order), func(r *row) bool { return !r.goes || r.top() })
	slices.SortStableFunc(going, func(a, b *row) int {
		if a.of.rank != b.of.rank {
			return a.of.rank - b.of.rank
		}
		if a.level != b.level {
			return b.level - a.level // further from its root, earlier
		}
		return strings.Compare(a.of.Target("").Name(), b.of.Target("").Name())
	})

	for len(going) > 0 {
		n := 1
		for n < min(len(going), most) && going[n].of == going[0].of && going[n].level == going[0].level {
			n++
		}
		n = fit(going[:n])
		in, err := keyed(going[:n])
		if err != nil {
			return nil, err
		}

		looks, alone, err := f.look(going[:n])
		if err != nil {
			return nil, err
		}

		t := going[0].of
		all = append(append(all, looks...), Statement{
			SQL: "DELETE " + t.Target("").Name() + " FROM " + t.source(t.index) + " WHERE " + in + " AND " +
				guard + alone,
			Rows: int64(n),
		})
		going = going[n:]
	}

	return all, nil
}

// LookBelow is look for rows of the root with these keys, which are deleted last.
func (f *Family) LookBelow(keys []tables.Key) (looks []Statement, condition string, err error) {
	if f.forest.cascades {
		return nil, counted(f.points), nil
	}
	root, rows := f.forest.tables[0], make([]*row, len(keys))
	for i, key := range keys {
		rows[i] = f.rows[(&row{of: root, key: key}).id()]
	}
	return f.look(rows)
}

// look counts, once more, what points at rows of one table that are about to be deleted; the condition
// is that nothing does. Whoever checks foreign keys has to wait for the parent, and does not get
// between. Sessions that do not can: a cascade would take their rows along, and nobody would count them.
// Keys that only refuse see to it themselves.
func (f *Family) look(rows []*row) (looks []Statement, condition string, err error) {
	var counts []string
	for _, e := range f.forest.edges {
		if e.parent != rows[0].of || e.child == e.parent || !e.Acts() {
			continue
		}

		var wanted []tables.Key
		for _, r := range rows {
			if v, whole := r.tuple(e.references); whole {
				wanted = append(wanted, v)
			}
		}
		for some := range e.columns.Lists(wanted, listed) {
			count, err := e.count(some)
			if err != nil {
				return nil, "", err
			}
			counts = append(counts, count)
		}
	}
	if len(counts) == 0 {
		return nil, "", nil
	}

	return counting(counts), counted(0), nil
}

// keyed is the condition of exactly these rows of one table.
func keyed(rows []*row) (string, error) { return rows[0].of.key.In(keysOf(rows)) }

// fit is how many of these rows of one table a statement names.
func fit(rows []*row) int { return rows[0].of.key.Fit(keysOf(rows)) }

func keysOf(rows []*row) []tables.Key {
	all := make([]tables.Key, len(rows))
	for i, r := range rows {
		all[i] = r.key
	}
	return all
}
