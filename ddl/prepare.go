package ddl

import "strings"

// Prepare is PREPARE name FROM 'text'. Its text is read like a statement of its own. A text in a user variable is
// not looked at, and the server refuses a TTL in it.
type Prepare struct {
	Name  string
	Inner *Statement // nil when it does not concern us
}

// Execute is EXECUTE name.
type Execute struct{ Name string }

// Immediate is MariaDB's EXECUTE IMMEDIATE 'text'.
type Immediate struct{ Inner *Statement }

func (*Prepare) action()   {}
func (*Execute) action()   {}
func (*Immediate) action() {}

// prepare reads what follows PREPARE.
func (r *reader) prepare() {
	name, ok := r.ident()
	if !ok || !r.take("FROM") {
		return
	}
	r.st.Action = &Prepare{Name: strings.ToLower(name), Inner: r.inner()}
}

// execute reads what follows EXECUTE.
func (r *reader) execute() {
	if r.take("IMMEDIATE") {
		if inner := r.inner(); inner != nil {
			r.st.Action = &Immediate{Inner: inner}
		}
		return
	}
	if name, ok := r.ident(); ok {
		r.st.Action = &Execute{Name: strings.ToLower(name)}
	}
}

// inner reads the statement inside a string literal. When something is cut from it, the literal is replaced.
func (r *reader) inner() *Statement {
	if r.current().kind != text {
		return nil
	}
	first := r.current()
	var sql strings.Builder
	for r.current().kind == text {
		sql.WriteString(r.unquote(r.spelling(r.current())))
		r.at++
	}
	statements := Parse(sql.String(), r.mode)
	if len(statements) != 1 || statements[0].Action == nil {
		return nil
	}
	inner := statements[0]
	if inner.Err != nil {
		r.reject(inner.Err)
	}
	if inner.Changed() {
		r.st.cuts = append(r.st.cuts, cut{first.start, r.tokens[r.at-1].end, r.mode.quote(inner.Forward())})
	}
	return inner
}

// quote writes a string literal in the client's character set.
func (m Mode) quote(value string) string {
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
