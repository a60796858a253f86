package tables

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// outgrown says how far a table's columns are from what they were, as a policy with this TTL
// column sees it, and what is different. Key and TTL column must be what they were, all columns
// must be there in their order, and each must hold every value that it could hold.
//
// A new column of the TTL column's type may be that column under another name, whose own name a
// younger one has taken: no server shows that, if only names were changed. The same goes for those that the TTL
// column is computed from.
func (a Shape) outgrown(b Shape, column string) (Resemblance, string) {
	why := a.Difference(b)
	if why == "" {
		return Same, ""
	}

	was, is := a.lines(), b.lines()
	ttl := a.Column(column)
	if ttl == "" || !a.SameKey(b, column) {
		return Stranger, why
	}
	if !slices.Equal(namesOf(was), commonTo(namesOf(is), namesOf(was))) {
		if order := orderOf(was, is); order != why {
			why = joinWords(why, order)
		}
		return Stranger, why
	}

	for _, line := range was {
		now := columnLine(is, columnName(line))
		if now != line && !wider(parseColumn(line), parseColumn(now), parseColumn(ttl).expression != "") {
			return Stranger, why
		}
	}

	for _, name := range a.basis(column) {
		dated := a.Column(name)
		for _, line := range is {
			added := columnLine(was, columnName(line)) == ""
			if added && mayHaveBeen(parseColumn(dated), parseColumn(line)) {
				return Unsure, joinWords(why,
					fmt.Sprintf("%s may be %s under another name", columnName(line), columnName(dated)))
			}
		}
	}

	return Grown, why
}

// mayHaveBeen reports whether a new column may be one that was there, under another name.
func mayHaveBeen(was, added columnType) bool {
	return was.kind == added.kind || wider(was, added, false)
}

const otherOrder = "the columns are in another order, as after a swap of names"

// orderOf says that columns which are all there have traded places.
func orderOf(was, is []string) string {
	if len(commonTo(namesOf(is), namesOf(was))) < len(was) {
		return ""
	}
	return otherOrder
}

func namesOf(lines []string) []string {
	names := make([]string, len(lines))
	for i, line := range lines {
		names[i] = columnName(line)
	}
	return names
}

// commonTo returns those of names that are among others, in their order.
func commonTo(names, others []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !slices.Contains(others, name) })
}

// columnType is a line of a shape in its parts.
type columnType struct {
	kind       string // the type without what follows it: varchar
	length     []int  // in brackets: of a varchar, digits of a decimal, of the fraction of a date
	values     string // in brackets, of an enum or set
	unsigned   bool
	notNull    bool
	collation  string
	expression string // of a generated column
}

var typeParts = regexp.MustCompile(`^(\w+)(?:\(([^')]*)\)|\(('.*')\))?(.*)$`)

// parseColumn reads a line of a shape. What it cannot read it leaves empty; then it is wider than
// nothing, and nothing than it.
func parseColumn(line string) (c columnType) {
	rest := strings.TrimPrefix(strings.TrimPrefix(line, columnName(line)), " ")
	rest, c.expression, _ = strings.Cut(rest, AsExpression)
	if before, collation, found := strings.Cut(rest, " COLLATE "); found {
		rest, c.collation = before, collation
	}

	rest, c.notNull = strings.CutSuffix(rest, " NOT NULL")

	parts := typeParts.FindStringSubmatch(rest)
	if parts == nil {
		return columnType{}
	}

	c.kind, c.values, c.unsigned = parts[1], parts[3], strings.Contains(parts[4], "unsigned")
	for digits := range strings.SplitSeq(parts[2], ",") {
		if n, err := strconv.Atoi(digits); err == nil {
			c.length = append(c.length, n)
		}
	}

	return c
}

// The types that hold all of what those before them hold.
var (
	wholeTypes = []string{"tinyint", "smallint", "mediumint", "int", "bigint"}
	textTypes  = []string{"tinytext", "text", "mediumtext", "longtext"}
	blobTypes  = []string{"tinyblob", "blob", "mediumblob", "longblob"}
	floatTypes = []string{"float", "double"}
)

// wider reports whether a column holds every value that it could hold before, in the same way.
// strict compares what generated columns are made of, too.
func wider(was, is columnType, strict bool) bool {
	if was.kind == "" || is.kind == "" || is.notNull && !was.notNull || !sameText(was.collation, is.collation) {
		return false
	}
	if (was.expression == "") != (is.expression == "") || strict && was.expression != is.expression {
		return false
	}

	for _, family := range [][]string{wholeTypes, floatTypes, textTypes, blobTypes} {
		before, after := slices.Index(family, was.kind), slices.Index(family, is.kind)
		switch {
		case before < 0:
		case was.unsigned != is.unsigned:
			return before < after && was.unsigned // a signed one of the next size holds it
		default:
			return before <= after && (was.kind != "float" || slices.Equal(was.length, is.length))
		}
	}

	return longer(was, is)
}

// longer is wider for types that come in lengths.
func longer(was, is columnType) bool {
	if was.kind != is.kind || was.unsigned != is.unsigned {
		return false
	}
	switch was.kind {
	case "char", "varchar", "varbinary", "bit", "datetime", "timestamp", "time":
		return is.digits(0) >= was.digits(0)
	case "decimal":
		return is.digits(1) >= was.digits(1) && is.digits(0)-is.digits(1) >= was.digits(0)-was.digits(1)
	case "enum", "set":
		return is.values == was.values || strings.HasPrefix(is.values, was.values+",")
	default:
		return slices.Equal(was.length, is.length) && was.values == is.values
	}
}

// digits is the nth number in brackets; 0 without one.
func (c columnType) digits(n int) int {
	if n >= len(c.length) {
		return 0
	}
	return c.length[n]
}

// sameText reports whether two collations are the same, or the same rules for utf8 and all of
// Unicode.
func sameText(was, is string) bool {
	_, rules, utf8 := strings.Cut(was, "_")
	return was == is || utf8 && (was == "utf8mb3_"+rules || was == "utf8_"+rules) && strings.HasPrefix(is, "utf8mb4_")
}
