package ddl

import "strings"

// reader walks over the tokens of one statement. A method that takes something reports whether it
// was there, and otherwise does not move.
type reader struct {
	*source
	st     *Statement
	tokens []token // what the server sees
	all    []token // these and the hidden ones
	at     int     // index into tokens
}

// read finds out what the statement is. One that is not recognised keeps a nil Action.
func (r *reader) read() {
	if r.take("SET", "STATEMENT") && !r.skipTo("FOR") {
		return
	}
	switch {
	case r.take("CREATE"):
		r.create()
	case r.take("ALTER"):
		r.alter()
	case r.take("RENAME", "TABLE"), r.take("RENAME", "TABLES"):
		r.rename()
	case r.take("TRUNCATE"):
		r.truncate()
	case r.take("OPTIMIZE"):
		r.maintain("OPTIMIZE")
	case r.take("REPAIR"):
		r.maintain("REPAIR")
	case r.take("PREPARE"):
		r.prepare()
	case r.take("EXECUTE"):
		r.execute()
	case r.take("DEALLOCATE", "PREPARE"), r.take("DROP", "PREPARE"):
		r.deallocate()
	case r.take("DROP"):
		r.drop()
	case r.take("SHOW"):
		r.show()
	case r.take("EXPLAIN"), r.take("DESCRIBE"), r.take("DESC"):
		r.explain()
	case r.peek(0, "RUN"), r.peek(0, "CANCEL"), r.peek(0, "PAUSE"), r.peek(0, "RESUME"), r.peek(0, "APPROVE"),
		r.peek(0, "RESTORE"), r.peek(0, "TRUST"):
		r.admin()
	case r.take("SET"):
		r.set()
	default:
		r.references()
	}
}

// skipTo moves behind the next token that is the word, outside parentheses.
func (r *reader) skipTo(name string) bool {
	for !r.done() {
		if r.take(name) {
			return true
		}
		r.skip()
	}
	return false
}

// done reports whether all tokens have been read.
func (r *reader) done() bool { return r.at >= len(r.tokens) }

// current returns the token to be read next; behind the last it is an empty symbol at the
// statement's end.
func (r *reader) current() token { return r.ahead(0) }

func (r *reader) ahead(n int) token {
	if r.at+n < len(r.tokens) {
		return r.tokens[r.at+n]
	}
	return token{start: r.st.end, end: r.st.end}
}

// peek reports whether the tokens from n ahead on are these bare words.
func (r *reader) peek(n int, names ...string) bool {
	for k, name := range names {
		if !r.keyword(r.ahead(n+k), name) {
			return false
		}
	}
	return true
}

// take reads these bare words.
func (r *reader) take(names ...string) bool {
	if !r.peek(0, names...) {
		return false
	}
	r.at += len(names)
	return true
}

// takeMark reads one byte of punctuation.
func (r *reader) takeMark(mark byte) bool {
	if !r.is(r.current(), mark) {
		return false
	}
	r.at++
	return true
}

// skip moves over one token, or over everything in a pair of parentheses. One that begins in a comment that the server
// skips ends with that.
func (r *reader) skip() {
	first := r.current()
	if !r.is(first, '(') {
		r.at = min(r.at+1, len(r.tokens))
		return
	}
	for depth := 0; !r.done(); {
		switch t := r.current(); {
		case first.hidden && t.comment != first.comment:
			return
		case r.is(t, '('):
			depth++
		case r.is(t, ')'):
			depth--
		}

		r.at++
		if depth == 0 {
			return
		}
	}
}

// ident reads an identifier.
func (r *reader) ident() (string, bool) {
	t := r.current()
	if !r.named(t) {
		return "", false
	}
	r.at++
	return r.identValue(t), true
}

// identValue returns an identifier without its quotes, in UTF-8.
func (r *reader) identValue(t token) string {
	spelling := r.spelling(t)
	if t.kind == quoted && len(spelling) >= 2 {
		quote := spelling[:1]
		spelling = strings.ReplaceAll(spelling[1:len(spelling)-1], quote+quote, quote)
	}
	return r.decode(spelling)
}

