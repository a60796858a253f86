package statement

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/setting"
	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/proxy/wire"
)

// layout is what a table is, or will be after the statement, as far as it matters to a TTL.
type layout struct {
	columns []ddl.Column
	keys    []string          // of the primary key
	open    bool              // there are more columns, from a SELECT
	renamed map[string]string // by the statement, from lower case: generation expressions follow by themselves
}

// column finds a column by its name.
func (l *layout) column(name string) (ddl.Column, bool) {
	i := l.index(name)
	if i < 0 {
		return ddl.Column{}, false
	}
	return l.columns[i], true
}

func (l *layout) index(name string) int {
	return ddl.IndexNamed(l.columns, func(c ddl.Column) string { return c.Name }, name)
}

// same reports whether two names are those of one column. If there is none, they may be.
func (l *layout) same(a, b string) bool {
	if n := l.index(a); n >= 0 {
		return n == l.index(b)
	}
	return strings.EqualFold(a, b)
}

// apply changes the layout as an ALTER TABLE will. Every change names columns as they were before,
// so that two may trade names.
func (l *layout) apply(specs []ddl.Spec) {
	was := &layout{columns: slices.Clone(l.columns), keys: slices.Clone(l.keys)}

	for _, s := range specs {
		switch s.Change {
		case ddl.AddColumn:
			l.columns = append(l.columns, s.NewColumn)
		case ddl.DropColumn:
			l.replace(was, s.Column, ddl.Column{})
		case ddl.ChangeColumn:
			l.rename(s)
			l.replace(was, s.Column, s.NewColumn)
		case ddl.RenameColumn:
			c, _ := was.column(s.Column)
			c.Name = s.NewColumn.Name
			l.rename(s)
			l.replace(was, s.Column, c)
		default:
		}
		l.keys = append(l.keys, s.Keys...)
	}
}

func (l *layout) rename(s ddl.Spec) {
	if l.renamed == nil {
		l.renamed = map[string]string{}
	}
	l.renamed[strings.ToLower(s.Column)] = s.NewColumn.Name
}

// sessionDependence is [ddl.SessionDependence] of a column.
func (l *layout) sessionDependence(column string) string {
	c, _ := l.column(column)
	return ddl.SessionDependence(c, func(name string) (ddl.Column, bool) {
		if to, renamed := l.renamed[strings.ToLower(name)]; renamed {
			name = to
		}
		return l.column(name)
	})
}

// checkReader refuses a TTL column that the engine could read differently than people do.
func (l *layout) checkReader(column string) error {
	if why := l.sessionDependence(column); why != "" {
		return refusal(ddl.ReaderDependent(column, why))
	}
	return nil
}

func (l *layout) replace(was *layout, name string, by ddl.Column) {
	if n := was.index(name); n >= 0 {
		l.columns[n] = by
	}
	if n := ddl.IndexNamed(was.keys, func(key string) string { return key }, name); n >= 0 {
		l.keys[n] = by.Name
	}
}

// layoutOf reads what a table is now. The service account reads it: it must see the table to delete
// from it.
func (q *request) layoutOf(ctx context.Context, table catalog.Table) (*layout, error) {
	columns, err := tables.ReadColumns(ctx, q.h.config.DB, table.Schema, table.Name)
	if err != nil {
		return nil, fmt.Errorf("columns of %s: %w", table, err)
	}

	l := &layout{}
	for _, c := range columns {
		l.columns = append(l.columns, c.Declared)
		if c.Primary {
			l.keys = append(l.keys, c.Name)
		}
	}

	if len(l.columns) == 0 {
		return nil, serviceLacks("cannot see", table)
	}

	return l, nil
}

// checkOwner refuses a TTL on a table that belongs to the server or to us.
func (q *request) checkOwner(table catalog.Table) error {
	if q.store.Reserved(table) != nil {
		return refusal(ddl.UnsupportedDDL("TTL on " + table.String() +
			": the table is the server's own, or ttlproxy's"))
	}
	return nil
}

// serviceMayDelete checks that the service account will be able to do what the policy makes it do.
// In doubt it will; if it cannot, the engine says so later.
func (q *request) serviceMayDelete(ctx context.Context, table catalog.Table) error {
	ctx, cancel := context.WithTimeout(ctx, askWait)
	defer cancel()
	_, err := q.h.config.DB.ExecContext(ctx, "EXPLAIN DELETE FROM "+table.String())
	if e, ok := errors.AsType[*mysql.MySQLError](err); ok && e.Number == ddl.CodeTableDenied {
		return serviceLacks("may not delete from", table)
	}
	return nil
}

func serviceLacks(what string, table catalog.Table) error {
	return &wire.Error{
		Code: ddl.CodeUnknownError, State: "HY000",
		Message: "ttlproxy: nothing was changed, because the service account " + what + " " +
			table.String() + ": GRANT SELECT, DELETE ON " + ddl.Quote(table.Schema) +
			".* to it (ttlproxy init prints the statement)",
	}
}

