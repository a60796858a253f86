package tables

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ttlproxy/ttlproxy/ddl"
)

// Shape is what a table keeps on every server: its columns and its primary key, as text.
type Shape struct {
	Columns    string // one line per column, in order: name and type
	PrimaryKey string // quoted column names, comma separated; empty for none
}

// AsExpression stands in the line of a generated column, before what it is made of.
const AsExpression = ` AS `

// SameKey reports whether the key columns and the TTL column are what they were.
func (a Shape) SameKey(b Shape, ttl string) bool {
	if a.PrimaryKey != b.PrimaryKey {
		return false
	}
	for _, line := range a.lines() {
		name := columnName(line)
		if (name == a.quoted(ttl) || strings.Contains(a.PrimaryKey, name)) && !slices.Contains(b.lines(), line) {
			return false
		}
	}
	return true
}

func (a Shape) lines() []string { return strings.Split(a.Columns, "\n") }

// Column returns the line of a column; "" when there is none.
func (a Shape) Column(name string) string { return columnLine(a.lines(), a.quoted(name)) }

// Redates reports whether a column has other dates in b, where it may have another name, than the server read in a:
// between TIMESTAMP and the other types dates are converted by the zone of whoever alters the table, and DATE
// drops the time. A DATE becomes the midnight that it was. One that is computed has the dates that are made of other
// columns: a server computes it anew with them.
func (a Shape) Redates(b Shape, was, is string) bool {
	from, to := a.dataType(was), b.dataType(is)
	return from != to && from != "" && to != "" && (from != "date" || to != "datetime") ||
		!a.computesAlike(b, was, is, nil)
}

// computesAlike reports whether a column is not computed, or of the same columns in the same way, each of which holds
// what it held. Of one that is computed no longer, the server keeps what it was.
func (a Shape) computesAlike(b Shape, was, is string, above []string) bool {
	from, to := parseColumn(a.Column(was)).expression, parseColumn(b.Column(is)).expression
	if from == "" || to == "" || slices.Contains(above, was) {
		return true
	}

	before, rest := ddl.ColumnsIn(from, a.names())
	after, now := ddl.ColumnsIn(to, b.names())
	if rest != now || len(before) != len(after) {
		return false
	}
	for n, base := range before {
		x, y := parseColumn(a.Column(base)), parseColumn(b.Column(after[n]))
		if !wider(x, y, false) || !a.computesAlike(b, base, after[n], append(above, was)) {
			return false
		}
	}
	return true
}

// basis is [ddl.Basis] of a column.
func (a Shape) basis(column string) []string {
	return ddl.Basis(column, a.names(), func(name string) string { return parseColumn(a.Column(name)).expression })
}

// dataType is the first word of a column's type.
func (a Shape) dataType(column string) string {
	line := a.Column(column)
	kind, _, _ := strings.Cut(strings.TrimSpace(strings.TrimPrefix(line, columnName(line))), " ")
	kind, _, _ = strings.Cut(kind, "(")
	return strings.ToLower(kind)
}

// names are those of all columns.
func (a Shape) names() []string {
	all := namesOf(a.lines())
	for i, quoted := range all {
		all[i] = ddl.Unquote(quoted)
	}
	return all
}

// quoted returns a column's quoted name as the table spells it.
func (a Shape) quoted(column string) string {
	want := ddl.Quote(column)
	lines := a.lines()
	if i := ddl.IndexNamed(lines, columnName, want); i >= 0 {
		return columnName(lines[i])
	}
	return want
}

// Difference says what distinguishes two shapes; "" for nothing.
func (a Shape) Difference(b Shape) string {
	if a.Columns == b.Columns && a.PrimaryKey == b.PrimaryKey {
		return ""
	}
	if a.Columns == b.Columns {
		return fmt.Sprintf("the primary key was (%s), is (%s)", a.PrimaryKey, b.PrimaryKey)
	}

	was, is := a.lines(), b.lines()
	var parts []string
	for _, line := range was {
		if slices.Contains(is, line) {
			continue
		}
		if other := columnLine(is, columnName(line)); other != "" {
			parts = append(parts, fmt.Sprintf("column %s is now %s", line,
				strings.TrimPrefix(other, columnName(other)+" ")))
		} else {
			parts = append(parts, "column "+columnName(line)+" is gone")
		}
	}

	for _, line := range is {
		if columnLine(was, columnName(line)) == "" {
			parts = append(parts, "column "+line+" is new")
		}
	}

	if len(parts) == 0 {
		return otherOrder
	}

	return strings.Join(parts, "; ")
}

// columnName returns the quoted name a line of a shape begins with.
func columnName(line string) string {
	for i := 1; i < len(line); i++ {
		if line[i] != '`' {
			continue
		}
		if i+1 < len(line) && line[i+1] == '`' {
			i++
			continue
		}
		return line[:i+1]
	}
	return line
}

// columnLine returns the line of a column; "" when there is none.
func columnLine(lines []string, name string) string {
	i := slices.IndexFunc(lines, func(l string) bool { return columnName(l) == name })
	if i < 0 {
		return ""
	}
	return lines[i]
}
