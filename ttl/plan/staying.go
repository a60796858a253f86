package plan

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/ttl/family"
)

// Staying are the rows that stay although they have expired. This is the one place that decides it:
// whatever reads, counts or deletes expired rows asks here. The zero value keeps none.
//
// So far they are the rows that a foreign key points at, under TTL_FK = 'SKIP'; under 'CHILDREN' and
// 'CASCADE' none stay, but they take a forest of others along. A child that is on
// its way in has locked its parent's row; the DELETE locks that row before it looks for children,
// and looks at what is committed then (LOCK IN SHARE MODE), not when the statement began. So no
// child comes between the look and the deletion, nor is there an error 1451 to run into. That holds
// for the primary key, in which both lock the same record. Where a key points at another index of
// the table, a child locks the record there, which a DELETE reaches only after its look: then the
// server must be the one that refuses, and nothing goes unless it does.
type Staying struct {
	keys   []tables.ForeignKey
	parent tables.Target
	along  *family.Forest
}

// StayingOf says which rows of a table stay under the terms of a rule. If that cannot be promised for
// the table as it is, why says so, and nothing of it may be deleted.
func StayingOf(t catalog.Terms, l *tables.Layout, c tables.Children) (s Staying, why string) {
	switch {
	case !t.Read():
		return s, "the rule that says which rows stay was not understood"
	case t.Options.ForeignKeys == "" && len(c.Keys) > 0:
		return s, "a foreign key points at the table: " + strings.Join(c.Names(), ", ")
	case t.Options.ForeignKeys != ddl.ForeignKeysSkip:
		return s, ""
	case c.Unsure != "":
		return s, c.Unsure
	}

	for _, k := range c.Keys {
		if why := unsparing(k, l); why != "" {
			return s, fmt.Sprintf("TTL_FK = 'SKIP' cannot keep the rows that %s points at: %s", k, why)
		}
	}

	return Staying{keys: c.Keys, parent: l.Target("")}, ""
}

// ReadStaying is StayingOf for an account that has to read the children; if there is a reason not to
// delete, no rows are known to stay.
func ReadStaying(
	ctx context.Context, q tables.Querier, t catalog.Terms, l *tables.Layout, c tables.Children,
) (s Staying, why string, err error) {
	if t.Options.TakesAlong() {
		s.along, why, err = readAlong(ctx, q, t, l, c)
		return s, why, err
	}
	if s, why = StayingOf(t, l, c); why == "" {
		why, err = s.unreadable(ctx, q)
	}
	if err == nil && why == "" {
		why, err = s.unlike(ctx, q, l.Columns)
	}
	if why != "" {
		s = Staying{}
	}
	return s, why, err
}

// readAlong reads what goes along with rows of a table. Whoever declared the policy may delete from
// the dependents that it had then; others could belong to people who never agreed to that.
func readAlong(
	ctx context.Context, q tables.Querier, t catalog.Terms, l *tables.Layout, c tables.Children,
) (f *family.Forest, why string, err error) {
	f, why, err = ReadForest(ctx, q, t.Options, l, c)
	if err != nil || why != "" {
		return nil, why, err
	}

	if name, foreign := f.Foreign(t.Options.Dependents); foreign {
		return nil, fmt.Sprintf("rows of %s depend on the table, and did not, or not so, when its TTL was declared: "+
			"ALTER TABLE %s TTL_FK = '%s' by somebody who may delete from both lets them go", name,
			l.Target("").Name(), t.Options.ForeignKeys), nil
	}
	if f.Empty() {
		return nil, "", nil
	}
	return f, "", f.Open(ctx, q, t.Options.Dependents)
}

// ReadForest reads what depends on rows of a table, for an account that has to delete it, or to let the
// server do that. If there is a reason not to, why says so.
func ReadForest(
	ctx context.Context, q tables.Querier, o ddl.Options, l *tables.Layout, c tables.Children,
) (f *family.Forest, why string, err error) {
	f, why, err = family.Read(ctx, q, l, c)
	if err == nil && why == "" && o.ForeignKeys == ddl.ForeignKeysCascade {
		why = f.Cascade()
	}
	if err == nil && why == "" {
		why, err = f.Denied(ctx, q)
	}
	if err != nil || why != "" {
		return nil, why, err
	}
	return f, "", nil
}

// unsparing says why a row that a foreign key points at could be deleted in spite of it.
func unsparing(k tables.ForeignKey, l *tables.Layout) string {
	switch {
	case k.Schema == l.Schema && k.Table == l.Table:
		return "a DELETE cannot look into the table that it deletes from"
	case k.Acts() && !pointsAt(k, l, l.PrimaryKey()):
		return "it does not point at the primary key, so InnoDB could change a child that has just come"
	}
	return ""
}