// check refuses what TiDB refuses: a primary key of floating point numbers, a column that is
// missing or holds no time.
func (l *layout) check(column string) (ddl.Column, *ddl.Error) {
	for _, key := range l.keys {
		if c, _ := l.column(key); c.FloatType() {
			return c, ddl.UnsupportedKey()
		}
	}

	c, found := l.column(column)
	switch {
	case !found && l.open:
		return c, ddl.UnsupportedDDL("TTL column '" + column +
			"' that comes from the SELECT: declare it in the column list")
	case !found:
		return c, ddl.UnknownColumn(column)
	case !c.TimeType():
		return c, ddl.UnsupportedColumn(c.Name)
	}

	return c, nil
}

// newRule makes the rule that the clause asks for, on top of the one there is, if any.
func (q *request) newRule(ctx context.Context, clause *ddl.Clause, old *catalog.Rule,
	l *layout,
) (catalog.Rule, error) {
	values, err := q.store.Values(ctx)
	if err != nil {
		return catalog.Rule{}, unavailable(err)
	}

	rule := catalog.Rule{Enabled: true, JobInterval: values[setting.DefaultJobInterval]}
	if old != nil {
		rule = *old
	} else if clause.TTL == nil {
		return rule, refusal(ddl.NoTTL(clause.FirstOption()))
	}

	if clause.TTL != nil {
		rule.Column = clause.TTL.Column
		rule.Literal, rule.Unit = clause.TTL.Interval.Literal, string(clause.TTL.Interval.Unit)
	}
	if clause.Enable != nil {
		rule.Enabled = *clause.Enable
	}
	if clause.JobInterval != nil {
		rule.JobInterval = *clause.JobInterval
	}

	column, refused := l.check(rule.Column)
	if refused != nil {
		return rule, refusal(refused)
	}

	rule.Column = column.Name
	rule.Options = mergeOptions(rule.Options, clause.Options)
	zone, said := clause.Options[ddl.OptionTimeZone]
	if old == nil || clause.TTL != nil || said {
		err = q.chooseZone(ctx, &rule, zone, said, column, values[setting.DefaultTimeZone])
	}
	if err == nil {
		err = checkLag(clause, rule)
	}

	return rule, err
}

// checkLag refuses a goal that jobs cannot keep, when the clause says something about either.
func checkLag(clause *ddl.Clause, rule catalog.Rule) error {
	_, goal := clause.Options[ddl.OptionMaxLag]
	_, cron := clause.Options[ddl.OptionCron]
	_, window := clause.Options[ddl.OptionWindow]
	_, priority := clause.Options[ddl.OptionPriority]
	if !goal && !cron && !window && !priority {
		return nil
	}

	terms, err := rule.Terms()
	if err != nil {
		return err
	}
	if terms.Options.Fresh && terms.Options.MaxLag == 0 {
		return refusal(ddl.UnsupportedDDL("TTL_PRIORITY='FRESH' without TTL_MAX_LAG, which says when it matters"))
	}
	if why := terms.Timing.UnkeptLag(); why != "" {
		return refusal(ddl.UnkeptLag(rule.Options[ddl.OptionMaxLag], why))
	}

	return nil
}

// mergeOptions adds the options of a clause to those there are; an empty value takes one back.
func mergeOptions(old, said map[string]string) map[string]string {
	merged := map[string]string{}
	maps.Copy(merged, old)
	maps.Copy(merged, said)
	maps.DeleteFunc(merged, func(name, value string) bool { return value == "" || name == ddl.OptionTimeZone })
	return merged
}

// chooseZone decides in which zone the column's values are read: the table's own, the setting's, or
// the server's. A TIMESTAMP needs none.
func (q *request) chooseZone(ctx context.Context, rule *catalog.Rule, zone string, said bool, column ddl.Column,
	setting string,
) error {
	switch {
	case !said && rule.ZoneSource == catalog.ZoneFromTable:
		return nil
	case zone != "":
		rule.TimeZone, rule.ZoneSource = zone, catalog.ZoneFromTable
	case column.Type == "TIMESTAMP":
		rule.TimeZone, rule.ZoneSource = "", ""
		return nil
	case setting != "":
		rule.TimeZone, rule.ZoneSource = setting, catalog.ZoneFromSetting
	default:
		zone, err := tables.ServerZone(ctx, q.h.config.DB)
		if err != nil {
			return refusal(&ddl.Error{
				Code: ddl.CodeUnknownTimeZone, State: "HY000",
				Message: "Unknown or incorrect time zone: " + err.Error(),
			})
		}
		rule.TimeZone, rule.ZoneSource = zone, catalog.ZoneFromServer
	}

	if _, err := ddl.Zone(rule.TimeZone); err != nil {
		return refusal(ddl.UnknownTimeZone(rule.TimeZone))
	}

	return nil
}
