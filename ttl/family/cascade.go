package family

import (
	"fmt"
	"strings"

	"github.com/ttlproxy/ttlproxy/catalog/tables"
)

// Cascade leaves it to the server to do to rows that depend on others what their keys say, when those
// others go; why says that it cannot. Then the statements of a family only look: there have to be as
// many rows as were counted before the tops go, and none behind them.
//
// A key that only refuses would stop the DELETE of a parent. Along a circle of tables, servers go only 15
// rows down, MySQL 9.7 fails for a tree of 10 rows, and it has left rows behind whose parents had gone.
func (f *Forest) Cascade() (why string) {
	for _, e := range f.edges {
		if !e.Acts() {
			return fmt.Sprintf("TTL_FK = 'CASCADE' leaves rows to what their keys say, and %s only refuses: "+
				"'CHILDREN' deletes its rows, 'SKIP' keeps their parents", e.ForeignKey)
		}
	}
	for _, t := range f.tables {
		if f.below(t)[t] {
			return fmt.Sprintf("TTL_FK = 'CASCADE' is not for tables that point at themselves, or at each other in a "+
				"circle, as %s does: 'CHILDREN' is", t.Target("").Name())
		}
	}
	f.cascades = true
	return ""
}

// Cascades reports whether the server does to rows that depend on others what their keys say.
func (f *Forest) Cascades() bool { return f.cascades }

// LookBehind counts, once the tops have gone, what still points at rows of a family with which the server
// cascades. The condition is that nothing does.
func (f *Family) LookBehind() (looks []Statement, condition string, err error) {
	if !f.forest.cascades {
		return nil, "", nil
	}
	looks, err = f.lookAround()
	return looks, counted(0), err
}

// childrenCounted is where looks put what they count.
const childrenCounted = "@ttlproxy_children"

// counted is the condition that the last look counted so many.
func counted(n int) string { return fmt.Sprintf(" AND %s = %d", childrenCounted, n) }

// lookAround counts what points at rows of the family that go, as often as it does. Sessions that do not
// check foreign keys may have added to that since it was gathered, without waiting for a lock.
func (f *Family) lookAround() ([]Statement, error) {
	var counts []string
	for _, e := range f.forest.edges {
		var wanted []tables.Key
		for _, r := range f.order {
			if v, whole := r.tuple(e.references); whole && r.goes && r.of == e.parent {
				wanted = append(wanted, v)
			}
		}
		for some := range e.columns.Lists(wanted, listed) {
			count, err := e.count(some)
			if err != nil {
				return nil, err
			}
			counts = append(counts, count)
		}
	}
	if len(counts) == 0 {
		counts = []string{"0"}
	}
	return counting(counts), nil
}

// count counts what points at values along a foreign key, as it is at that moment.
func (e *edge) count(values []tables.Key) (string, error) {
	in, err := e.columns.In(values)
	return "(SELECT COUNT(*) FROM " + e.child.source(e.by) + " WHERE " + in + " LOCK IN SHARE MODE)", err
}

// counting are statements that remember the sum of some counts; one, unless that is too long.
func counting(counts []string) (all []Statement) {
	for sum := ""; len(counts) > 0; sum = childrenCounted + " + " {
		n, size := 1, len(counts[0])
		for ; n < len(counts) && size+len(counts[n]) <= tables.ListBytes; n++ {
			size += len(counts[n])
		}
		all = append(all, Statement{
			SQL: "SELECT " + sum + strings.Join(counts[:n], " + ") + " INTO " + childrenCounted, Looks: true,
		})
		counts = counts[n:]
	}
	return all
}
