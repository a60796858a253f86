package catalog

import (
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

func (t Table) lower() Table {
	return Table{Schema: strings.ToLower(t.Schema), Name: strings.ToLower(t.Name)}
}

// literal returns text as a SQL string for sessions without NO_BACKSLASH_ESCAPES, which is all of ours.
func literal(text string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `''`).Replace(text) + "'"
}
