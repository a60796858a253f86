package ddl

import "strings"

// create reads what follows CREATE.
func (r *reader) create() {
	orReplace := r.take("OR", "REPLACE")
	temporary := r.take("TEMPORARY")
	if r.take("TABLE") {
		r.createTable(&CreateTable{OrReplace: orReplace, Temporary: temporary})
		return
	}
	for r.take("ONLINE") || r.take("OFFLINE") || r.take("UNIQUE") || r.take("FULLTEXT") || r.take("SPATIAL") ||
		r.take("VECTOR") {
	}
	if r.take("INDEX") && r.skipTo("ON") {
		r.changeOne("CREATE INDEX")
	}
}

func (r *reader) createTable(a *CreateTable) {
	a.IfNotExists = r.take("IF", "NOT", "EXISTS")
	var ok bool
	if a.Table, ok = r.name(); !ok {
		return
	}

	r.st.Action = a
	if r.like(a) {
		(&optionList{reader: r}).takeHidden(r.st.end, r.st.end)
		return
	}
	if r.is(r.current(), '(') && !r.query(1) {
		r.elements(a)
	}

	a.Clause = r.tableOptions()
	a.Select = r.queryFollows()
}

// queryFollows steps over a partition clause and reports whether a query follows.
func (r *reader) queryFollows() bool {
	for !r.done() {
		if r.query(0) {
			return true
		}
		r.skip()
	}
	return false
}

// query reports whether a query, or what leads to one in CREATE TABLE … SELECT, begins n tokens
// ahead.
func (r *reader) query(n int) bool {
	for r.is(r.ahead(n), '(') {
		n++
	}
	t := r.ahead(n)
	if r.keyword(t, "WITH") {
		return !r.peek(n+1, "SYSTEM")
	}
	return r.oneOf(t, "SELECT", "AS", "IGNORE", "REPLACE", "VALUES", "TABLE")
}

// like reads CREATE TABLE t LIKE s and CREATE TABLE t (LIKE s).
func (r *reader) like(a *CreateTable) bool {
	at := r.at
	r.takeMark('(')
	if !r.take("LIKE") {
		r.at = at
		return false
	}
	if origin, ok := r.name(); ok {
		a.Like = &origin
	}
	return true
}

// elements reads the parenthesised list of columns, keys and constraints.
func (r *reader) elements(a *CreateTable) {
	r.takeMark('(')
	for !r.done() {
		r.element(a)
		if !r.takeMark(',') {
			r.takeMark(')')
			return
		}
	}
}

// element reads one of them and leaves the reader at the comma or parenthesis behind it.
func (r *reader) element(a *CreateTable) {
	if r.take("CONSTRAINT") && !r.oneOf(r.current(), "PRIMARY", "UNIQUE", "FOREIGN", "CHECK") {
		r.ident()
	}

	switch {
	case r.take("PRIMARY", "KEY"):
		r.toColumnList()
		a.PrimaryKey = append(a.PrimaryKey, r.columnList()...)
	case r.peek(0, "FOREIGN"):
		if parent, ok := r.parent(); ok {
			a.References = append(a.References, parent)
		}
	case r.oneOf(r.current(), "UNIQUE", "KEY", "INDEX", "FULLTEXT", "SPATIAL", "VECTOR", "CHECK"),
		r.peek(0, "PERIOD", "FOR"):
	default:
		d, ok := r.definition()
		if !ok {
			break
		}

		a.Columns = append(a.Columns, d.column)
		if d.primary {
			a.PrimaryKey = append(a.PrimaryKey, d.column.Name)
		}
		if d.parent != nil {
			a.References = append(a.References, *d.parent)
		}
	}

	r.toComma()
}

// ended reports whether an element or spec ends here: at a comma, a parenthesis, or the partitions, which need no comma
// before them.
func (r *reader) ended() bool {
	t := r.current()
	return r.done() || r.is(t, ',') || r.is(t, ')') || r.peek(0, "PARTITION", "BY")
}

// toComma moves to the comma or closing parenthesis that ends an element or a spec.
func (r *reader) toComma() {
	for !r.ended() {
		r.skip()
	}
}

// toColumnList moves over the name and type of a key to its columns.
func (r *reader) toColumnList() {
	for !r.ended() && !r.is(r.current(), '(') {
		r.at++
	}
}

// definition is a column definition.
type definition struct {
	column  Column
	primary bool
	parent  *Name
}

// definition reads a column definition up to the comma or parenthesis behind it.
func (r *reader) definition() (definition, bool) {
	name, ok := r.ident()
	if !ok {
		return definition{}, false
	}

	d := definition{column: Column{Name: name}}
	if t := r.current(); t.kind == word {
		d.column.Type = strings.ToUpper(r.spelling(t))
		r.at++
	}

	for !r.ended() {
		switch {
		case r.take("COMMENT"), r.take("DEFAULT"): // whatever the next word is, it is a value
			r.skip()
		case r.take("AS"):
			d.column.Virtual, d.column.Expression = r.generated()
		case r.take("STORED"), r.take("PERSISTENT"):
			d.column.Virtual = false
		case r.take("PRIMARY"):
			r.take("KEY")
			d.primary = true
		case r.peek(0, "UNIQUE", "KEY"):
			r.at += 2
		case r.take("KEY"):
			d.primary = true
		case r.take("REFERENCES"):
			if parent, ok := r.name(); ok {
				d.parent = &parent
			}
		default:
			r.skip()
		}
	}

	return d, true
}

// generated reads the expression of a generated column, which is virtual unless the next words say
// otherwise.
func (r *reader) generated() (virtual bool, text string) {
	if !r.is(r.current(), '(') {
		return false, "" // AS ROW START
	}
	from := r.current().start
	r.skip()
	return true, Decode(r.text[from:r.tokens[r.at-1].end], r.mode.Charset)
}

// parent finds the parent of the foreign key whose words follow.
func (r *reader) parent() (Name, bool) {
	for !r.ended() {
		if r.take("REFERENCES") {
			return r.name()
		}
		r.skip()
	}
	return Name{}, false
}
