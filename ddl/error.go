package ddl

import "fmt"

// Error is an error as a MySQL client sees it.
type Error struct {
	Code    uint16
	State   string
	Message string
}

// Error prints the error the way the command-line clients do.
func (e *Error) Error() string {
	return fmt.Sprintf("ERROR %d (%s): %s", e.Code, e.State, e.Message)
}

const (
	stateGeneral       = "HY000"
	stateSyntax        = "42000"
	stateUnknownColumn = "42S22"
	nearLength         = 80
	syntaxMessage      = "You have an error in your SQL syntax; check the manual that corresponds to ttlproxy's " +
		"TTL clauses for the right syntax to use near '%s' at line %d"
	messageUnsupportedType = "Field '%s' is of a not supported type for TTL config, expect DATETIME, DATE or TIMESTAMP"
)

// UnsupportedColumn is raised when the TTL column is not a DATE, DATETIME or TIMESTAMP.
func UnsupportedColumn(column string) *Error {
	return &Error{CodeUnsupportedColumn, stateGeneral, fmt.Sprintf(messageUnsupportedType, column)}
}

// ColumnNeeded is raised when a statement would drop the TTL column.
func ColumnNeeded(column string) *Error {
	return &Error{CodeColumnNeeded, stateGeneral, fmt.Sprintf("Cannot drop column '%s': needed in TTL config", column)}
}

// NoTTL is raised when an option such as TTL_ENABLE is set on a table that has no TTL.
func NoTTL(option string) *Error {
	return &Error{CodeNoTTL, stateGeneral, fmt.Sprintf("Cannot set %s on a table without TTL config", option)}
}

// TemporaryTable is raised when a temporary table is given a TTL.
func TemporaryTable() *Error {
	return &Error{CodeTemporaryTable, stateGeneral, "Set TTL for temporary table is not allowed"}
}

// ReferencedTable is raised when a table with a TTL is, or would become, the parent of a foreign
// key, and nothing says what becomes of rows that are referenced.
func ReferencedTable() *Error {
	return &Error{
		CodeReferencedTable, stateGeneral,
		"Set TTL for a table referenced by foreign key is not allowed, unless TTL_FK = 'SKIP' keeps the rows that " +
			"are referenced, or 'CHILDREN' or 'CASCADE' lets them go with all rows that depend on them",
	}
}

// UnsupportedKey is raised when the primary key has a FLOAT or DOUBLE column, whose printed values
// do not compare equal.
func UnsupportedKey() *Error {
	return &Error{CodeUnsupportedKey, stateGeneral, "Unsupported clustered primary key type FLOAT/DOUBLE for TTL"}
}

// UnsupportedDDL is raised for a combination of changes that cannot be done in one statement.
func UnsupportedDDL(what string) *Error {
	return &Error{CodeUnsupportedDDL, stateGeneral, "Unsupported " + what}
}

// UnkeptLag is raised for a TTL_MAX_LAG that another option of the table makes impossible to keep.
func UnkeptLag(lag, why string) *Error {
	return UnsupportedDDL("TTL_MAX_LAG='" + lag + "': " + why)
}

// UnknownColumn is raised when the TTL column does not exist.
func UnknownColumn(column string) *Error {
	return &Error{CodeUnknownColumn, stateUnknownColumn, fmt.Sprintf("Unknown column '%s' in 'TTL config'", column)}
}

// WrongObject is raised when the table is a view or a sequence.
func WrongObject(schema, name string) *Error {
	return &Error{CodeWrongObject, stateGeneral, fmt.Sprintf("'%s.%s' is not BASE TABLE", schema, name)}
}

// WrongInterval is raised for an interval that has no length: nonsense text, negative, or beyond
// the year 9999.
func WrongInterval(i Interval, why string) *Error {
	return &Error{
		CodeWrongValue, stateGeneral,
		fmt.Sprintf("Incorrect INTERVAL value: '%s %s' for TTL: %s", i.Literal, i.Unit, why),
	}
}

// UnknownTimeZone is raised for a zone that cannot be resolved to a name or an offset.
func UnknownTimeZone(zone string) *Error {
	return &Error{CodeUnknownTimeZone, stateGeneral, fmt.Sprintf(
		"Unknown or incorrect time zone: '%s'; give TTL_TIME_ZONE a name such as 'Europe/Berlin' or an offset such "+
			"as '+02:00'", zone)}
}

// syntaxError points at the byte of text where reading failed, with MySQL's wording; hint may add
// the grammar.
func syntaxError(text string, at int, hint string) *Error {
	at = min(max(at, 0), len(text))
	line := 1
	for _, b := range []byte(text[:at]) {
		if b == '\n' {
			line++
		}
	}

	near := text[at:]
	if len(near) > nearLength {
		near = near[:nearLength]
	}

	message := fmt.Sprintf(syntaxMessage, near, line)
	if hint != "" {
		message += "; " + hint
	}

	return &Error{CodeSyntax, stateSyntax, message}
}
