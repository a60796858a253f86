package ddl

import (
	"slices"
	"strings"
)

// DescribeTiDB asks what columns one of TiDB's tables has: DESC, SHOW COLUMNS or SHOW CREATE TABLE.
// It is ours only if the table is the one in schema mysql.
type DescribeTiDB struct {
	Table  Name
	Form   Form
	Filter Filter
}

// Form is what a description looks like.
type Form string

// The forms.
const (
	FormColumns     Form = "COLUMNS"
	FormFullColumns Form = "FULL COLUMNS"
	FormCreate      Form = "CREATE TABLE"
)

func (*DescribeTiDB) action() {}

// tidbTable reads the name of one of TiDB's tables.
func (r *reader) tidbTable() (Name, bool) {
	at := r.at
	name, ok := r.name()
	if ok && tidbName(name.Table) && (name.Schema == "" || strings.EqualFold(name.Schema, "mysql")) {
		return name, true
	}
	r.at = at
	return Name{}, false
}

func tidbName(table string) bool { return slices.Contains(TiDBTables(), strings.ToLower(table)) }

// describeTiDB reads what follows DESC: a table and perhaps a column, or a pattern of columns.
func (r *reader) describeTiDB() bool {
	at := r.at
	name, ok := r.tidbTable()
	if !ok {
		return false
	}

	a := &DescribeTiDB{Table: name, Form: FormColumns}
	if !r.done() {
		column, named := r.ident()
		if !named {
			column, _ = r.stringValue()
		}
		a.Filter.Like = Mode{}.Literal(column)
	}

	return r.describe(at, a)
}

// showColumnsTiDB reads what follows SHOW: [FULL] COLUMNS FROM table [FROM schema] [LIKE | WHERE].
func (r *reader) showColumnsTiDB() bool {
	at := r.at
	a := &DescribeTiDB{Form: FormColumns}
	r.take("EXTENDED")
	if r.take("FULL") {
		a.Form = FormFullColumns
	}
	if !r.take("COLUMNS") && !r.take("FIELDS") || !r.take("FROM") && !r.take("IN") {
		r.at = at
		return false
	}

	var ok bool
	if a.Table, ok = r.tidbTable(); !ok || !r.fromSchema(&a.Table.Schema) {
		r.at = at
		return false
	}

	a.Filter = r.filter()
	return r.describe(at, a)
}

// describe ends a description; anything left over is for the server to judge.
func (r *reader) describe(at int, a *DescribeTiDB) bool {
	if !r.done() || a.Table.Schema != "" && !strings.EqualFold(a.Table.Schema, "mysql") {
		r.at = at
		return false
	}
	r.st.Action = a
	return true
}
