package ddl

import "strings"

// Scope is where a variable is set or read.
type Scope string

// The scopes. A bare name in SET means the session, a bare @@name the session or else the global
// value.
const (
	ScopeNone    Scope = ""
	ScopeGlobal  Scope = "GLOBAL"
	ScopeSession Scope = "SESSION"
)

// SetVariables is a SET with at least one of our variables.
type SetVariables struct {
	Ours []Assignment
	// Rest is the statement without ours; empty when nothing is left for the server.
	Rest string
}

// Assignment is one variable and its new value.
type Assignment struct {
	Scope Scope
	Name  string // in lower case
	Value string // as written
	// Word is set when Value is a single bare word such as ON or DEFAULT, which stands for itself. TRUE, FALSE
	// and NULL are values.
	Word bool
}

func (*SetVariables) action() {}

// OurVariable reports whether a system variable with that name can only be ours.
func OurVariable(name string) bool {
	name = strings.ToLower(name)
	return strings.HasPrefix(name, "ttl_") || strings.HasPrefix(name, "tidb_ttl_")
}

// scoped is a scope and the word that it was written with.
type scoped struct {
	scope Scope
	word  string
}

// set reads what follows SET. A scope word holds for what comes after it until the next one, so it
// is written out again in front of what stays for the server.
func (r *reader) set() {
	start := r.at
	a := &SetVariables{}
	var rest []string
	var in scoped

	for first := true; first || r.takeMark(','); first = false {
		v, text, ok := r.assignment(&in)
		switch {
		case !ok:
			r.at = start
			r.references()
			return
		case OurVariable(v.Name):
			a.Ours = append(a.Ours, v)
		default:
			rest = append(rest, text)
		}
	}

	if len(a.Ours) == 0 {
		r.at = start
		r.references()
		return
	}

	if len(rest) > 0 {
		a.Rest = "SET " + strings.Join(rest, ", ")
	}

	r.st.Action = a
}

// assignment reads [scope] name = value or @@[scope.]name = value, and returns it with its text for
// the server.
func (r *reader) assignment(in *scoped) (v Assignment, text string, ok bool) {
	if s, ok := r.scopeWord(); ok {
		*in = s
	}

	start := r.current().start
	if r.charsets() {
		return v, r.text[start:r.tokens[r.at-1].end], true
	}

	v.Scope = in.scope
	prefix, system := in.word, true
	if r.is(r.current(), '@') { // a user variable, or one that says its scope itself
		prefix, system = "", r.is(r.ahead(1), '@')
		v.Scope = r.atAt()
	}

	for !r.done() && !r.is(r.current(), '=') && !r.is(r.current(), ',') {
		if system && v.Name == "" && r.named(r.current()) {
			v.Name = strings.ToLower(r.identValue(r.current()))
		}
		r.skip()
	}

	if !r.takeMark('=') {
		return v, "", false
	}

	v.Value, v.Word = r.value()
	if v.Value == "" {
		return v, "", false
	}

	text = r.text[start:r.tokens[r.at-1].end]
	if prefix != "" {
		text = prefix + " " + text
	}

	return v, text, true
}

// value reads up to the next comma outside parentheses.
func (r *reader) value() (value string, bare bool) {
	from := r.at
	for !r.done() && !r.is(r.current(), ',') {
		r.skip()
	}
	if r.at == from {
		return "", false
	}
	first, last := r.tokens[from], r.tokens[r.at-1]
	bare = r.at == from+1 && first.kind == word && !r.oneOf(first, "TRUE", "FALSE", "NULL")
	return r.text[first.start:last.end], bare
}

// scopeWord reads GLOBAL, SESSION, LOCAL or PERSIST: our settings are persistent anyway.
func (r *reader) scopeWord() (scoped, bool) {
	if !r.named(r.ahead(1)) && !r.is(r.ahead(1), '@') {
		return scoped{}, false // a variable with such a name
	}
	spelled := r.spelling(r.current())
	switch {
	case r.take("GLOBAL"), r.take("PERSIST"), r.take("PERSIST_ONLY"):
		return scoped{ScopeGlobal, spelled}, true
	case r.take("SESSION"), r.take("LOCAL"):
		return scoped{ScopeSession, spelled}, true
	}
	return scoped{}, false
}

// charsets reads NAMES …, CHARSET … and CHARACTER SET …, which may stand among assignments.
func (r *reader) charsets() bool {
	if !r.take("NAMES") && !r.take("CHARSET") && !r.take("CHARACTER", "SET") {
		return false
	}
	for !r.done() && !r.is(r.current(), ',') {
		r.skip()
	}
	return true
}

// atAt reads @@ and a scope with its dot, or the @ of a user variable.
func (r *reader) atAt() Scope {
	r.at++
	if !r.takeMark('@') || !r.is(r.ahead(1), '.') {
		return ScopeNone
	}

	var scope Scope
	switch {
	case r.take("GLOBAL"), r.take("PERSIST"), r.take("PERSIST_ONLY"):
		scope = ScopeGlobal
	case r.take("SESSION"), r.take("LOCAL"):
		scope = ScopeSession
	default:
		return ScopeNone // @@component.variable
	}

	r.takeMark('.')
	return scope
}
