package ddl

import (
	"regexp"
	"slices"
	"strings"
)

// ColumnsIn returns which of these columns a generation expression names, in its order, and the expression without
// their names, which are others once they are renamed. Servers write each name in backquotes, and MySQL escapes the
// quotes of texts as no reader expects: so what looks like a name in a text is taken for one.
func ColumnsIn(expression string, columns []string) (names []string, rest string) {
	quoted := make([]string, len(columns))
	for i, name := range columns {
		quoted[i] = regexp.QuoteMeta(Quote(name))
	}
	if len(columns) == 0 || !strings.Contains(expression, "`") {
		return nil, expression
	}
	rest = regexp.MustCompile("(?i)"+strings.Join(quoted, "|")).ReplaceAllStringFunc(expression, func(q string) string {
		names = append(names, Unquote(q))
		return "?"
	})
	return names, rest
}

// Basis are a column, those that it is computed from, and those that these are; expression is that of a column, empty
// if it has none.
func Basis(column string, columns []string, expression func(column string) string) []string {
	basis := []string{column}
	for at := 0; at < len(basis); at++ {
		names, _ := ColumnsIn(expression(basis[at]), columns)
		for _, name := range names {
			if !slices.Contains(basis, name) {
				basis = append(basis, name)
			}
		}
	}
	return basis
}
