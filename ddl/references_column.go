package ddl

// level is what is known within an open parenthesis, or outside of all.
type level struct {
	list  bool // the columns of a result are being listed there
	first int  // the token with which the present one begins
	reads bool // it reads something of ours
	ever  bool // one of the columns does
}

var (
	// selectOptions are the words between SELECT and its columns.
	selectOptions = []string{
		"DISTINCT", "DISTINCTROW", "ALL", "HIGH_PRIORITY", "STRAIGHT_JOIN", "SQL_SMALL_RESULT", "SQL_BIG_RESULT",
		"SQL_BUFFER_RESULT", "SQL_CACHE", "SQL_NO_CACHE", "SQL_CALC_FOUND_ROWS",
	}
	// behindColumns are the reserved words that end a list of columns.
	behindColumns = []string{
		"FROM", "INTO", "WHERE", "GROUP", "HAVING", "WINDOW", "ORDER", "LIMIT", "OFFSET", "FETCH", "UNION", "EXCEPT",
		"INTERSECT", "PROCEDURE", "FOR", "LOCK", "ON", "RETURNING",
	}
)

// mostAlias is how long the name of a column may be that is only read and kept nowhere: in characters, of which there
// are as many as bytes at most.
const mostAlias = 256

// inner is the innermost level.
func (w *referenceWalk) inner() *level { return &w.levels[len(w.levels)-1] }

// closeLevel ends a level: what is read in parentheses is read by what is around them.
func (w *referenceWalk) closeLevel() {
	w.endColumn()
	last := len(w.levels) - 1
	if last == 0 {
		return
	}
	ever := w.levels[last].ever
	w.levels = w.levels[:last]
	if ever {
		w.reads()
	}
}

// reads notes that something of ours is read here.
func (w *referenceWalk) reads() { w.inner().reads, w.inner().ever = true, true }

// endColumn remembers the text of a column that ends here, if it reads something of ours and certainly has no other
// name. One that is nothing but a variable is named where that is replaced.
func (w *referenceWalk) endColumn() {
	l := w.inner()
	reads := l.reads
	l.reads = false
	if !l.list || !reads || l.first >= w.at || !w.unnamed(l.first) {
		return
	}

	start, end := w.tokens[l.first].start, w.behind().end
	if last := w.found[len(w.found)-1]; last.Item && last.start == start {
		return
	}
	most := mostName
	if w.keyword(w.tokens[0], "SELECT") {
		most = mostAlias
	}
	if end-start <= most {
		w.found = append(w.found, Reference{Column: w.text[start:end], start: end, end: end})
	}
}

// unnamed reports whether a column that ends here, and begins with that token, certainly has no name of its own: its
// last token is none, or stands behind an operator.
func (w *referenceWalk) unnamed(first int) bool {
	last := w.behind()
	switch {
	case last.kind == number, w.is(last, ')'):
		return true
	case last.kind == symbol, w.at-2 < first:
		return false
	}
	before := w.tokens[w.at-2]
	return before.kind == symbol && !w.is(before, ')')
}
