package tables

import "strings"

// Literal returns text as a SQL string for sessions of ours, which have no NO_BACKSLASH_ESCAPES and
// talk in utf8mb4. Four others write literals for other readers: [Column.Literal] values of keys, by
// the column's kind and character set; a cutoff its date, in whole numbers for a TIMESTAMP;
// [ddl.Mode.Literal] text inside a statement of a client, in its SQL mode and character set; and
// package statement text for sessions of clients, whatever they have set.
func Literal(text string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `''`).Replace(text) + "'"
}
