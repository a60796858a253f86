package catalog

import (
	"cmp"
	"strings"

	"github.com/ttlproxy/ttlproxy/ddl"
)

// Table names a table as the server stores it.
type Table struct {
	Schema string `json:"schema"`
	Name   string `json:"name"`
}

// String returns schema.table, quoted.
func (t Table) String() string {
	return ddl.QuoteTable(t.Schema, t.Name)
}

// Compare orders tables by schema and name.
func (t Table) Compare(o Table) int {
	return cmp.Or(cmp.Compare(t.Schema, o.Schema), cmp.Compare(t.Name, o.Name))
}

// folded is the table with these letters in place of those that the server stores as others.
func (t Table) folded(letters map[rune]rune) Table {
	fold := func(r rune) rune {
		if lower, other := letters[r]; other {
			return lower
		}
		return r
	}
	return Table{Schema: strings.Map(fold, t.Schema), Name: strings.Map(fold, t.Name)}
}
