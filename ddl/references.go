package ddl

import (
	"slices"
	"strings"
)

// ReadNames is a statement of the server's that reads our settings or TiDB's tables.
type ReadNames struct{ References []Reference }

// Reference is one place where a statement names something of ours.
type Reference struct {
	// Variable is the setting of @@name, in lower case; empty for a table.
	Variable string
	Scope    Scope
	// Item is set when the variable is a whole column of a result, which is then named after it.
	Item bool

	// Table is one of TiDB's tables, in lower case; empty for a variable.
	Table string
	// Qualified is set when the statement says mysql. in front.
	Qualified bool
	// Aliased is set when the statement gives the table another name.
	Aliased bool
	// Prefix is set when this is not the table but a column of it: mysql.table.column.
	Prefix bool

	// Column is the text of a column of a result that reads something of ours, whose end this is: the
	// server would name the column after what stands there instead. It is the only one of such a place.
	Column string

	start, end int // in the packet
}

func (*ReadNames) action() {}

// TiDBTables are the tables of TiDB that can be read.
func TiDBTables() []string {
	return []string{"tidb_ttl_table_status", "tidb_ttl_task", "tidb_ttl_job_history"}
}

// Substitute returns the statement with references replaced by what with returns for them and their
// text. An empty replacement leaves a reference as it is.
func (s *Statement) Substitute(references []Reference, with func(ref Reference, text string) string) string {
	var out strings.Builder
	at := s.start
	for _, ref := range references {
		if text := with(ref, s.source.text[ref.start:ref.end]); text != "" {
			out.WriteString(s.source.text[at:ref.start])
			out.WriteString(text)
			at = ref.end
		}
	}
	out.WriteString(s.source.text[at:s.end])
	return out.String()
}

// references looks through a statement for @@ttl_… and for TiDB's tables.
func (r *reader) references() {
	w := &referenceWalk{reader: r, levels: make([]level, 1)}
	for r.at = 0; !r.done(); {
		w.step()
	}
	w.endColumn()
	if len(w.found) > 0 {
		r.st.Action = &ReadNames{References: w.found}
	}
}

// referenceWalk goes over the tokens of a statement once.
type referenceWalk struct {
	*reader
	levels []level
	found  []Reference
}

func (w *referenceWalk) step() {
	t := w.current()
	switch {
	case w.is(t, '('):
		w.levels = append(w.levels, level{})
	case w.is(t, ')'):
		w.closeLevel()
	case w.keyword(t, "SELECT"):
		*w.inner() = level{list: true, first: w.at + 1, ever: w.inner().ever}
	case w.inner().list && w.is(t, ','):
		w.endColumn()
		w.inner().first = w.at + 1
	case w.inner().list && w.inner().first == w.at && w.oneOf(t, selectOptions...):
		w.inner().first++
	case w.oneOf(t, behindColumns...):
		w.endColumn()
		w.inner().list = false
	case strings.HasPrefix(w.text[t.start:], "@@"):
		w.variable()
		return
	case w.named(t) && !w.is(w.behind(), '.'):
		w.table()
		return
	}

	w.at++
}

// behind is the token that was read last.
func (w *referenceWalk) behind() token {
	if w.at == 0 {
		return token{}
	}
	return w.tokens[w.at-1]
}

func (w *referenceWalk) variable() {
	start, before := w.current().start, w.behind()
	scope := w.atAt()
	name, ok := w.ident()
	if !ok || !OurVariable(name) {
		return
	}
	ref := Reference{
		Variable: strings.ToLower(name), Scope: scope, Item: w.item(before),
		start: start, end: w.behind().end,
	}
	w.found = append(w.found, ref)
	w.reads()
}

// item reports whether what was just read is, alone between before and the current token, a column
// of a result.
func (w *referenceWalk) item(before token) bool {
	if !w.inner().list {
		return false
	}
	if !w.is(before, ',') && !w.keyword(before, "SELECT") && !w.oneOf(before, selectOptions...) {
		return false
	}
	next := w.current()
	return w.done() || w.is(next, ',') || w.is(next, ')') || w.oneOf(next, behindColumns...)
}

// table reads [mysql.]table[.column].
func (w *referenceWalk) table() {
	start, before := w.current().start, w.behind()
	name, _ := w.ident()
	ref := Reference{Table: strings.ToLower(name), start: start, end: w.behind().end}
	if strings.EqualFold(name, "mysql") && w.is(w.current(), '.') && w.named(w.ahead(1)) {
		w.at++
		name, _ = w.ident()
		ref.Table, ref.Qualified, ref.end = strings.ToLower(name), true, w.behind().end
	}

	if !slices.Contains(TiDBTables(), ref.Table) {
		return
	}

	if w.is(w.current(), '.') {
		if ref.Prefix = ref.Qualified; !ref.Prefix {
			return // table.column means the alias, and stays
		}
	} else if !ref.Qualified && !w.is(before, ',') && !w.is(before, '(') &&
		!w.oneOf(before, "FROM", "JOIN", "STRAIGHT_JOIN") {
		return
	}

	ref.Aliased = w.aliased()
	w.found = append(w.found, ref)
	if !ref.Prefix { // a column is named after itself, whatever stands in front of it
		w.reads()
	}
}

// aliased reports whether another name follows.
func (w *referenceWalk) aliased() bool {
	next := w.current()
	return next.kind == quoted || next.kind == word && !w.oneOf(next, behindTable...)
}

// behindTable are the words that may follow a table which has no other name.
var behindTable = []string{
	"WHERE", "JOIN", "INNER", "LEFT", "RIGHT", "CROSS", "NATURAL", "STRAIGHT_JOIN", "ON", "USING", "GROUP", "ORDER",
	"HAVING",
	"LIMIT", "UNION", "EXCEPT", "INTERSECT", "MINUS", "FOR", "LOCK", "INTO", "WINDOW", "PROCEDURE", "FORCE", "USE",
	"IGNORE", "PARTITION", "FETCH", "OFFSET", "SET", "ROWS", "QUALIFY",
}