// decode turns a name or a text of the statement into UTF-8, and remembers how it was spelled.
func (r *reader) decode(spelling string) string {
	if !Plain(spelling, r.mode.Charset) {
		r.st.spellings = append(r.st.spellings, spelling)
	}
	return Decode(spelling, r.mode.Charset)
}

// name reads a table name, with or without its schema.
func (r *reader) name() (Name, bool) {
	if r.is(r.current(), '.') && r.named(r.ahead(1)) { // MySQL reads .t as t
		r.at++
	}

	table, ok := r.ident()
	if !ok {
		return Name{}, false
	}

	name := Name{Table: table}
	if r.is(r.current(), '.') && r.named(r.ahead(1)) {
		r.at++
		name.Schema = name.Table
		name.Table, _ = r.ident()
	}

	return name, true
}

// names reads a list of table names.
func (r *reader) names() []Name {
	var list []Name
	for {
		name, ok := r.name()
		if !ok {
			return nil
		}
		list = append(list, name)
		if !r.takeMark(',') {
			return list
		}
	}
}

// stringValue reads a string literal, with or without a character set introducer.
func (r *reader) stringValue() (string, bool) {
	at := r.at
	if t := r.current(); t.kind == word && (r.spelling(t)[0] == '_' || r.keyword(t, "N")) && r.ahead(1).kind == text {
		r.at++
	}
	if r.current().kind != text {
		r.at = at
		return "", false
	}

	var value strings.Builder
	for r.current().kind == text { // adjacent literals are one
		if r.current().open {
			r.at = at
			return "", false
		}
		value.WriteString(r.unquote(r.spelling(r.current())))
		r.at++
	}

	return r.decode(value.String()), true
}

// unquote returns the value of a string literal, still in the client's character set.
func (r *reader) unquote(literal string) string {
	if len(literal) < 2 || literal[len(literal)-1] != literal[0] {
		return strings.TrimLeft(literal, `'"`)
	}

	quote := literal[0]
	body := literal[1 : len(literal)-1]
	var value strings.Builder
	for i := 0; i < len(body); {
		switch c := body[i]; {
		case c == quote:
			value.WriteByte(c)
			i += 2
		case c == '\\' && !r.mode.NoBackslashEscapes && i+1 < len(body):
			unescape(&value, body[i+1])
			i += 2
		default:
			n := min(r.mode.wide(body, i), len(body)-i)
			value.WriteString(body[i : i+n])
			i += n
		}
	}

	return value.String()
}

// unescape writes what a backslash and c stand for.
func unescape(value *strings.Builder, c byte) {
	switch c {
	case '0':
		c = 0
	case 'b':
		c = '\b'
	case 'n':
		c = '\n'
	case 'r':
		c = '\r'
	case 't':
		c = '\t'
	case 'Z':
		c = 0x1A
	case '%', '_': // for LIKE they keep their backslash
		value.WriteByte('\\')
	}
	value.WriteByte(c)
}

// columnList reads a list of columns in parentheses, without lengths and directions.
func (r *reader) columnList() []string {
	if !r.takeMark('(') {
		return nil
	}

	var columns []string
	for !r.done() {
		if column, ok := r.ident(); ok {
			columns = append(columns, column)
		}

		for !r.done() && !r.is(r.current(), ',') && !r.is(r.current(), ')') {
			r.skip()
		}

		if !r.takeMark(',') {
			r.takeMark(')')
			break
		}
	}

	return columns
}

// waits reads MariaDB's WAIT n and NOWAIT.
func (r *reader) waits() {
	if r.take("NOWAIT") {
		return
	}
	if r.peek(0, "WAIT") && r.ahead(1).kind == number {
		r.at += 2
	}
}

// refuse records a syntax error at a place. It is not worded when there is an error already: that takes as long as the
// text before it.
func (r *reader) refuse(at int, hint string) {
	if r.st.Err == nil {
		r.reject(syntaxError(r.text, at, hint))
	}
}

// reject records the error of the statement. The first one stands.
func (r *reader) reject(e *Error) {
	if r.st.Err == nil {
		r.st.Err = e
	}
}
