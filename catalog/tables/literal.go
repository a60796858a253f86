package tables

import "strings"

// Literal returns text as a SQL string for sessions without NO_BACKSLASH_ESCAPES, which is all of
// ours.
func Literal(text string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `''`).Replace(text) + "'"
}
