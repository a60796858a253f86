package ddl

import "strings"

// Prepare is PREPARE name FROM text.
type Prepare struct {
	Name string
	Dynamic
}

// Execute is EXECUTE name.
type Execute struct {
	Name string

	start, end int // of the name
}

// ExecuteAs puts another name in place of that of an EXECUTE.
func (s *Statement) ExecuteAs(e *Execute, name string) { s.Replace(e.start, e.end, Quote(name)) }

// Deallocate is DEALLOCATE PREPARE name.
type Deallocate struct{ Name string }

// Immediate is MariaDB's EXECUTE IMMEDIATE text.
type Immediate struct{ Dynamic }

// Dynamic is a statement inside a statement. It is read as if it stood alone.
type Dynamic struct {
	Inner *Statement // nil when it does not concern us, or is not known yet
	// Expression computes the text: a user variable, or on MariaDB an expression that changes
	// nothing. It is empty when the text is a literal, or computed in a way that must not happen
	// twice. Ask the session for its value and pass that to Resolve.
	Expression string

	start, end int // of the literal or the expression
}

func (*Prepare) action()    {}
func (*Execute) action()    {}
func (*Deallocate) action() {}
func (*Immediate) action()  {}

// prepare reads what follows PREPARE.
func (r *reader) prepare() {
	name, ok := r.ident()
	if !ok || !r.take("FROM") {
		return
	}
	r.st.Action = &Prepare{Name: strings.ToLower(name), Dynamic: r.dynamic()}
}

// execute reads what follows EXECUTE.
func (r *reader) execute() {
	if r.take("IMMEDIATE") {
		if d := r.dynamic(); d.Inner != nil || d.Expression != "" {
			r.st.Action = &Immediate{d}
		}
		return
	}
	t := r.current()
	if name, ok := r.ident(); ok {
		r.st.Action = &Execute{Name: strings.ToLower(name), start: t.start, end: t.end}
	}
}

// deallocate reads the name of a statement to be forgotten.
func (r *reader) deallocate() {
	if name, ok := r.ident(); ok {
		r.st.Action = &Deallocate{Name: strings.ToLower(name)}
	}
}

// dynamic reads the text of a statement up to USING or the end. When something is cut from a
// literal, it is replaced.
func (r *reader) dynamic() Dynamic {
	d := Dynamic{start: r.current().start}
	var literal strings.Builder
	from := r.at
	for r.current().kind == text {
		literal.WriteString(r.unquote(r.spelling(r.current())))
		r.at++
	}

	constant := r.at > from && (r.done() || r.peek(0, "USING"))
	for !r.done() && !r.peek(0, "USING") {
		r.skip()
	}

	if r.at == from {
		return d
	}

	d.end = r.tokens[r.at-1].end
	if !constant {
		if r.harmless(from, r.at) {
			d.Expression = r.text[d.start:d.end]
		}
		return d
	}

	d.Inner = r.st.dynamic(d, literal.String(), r.mode)
	return d
}

// harmlessMarks put texts and variables together, or compare them.
const harmlessMarks = "@.,|()=<>!+-*/%"

// harmless reports whether evaluating an expression has no side effects, so that it may be done
// once more than the client asks for: it only puts texts and variables together. A function could
// do anything, and some built-in ones do.
func (r *reader) harmless(from, to int) bool {
	for n := from; n < to; n++ {
		switch t := r.tokens[n]; t.kind {
		case symbol:
			if mark := r.spelling(t); len(mark) != 1 || !strings.Contains(harmlessMarks, mark) {
				return false
			}
		case word:
			variable := n > from && (r.is(r.tokens[n-1], '@') || r.is(r.tokens[n-1], '.'))
			called := n+1 < to && r.is(r.tokens[n+1], '(')
			if called && (variable || !r.oneOf(t, textFunctions...)) || !called && !variable && !r.literalWord(t) {
				return false
			}
		case quoted:
			if n+1 < to && r.is(r.tokens[n+1], '(') {
				return false
			}
		case text, number:
		}
	}
	return true
}

// textFunctions put texts together and do nothing else.
var textFunctions = []string{
	"CONCAT", "CONCAT_WS", "REPLACE", "QUOTE", "IF", "IFNULL", "NULLIF", "COALESCE", "LOWER", "UPPER", "TRIM", "LTRIM",
	"RTRIM",
	"LEFT", "RIGHT", "LPAD", "RPAD", "REPEAT", "SUBSTR", "SUBSTRING", "CHAR", "HEX", "UNHEX", "DATABASE", "SCHEMA",
	"NOW", "CURDATE", "DATE_FORMAT",
}

// literalWord reports whether a word is a literal, or names the character set of one.
func (r *reader) literalWord(t token) bool {
	return r.text[t.start] == '_' || r.oneOf(t, "NULL", "TRUE", "FALSE", "N", "X")
}

// Resolve reads the text that the expression of a PREPARE or EXECUTE IMMEDIATE stands for, in
// UTF-8. It returns nil if that does not concern us. If something is cut from it, Forward puts the
// rest in place of the expression.
func (s *Statement) Resolve(d Dynamic, text string) *Statement {
	mode := s.source.mode
	return s.dynamic(d, Encode(text, mode.Charset), mode)
}

func (s *Statement) dynamic(d Dynamic, text string, mode Mode) *Statement {
	statements := Parse(text, mode)
	if len(statements) != 1 || statements[0].Action == nil && statements[0].Err == nil {
		return nil
	}
	inner := statements[0]
	if inner.Err != nil && s.Err == nil {
		s.Err = inner.Err
	}
	if inner.Changed() {
		s.Replace(d.start, d.end, mode.Literal(inner.Forward()))
	}
	return inner
}

// Literal writes a text in the client's character set as a string literal.
func (m Mode) Literal(value string) string {
	var b strings.Builder
	b.WriteByte('\'')

	for i := 0; i < len(value); {
		n := m.wide(value, i)
		switch {
		case n > 1:
			b.WriteString(value[i : i+n])
		case value[i] == '\'':
			b.WriteString("''")
		case value[i] == '\\' && !m.NoBackslashEscapes:
			b.WriteString(`\\`)
		default:
			b.WriteByte(value[i])
		}

		i += n
	}

	b.WriteByte('\'')
	return b.String()
}
