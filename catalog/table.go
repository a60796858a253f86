package catalog

import "strings"

// Table names a table as the server stores it.
type Table struct {
	Schema string
	Name   string
}

// String returns schema.table, quoted where needed for reading back.
func (t Table) String() string {
	return Quote(t.Schema) + "." + Quote(t.Name)
}

// Quote returns name as a quoted SQL identifier.
func Quote(name string) string {
	return "`" + strings.ReplaceAll(name, "`", "``") + "`"
}
