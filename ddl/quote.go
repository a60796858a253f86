package ddl

import "strings"

// Quote writes an identifier for a statement, in back quotes, which every SQL mode reads as an
// identifier.
func Quote(name string) string {
	return "`" + strings.ReplaceAll(name, "`", "``") + "`"
}

// Unquote undoes Quote; what is not quoted stays as it is.
func Unquote(quoted string) string {
	if len(quoted) < 2 || quoted[0] != '`' {
		return quoted
	}
	return strings.ReplaceAll(quoted[1:len(quoted)-1], "``", "`")
}

// QuoteTable writes a qualified table name. An empty schema is left out.
func QuoteTable(schema, table string) string {
	if schema == "" {
		return Quote(table)
	}
	return Quote(schema) + "." + Quote(table)
}

// quoteString writes a string literal that reads the same with and without NO_BACKSLASH_ESCAPES,
// as long as the value holds no backslash; our options never do.
func quoteString(value string) string {
	return "'" + strings.ReplaceAll(value, "'", "''") + "'"
}
