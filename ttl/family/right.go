package family

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"github.com/ttlproxy/ttlproxy/catalog/tables"
)

// Consents name the tables whose rows depend on others: those that rows go along from, and those in
// which they lose their parent. Whoever declares a policy agrees to these, and to no others.
func (f *Forest) Consents() (all []string) {
	all = []string{}
	for _, r := range f.Rights() {
		all = append(all, r.Consent())
	}
	return all
}

// Foreign is the first table that is not among those that were agreed to.
func (f *Forest) Foreign(agreed []string) (name string, found bool) {
	for _, r := range f.Rights() {
		if !slices.Contains(agreed, r.Consent()) {
			return r.Name(), true
		}
	}
	return "", false
}

// Right is what an account needs for rows of one table to go along, or to lose their parent.
type Right struct {
	tables.Target
	Grant string // that gives it, up to TO

	// Before and Behind the name of the table, a statement that needs the right and changes nothing.
	Before, Behind string

	kind string // of what is done to rows: empty if they go
}

// Consent is what is kept with a policy of the agreement to that.
func (r Right) Consent() string { return r.Name() + r.kind }

// Rights are all that it takes, besides the one to delete from the root.
func (f *Forest) Rights() (all []Right) {
	for _, t := range f.tables {
		target := t.Target("")
		if deleted := f.columnsOf(t, false); len(deleted) > 0 {
			all = append(all, Right{
				Target: target, Grant: "GRANT SELECT, DELETE ON " + target.Name(),
				Before: "EXPLAIN DELETE FROM ", Behind: noRow(deleted),
			})
		}
		if nulled := f.columnsOf(t, true); len(nulled) > 0 {
			all = append(all, t.updating(nulled, " SET NULL"))
		}
	}
	return all
}

// updating is the right to let rows of a table lose what is in some columns.
func (t *table) updating(columns tables.Columns, kind string) Right {
	target := t.Target("")
	return Right{
		Target: target, Grant: "GRANT SELECT, UPDATE ON " + target.Name(),
		Before: "EXPLAIN UPDATE ", Behind: " SET " + t.without(columns) + noRow(columns),
		kind: kind,
	}
}

// noRow is a condition that reads columns, and holds for no row.
func noRow(columns tables.Columns) string {
	return " WHERE " + strings.Join(quoted(columns), " IS NULL AND ") + " IS NULL AND FALSE"
}

func quoted(columns tables.Columns) (names []string) {
	for _, c := range columns {
		names = append(names, c.Quoted())
	}
	return names
}

// columnsOf are the columns of a table's foreign keys to members, of those along which rows only lose
// their parent, or of the others.
func (f *Forest) columnsOf(t *table, nulls bool) (all tables.Columns) {
	for _, e := range f.edges {
		if e.child == t && e.nulls == nulls {
			all = all.With(e.columns)
		}
	}
	return all
}

// Denied says which of the rights the asking account lacks, and what would give it; empty when it has
// them all.
func (f *Forest) Denied(ctx context.Context, q tables.Querier) (string, error) {
	for _, r := range f.Rights() {
		err := tables.EachRow(ctx, q, r.Before+r.Name()+r.Behind, nil, func(*sql.Rows) error { return nil })
		if tables.Denied(err) {
			return fmt.Sprintf("the service account may not delete from %s, which has a foreign key to the table: %s "+
				"to it", r.Name(), r.Grant), nil
		}
		if err != nil {
			return "", fmt.Errorf("rights on %s: %w", r.Name(), err)
		}
	}
	return "", nil
}