// pointsAt reports whether a foreign key points at these columns of a table, in whatever order. Of a table
// that a statement is about to change only names are known, and each job looks again.
func pointsAt(k tables.ForeignKey, l *tables.Layout, columns []string) bool {
	if len(l.Columns) > 0 {
		found, all := l.Columns.All(k.References)
		return all && found.Are(columns)
	}
	return len(k.References) == len(columns) && !slices.ContainsFunc(k.References, func(name string) bool {
		return !slices.ContainsFunc(columns, func(other string) bool { return strings.EqualFold(name, other) })
	})
}

// unreadable says which children the asking account may not read, and what would let it; empty when
// it may read them all.
func (s Staying) unreadable(ctx context.Context, q tables.Querier) (string, error) {
	for _, k := range s.keys {
		_, err := explainAll(ctx, q, SelectKey(k)+k.Child())
		if tables.Denied(err) {
			return fmt.Sprintf("the service account may not read the foreign key of %s: %s to it", k.Child(),
				GrantFor(k)), nil
		}
		if err != nil {
			return "", err
		}
	}
	return "", nil
}

// unlike says which children could be compared with their parents in another way than InnoDB does,
// which compares what it has stored by the parent's rules. For equal columns that is the same. But
// servers compare an ENUM by its words, and while foreign keys are not checked a column can be given
// another collation than its parent's.
func (s Staying) unlike(ctx context.Context, q tables.Querier, parent tables.Columns) (string, error) {
	for _, k := range s.keys {
		if !k.Acts() {
			continue // or the server itself stands in the way
		}

		child, err := tables.ReadColumns(ctx, q, k.Schema, k.Table)
		if err != nil {
			return "", err
		}

		for i, name := range k.Columns {
			a, _ := child.Named(name)
			b, _ := parent.Named(k.References[i])
			if len(parent) > 0 && (a.Kind != b.Kind || a.Collation != b.Collation || a.Kind == tables.Ordinal) {
				return fmt.Sprintf("TTL_FK = 'SKIP' cannot keep the rows that %s points at: its column %s is not "+
					"certain to be compared as InnoDB does", k, name), nil
			}
		}
	}
	return "", nil
}

// SelectKey reads the columns of a foreign key, up to the name of its table.
func SelectKey(k tables.ForeignKey) string { return "SELECT " + columnsOf(k) + " FROM " }

// GrantFor is what lets somebody read a foreign key, up to TO.
func GrantFor(k tables.ForeignKey) string {
	return "GRANT SELECT (" + columnsOf(k) + ") ON " + k.Child()
}

func columnsOf(k tables.ForeignKey) string {
	quoted := make([]string, len(k.Columns))
	for i, c := range k.Columns {
		quoted[i] = ddl.Quote(c)
	}
	return strings.Join(quoted, ", ")
}

// None reports whether all expired rows go.
func (s Staying) None() bool { return len(s.keys) == 0 }

// Along is the forest of rows that go along with expired ones; nil if none do.
func (s Staying) Along() *family.Forest { return s.along }

// Alone reports whether other tables have no part in which rows go.
func (s Staying) Alone() bool { return s.None() && s.along == nil }

// goes is the condition of rows that do not stay, as a statement sees it that only reads.
func (s Staying) goes() string { return s.condition("") }

// goesLocked is goes inside a DELETE.
func (s Staying) goesLocked() string { return s.condition(" LOCK IN SHARE MODE") }

// condition asks for one child of each key. It is a scalar subquery, which is answered row by row:
// as NOT EXISTS it could become a join that reads all children first, before any row is locked.
func (s Staying) condition(lock string) string {
	all := make([]string, len(s.keys))
	for i, k := range s.keys {
		all[i] = s.child(k, lock) + " IS NULL"
	}
	return strings.Join(all, " AND ")
}

// child is the subquery that finds one child of a row.
func (s Staying) child(k tables.ForeignKey, lock string) string {
	pairs := make([]string, len(k.Columns))
	for i, column := range k.Columns {
		pairs[i] = "ttlproxy_child." + ddl.Quote(column) + " = " + s.parent.Name() + "." + ddl.Quote(k.References[i])
	}
	return "(SELECT 1 FROM " + k.Child() + " AS ttlproxy_child WHERE " + strings.Join(pairs, " AND ") +
		" LIMIT 1" + lock + ")"
}

// stays is the condition of rows that stay, for a look at many of them (see [Statements.LookingUp]).
// Both servers answer IN by a look-up in the key's index per row, in half the time of a subquery.
func (s Staying) stays() string {
	all := make([]string, len(s.keys))
	for i, k := range s.keys {
		var parent, child, there []string
		for j, column := range k.Columns {
			parent = append(parent, s.parent.Name()+"."+ddl.Quote(k.References[j]))
			child = append(child, "ttlproxy_child."+ddl.Quote(column))
			there = append(there, child[j]+" IS NOT NULL")
		}
		all[i] = "(" + strings.Join(parent, ", ") + ") IN (SELECT " + strings.Join(child, ", ") + " FROM " + k.Child() +
			" AS ttlproxy_child WHERE " + strings.Join(there, " AND ") + ")"
	}
	return strings.Join(all, " OR ")
}
