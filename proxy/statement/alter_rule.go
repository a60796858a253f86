package statement

import (
	"context"
	"slices"
	"strings"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/ddl"
)

// ruleFor makes the rule that will be in force after the statement, and checks everything that
// could forbid it.
func (q *request) ruleFor(ctx context.Context, a *ddl.AlterTable, table catalog.Table,
	p *catalog.Policy,
) (catalog.Rule, error) {
	l, err := q.layoutOf(ctx, table)
	if err != nil {
		return catalog.Rule{}, err
	}

	s := successor{q: q, AlterTable: a, table: table, known: p != nil}
	before := catalog.Rule{}
	if s.known {
		before = p.Rule
		s.dependent = l.sessionDependence(before.Column) != ""
	}
	if a.Clause == nil || a.Clause.TTL == nil {
		column, refused := columnAfter(before.Column, a.Specs, l.same)
		if refused != nil {
			return before, refusal(refused)
		}
		before.Column = column
	}

	s.was = &layout{columns: slices.Clone(l.columns)}
	l.apply(a.Specs)
	s.is = l
	if a.Clause == nil {
		return before, s.keeps(before)
	}

	var old *catalog.Rule
	if s.known {
		old = &before
	}
	rule, err := q.newRule(ctx, a.Clause, old, l)
	if err == nil {
		err = s.allows(ctx, &rule)
	}
	return rule, err
}

// successor is what decides about the rule after an ALTER.
type successor struct {
	q *request
	*ddl.AlterTable
	table     catalog.Table
	known     bool // there was a rule
	dependent bool // already: a statement that does not ask for more is let through, and the engine waits
	was, is   *layout
}

// keeps checks the rule of a table that is altered without a clause.
func (s *successor) keeps(rule catalog.Rule) error {
	if _, refused := s.is.check(rule.Column); refused != nil {
		return refusal(refused)
	}
	if s.dependent {
		return nil
	}
	return s.is.checkReader(rule.Column)
}

// allows checks what could forbid a rule that a clause has made: whoever asks for more than there was has to
// have the rights to it.
func (s *successor) allows(ctx context.Context, rule *catalog.Rule) (err error) {
	q, more := s.q, arms(s.Clause)
	if more {
		err = q.checkOwner(s.table)
	}
	if err == nil && (more || !s.dependent) {
		err = s.is.checkReader(rule.Column)
	}
	if err == nil && (more || s.Clause.JobInterval != nil || len(s.Clause.Options) > 0) {
		err = q.mayDeleteBy(s.Table, presentColumn(s.AlterTable, rule.Column, s.was), s.was)
	}
	if err == nil {
		err = q.mayRemove(s.Table, *rule)
	}
	_, said := s.Clause.Options[ddl.OptionForeignKeys]
	if err == nil && (!s.known || said || more) {
		err = q.checkReferenced(ctx, s.table, rule, s.is)
	}
	if err == nil && more {
		err = q.serviceMayDelete(ctx, s.table)
	}
	return err
}

// presentColumn is the TTL column if it exists before the statement, so that the rights on it can
// be probed, or nothing.
func presentColumn(a *ddl.AlterTable, column string, was *layout) string {
	for _, s := range a.Specs {
		if strings.EqualFold(s.NewColumn.Name, column) && s.Column != "" {
			return s.Column // the name it has now
		}
	}
	if _, there := was.column(column); there {
		return column // also behind ADD COLUMN IF NOT EXISTS
	}
	return ""
}

// columnAfter returns the name that the TTL column has after the changes, or refuses those it cannot
// survive. Whether two names are those of one column, same says.
func columnAfter(column string, specs []ddl.Spec, same func(a, b string) bool) (string, *ddl.Error) {
	for _, s := range specs {
		if column == "" || s.Column == "" || !same(s.Column, column) {
			continue
		}
		switch s.Change {
		case ddl.DropColumn:
			return column, ddl.ColumnNeeded(column)
		case ddl.ChangeColumn:
			if !s.NewColumn.TimeType() {
				return column, ddl.UnsupportedColumn(s.NewColumn.Name)
			}
			return s.NewColumn.Name, nil
		case ddl.RenameColumn:
			return s.NewColumn.Name, nil
		default:
		}
	}
	return column, nil
}

// redates is that of the table's layout before the statement.
func (q *request) redates(
	ctx context.Context, a *ddl.AlterTable, table catalog.Table, was, is string,
) (bool, error) {
	l, err := q.layoutOf(ctx, table)
	return err == nil && l.redates(a.Specs, was, is), err
}

// redates reports whether the TTL column gets dates that nobody has looked at: it is another column
// than before, although the name may be the same, it gets another expression, or another column has the name of one
// that it is computed from. Whether such a one is of another type, the table shows.
func (l *layout) redates(specs []ddl.Spec, was, is string) bool {
	column, refused := columnAfter(was, specs, strings.EqualFold)
	if refused != nil || !ddl.SameName(column, is) {
		return true
	}
	bases := l.basis(was)[1:]
	among := func(name string) bool {
		return slices.ContainsFunc(bases, func(base string) bool { return l.same(base, name) })
	}
	return slices.ContainsFunc(specs, func(s ddl.Spec) bool {
		computed := s.NewColumn.Expression != ""
		switch name := s.NewColumn.Name; {
		case strings.EqualFold(name, is) && computed:
			return true
		case s.Change == ddl.DropColumn:
			return among(s.Column)
		case s.Column == "":
			return false // what has a name already, the server does not add
		default:
			return among(name) && (computed || !l.same(s.Column, name))
		}
	})
}

// basis is [ddl.Basis] of a column.
func (l *layout) basis(column string) []string {
	all := make([]string, len(l.columns))
	for i, c := range l.columns {
		all[i] = c.Name
	}
	return ddl.Basis(column, all, func(name string) string {
		c, _ := l.column(name)
		return c.Expression
	})
}
