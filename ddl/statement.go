package ddl

import (
	"strings"
	"unsafe"
)

// Statement is one statement of a packet.
type Statement struct {
	Action Action // what it asks for; nil when it does not concern us
	Err    *Error // set when it holds a clause of ours that is wrong: nothing may be forwarded

	source     *source
	start, end int      // the statement's bytes in the packet
	next       int      // the place behind its semicolon
	cuts       []cut    // in order, not overlapping
	spellings  []string // see Spellings
}

// Spellings returns the names and texts of the statement whose meaning depends on the client's
// character set, in that set. Decode has read them; only the server knows whether correctly.
func (s *Statement) Spellings() []string { return s.spellings }

// Text returns the statement as it was sent.
func (s *Statement) Text() string { return s.source.text[s.start:s.end] }

// Size returns about how many bytes of memory the statement keeps, with those that came with it.
func (s *Statement) Size() int {
	return len(s.source.text) + cap(s.source.tokens)*int(unsafe.Sizeof(token{})) + 1<<10
}

// Verb returns the first word of the statement in upper case.
func (s *Statement) Verb() string {
	for _, t := range s.source.tokens {
		if t.start >= s.start && t.kind == word && !t.hidden {
			return strings.ToUpper(s.source.spelling(t))
		}
	}
	return ""
}

// Rest returns what follows the statement and its semicolon in its packet.
func (s *Statement) Rest() string { return s.source.text[s.next:] }

// Clause returns the TTL options of a CREATE or ALTER TABLE, or nil.
func (s *Statement) Clause() *Clause {
	switch a := s.Action.(type) {
	case *CreateTable:
		return a.Clause
	case *AlterTable:
		return a.Clause
	}
	return nil
}

// Action is what a statement asks for, as one of the pointers to the structs of this package:
// CreateTable, AlterTable, DropTables, RenameTables, TruncateTable, ChangeTables, DropDatabase,
// ShowCreateTable, SetVariables, ReadNames, ShowVariables, Prepare, Execute, Immediate, Deallocate,
// and the admin statements.
type Action interface{ action() }

// Name is a table's name in UTF-8. How the statement spelled it is not kept: whoever asks about the
// table writes it out again, with its schema, so that the question is about that table and no
// other.
type Name struct {
	Schema string // empty: the session's current schema
	Table  string
}

// CreateTable is CREATE TABLE in all its forms.
type CreateTable struct {
	Table       Name
	Temporary   bool
	OrReplace   bool
	IfNotExists bool
	Like        *Name    // CREATE TABLE … LIKE
	Select      bool     // CREATE TABLE … SELECT: not all columns are declared
	Columns     []Column // the declared ones
	PrimaryKey  []string
	References  []Name // parents of its foreign keys
	Clause      *Clause
}

// Column is a column definition, as far as a TTL depends on it.
type Column struct {
	Name string
	Type string // the first word of the type, in upper case
	// Virtual says that the column is computed by whoever reads it, from Expression.
	Virtual    bool
	Expression string
}

// TimeType reports whether a TTL can be declared on the column.
func (c Column) TimeType() bool {
	switch c.Type {
	case "DATE", "DATETIME", "TIMESTAMP":
		return true
	}
	return false
}

// FloatType reports whether the column may not be part of the primary key of a table with a TTL.
func (c Column) FloatType() bool {
	switch c.Type {
	case "FLOAT", "FLOAT4", "FLOAT8", "DOUBLE", "REAL":
		return true
	}
	return false
}

// AlterTable is ALTER TABLE. Its TTL options are in Clause, everything else in Specs.
type AlterTable struct {
	Table    Name
	IfExists bool
	Specs    []Spec
	Clause   *Clause
}

// Pure reports whether the statement holds TTL options and nothing for the server.
func (a *AlterTable) Pure() bool { return a.Clause != nil && len(a.Specs) == 0 }

// Change names what a Spec does.
type Change int

// The changes of an ALTER TABLE that matter to a TTL. Everything else is OtherChange.
const (
	OtherChange Change = iota
	AddColumn
	DropColumn
	ChangeColumn // also MODIFY, where Column and NewColumn.Name are the same
	RenameColumn
	RenameTable
	AddForeignKey
	AddPrimaryKey
	ExchangePartition
	ConvertPartition // CONVERT PARTITION p TO TABLE t
	ConvertTable     // CONVERT TABLE t TO PARTITION p
	ImportTablespace
	DiscardTablespace // which comes before
	DropPartition
	TruncatePartition
	MaintainPartition // OPTIMIZE and REPAIR
	// never touches a row nor the identity of the table: ENABLE KEYS, ALGORITHM= other than COPY, LOCK=,
	// CHECK and ANALYZE PARTITION
	HarmlessChange
)

// String names the change in goldens and logs.
func (c Change) String() string {
	return [...]string{
		"other", "add column", "drop column", "change column", "rename column", "rename table", "add foreign key",
		"add primary key", "exchange partition", "convert partition", "convert table", "import tablespace",
		"discard tablespace", "drop partition", "truncate partition", "maintain partition", "harmless",
	}[c]
}

// Spec is one comma-separated change of an ALTER TABLE.
type Spec struct {
	Change     Change
	Column     string   // of DropColumn, ChangeColumn, RenameColumn
	NewColumn  Column   // of AddColumn, ChangeColumn, RenameColumn (without type)
	References *Name    // of AddForeignKey and of a column that references
	Keys       []string // of AddPrimaryKey
	Other      *Name    // of RenameTable and of what moves a partition; nil when it cannot be read
}

// DropTables is DROP TABLE.
type DropTables struct {
	Tables    []Name
	Temporary bool
	IfExists  bool
}

// RenameTables is RENAME TABLE; its pairs are carried out from left to right.
type RenameTables struct{ Pairs []Rename }

// Rename is one pair of a RENAME TABLE.
type Rename struct{ From, To Name }

// TruncateTable is TRUNCATE TABLE.
type TruncateTable struct{ Table Name }

// ChangeTables is a statement that may rebuild tables without changing what they are:
// OPTIMIZE, REPAIR, CREATE INDEX, DROP INDEX.
type ChangeTables struct {
	Verb   string // OPTIMIZE, REPAIR, CREATE INDEX, DROP INDEX
	Tables []Name
}

// DropDatabase is DROP DATABASE.
type DropDatabase struct {
	Schema   string
	IfExists bool
}

// ShowCreateTable is SHOW CREATE TABLE.
type ShowCreateTable struct{ Table Name }

func (*CreateTable) action()     {}
func (*AlterTable) action()      {}
func (*DropTables) action()      {}
func (*RenameTables) action()    {}
func (*TruncateTable) action()   {}
func (*ChangeTables) action()    {}
func (*DropDatabase) action()    {}
func (*ShowCreateTable) action() {}
