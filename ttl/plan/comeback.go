package plan

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/ddl"
)

// Comeback is how a partition that has left its table gets its place there again, so that its rows
// can be exchanged into it (RESTORE TTL PARTITION).
type Comeback struct {
	Partition string // as the table spells it
	// Make is the statement that makes the partition; empty if it is there.
	Make string
	// Late is a query for rows that are in its way: they came in after it had gone, and would be, or
	// are, in the partition. Whatever it leaves out is found when the partition has been made.
	Late string
}

// ComeBack finds the place of a partition with that bound in a table, by the column that divides it.
// why is set if there is none.
func ComeBack(f *tables.Facts, column, partition, bound string) (c Comeback, why string) {
	if there, found := f.Partition(partition); found {
		table := catalog.Table{Schema: f.Schema, Name: f.Table}
		return Comeback{Partition: there.Name, Late: InPartition(table, there.Name)}, ""
	}

	c.Partition = partition
	by, found := f.Column(column)
	switch {
	case bound == "":
		return c, "it is not known where it ended"
	case !found || len(f.Partitions) == 0:
		return c, "the table is not divided by " + ddl.Quote(column) + " any more"
	case slices.ContainsFunc(f.Partitions, func(p tables.Partition) bool { return p.Divided }):
		return c, "the table has subpartitions now"
	}

	like := f.Partitions[0]
	like.Below = bound
	end, known := like.End(by)
	if !known || !plainBound.MatchString(bound) {
		return c, "its bound (" + bound + ") is none of how the table is divided now"
	}

	for i, p := range f.Partitions {
		other, known := p.End(by)
		switch {
		case !known && !p.Last():
			return c, "the bound of partition " + ddl.Quote(p.Name) + " cannot be read"
		case known && other.Equal(end):
			return c, "partition " + ddl.Quote(p.Name) + " ends where it ended"
		case known && other.Before(end):
			continue
		}
		c.Make = divide(f, p, "PARTITION "+ddl.Quote(partition)+" VALUES LESS THAN ("+bound+")")
		c.Late = lateRows(f, p, i == 0, bound)
		return c, ""
	}

	c.Make = "ALTER TABLE " + f.Target("").Name() + " ADD PARTITION (PARTITION " + ddl.Quote(partition) +
		" VALUES LESS THAN (" + bound + "))"
	return c, ""
}

// plainBound is a bound as servers write it: values, and nothing behind them. It goes from the catalog
// into a statement of the client's.
var plainBound = regexp.MustCompile(`^(?:'[^'\\]*'|-?\d+|MAXVALUE)(?:,(?:'[^'\\]*'|-?\d+|MAXVALUE))*$`)

// InPartition is a query for a row of a partition.
func InPartition(t catalog.Table, partition string) string {
	return "SELECT 1 FROM " + tables.Target{Schema: t.Schema, Table: t.Name, Partition: partition}.Source() + " LIMIT 1"
}

// divide is the statement that puts partitions in front of another one, into its range.
func divide(f *tables.Facts, p tables.Partition, parts string) string {
	below := "(" + p.Below + ")"
	if p.Method == "RANGE" && p.Last() {
		below = p.Below
	}
	comment := ""
	if p.Comment != "" {
		comment = " COMMENT = " + tables.Literal(p.Comment)
	}
	name := ddl.Quote(p.Name)
	return "ALTER TABLE " + f.Target("").Name() + " REORGANIZE PARTITION " + name + " INTO (" + parts + ", PARTITION " +
		name + " VALUES LESS THAN " + below + comment + ")"
}

// lateRows is a query for a row of a partition that belongs below a bound. The lowest partition has
// the rows without a date.
func lateRows(f *tables.Facts, p tables.Partition, lowest bool, bound string) string {
	first, _, _ := strings.Cut(p.Expression, ",")
	where := first + " < " + firstValue(bound)
	if lowest {
		where += " OR (" + first + ") IS NULL"
	}
	return "SELECT 1 FROM " + f.Target(p.Name).Source() + " WHERE " + where + " LIMIT 1"
}

// firstValue is that of a bound of several.
func firstValue(bound string) string {
	if text, quoted := strings.CutPrefix(bound, "'"); quoted {
		inner, _, _ := strings.Cut(text, "'")
		return "'" + inner + "'"
	}
	value, _, _ := strings.Cut(bound, ",")
	return value
}

// AnyRow reports whether a query has an answer.
func AnyRow(ctx context.Context, q tables.Querier, query string) (bool, error) {
	if query == "" {
		return false, nil
	}
	var one int
	err := q.QueryRowContext(ctx, query).Scan(&one)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// Unlike says why a partition could not be exchanged with another table although both have the same columns: it has
// other indexes, or another format.
func Unlike(ctx context.Context, q tables.Querier, t, other catalog.Table) (why string, err error) {
	var of [2][]string
	for i, name := range []catalog.Table{t, other} {
		text, err := shown(ctx, q, name.String())
		if err != nil {
			return "", err
		}
		for line := range strings.Lines(text) {
			if key := keyLine.FindString(strings.TrimRight(line, ",\n")); key != "" {
				of[i] = append(of[i], strings.TrimSpace(key))
			}
		}
		of[i] = append(of[i], anyFormat.FindString(unquoted.ReplaceAllString(text, "''")))
		slices.Sort(of[i])
	}
	for _, one := range of[0] {
		if !slices.Contains(of[1], one) {
			return cmp.Or(one, "ROW_FORMAT") + " is new", nil
		}
	}
	for _, one := range of[1] {
		if !slices.Contains(of[0], one) {
			return cmp.Or(one, "ROW_FORMAT") + " is not there any more", nil
		}
	}
	return "", nil
}

// An index as SHOW CREATE TABLE says it, and a format that a table was given.
var (
	keyLine   = regexp.MustCompile("^  (?:UNIQUE |FULLTEXT |SPATIAL )?KEY `.*")
	anyFormat = regexp.MustCompile(`\bROW_FORMAT=\w+`)
)

// Placed says why a table's partitions cannot be reorganized without a change of where their files
// are, which information_schema does not show.
func Placed(ctx context.Context, q tables.Querier, f *tables.Facts) (why string, err error) {
	text, err := shownTable(ctx, q, f)
	if err != nil {
		return "", err
	}
	at := strings.LastIndex(text, "PARTITION BY")
	if at >= 0 && (strings.Contains(text[at:], "DATA DIRECTORY") || strings.Contains(text[at:], "TABLESPACE")) {
		why = "its partitions say where their files are"
	}
	return why, nil
}
