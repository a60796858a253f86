package ddl

// Parse splits a packet at its semicolons and reads every statement. Empty statements are left out.
// The body of a stored program holds semicolons of its own, so what begins with one is left in one piece to its end.
func Parse(text string, mode Mode) []*Statement {
	src := lex(text, mode)
	var statements []*Statement
	for first := 0; first < len(src.tokens); {
		last := src.statementEnd(first)
		if last > first {
			statements = append(statements, src.statement(first, last))
		}
		first = last + 1
	}
	return statements
}

// statementEnd returns the index of the semicolon that ends the statement at first, or the number of tokens.
func (s *source) statementEnd(first int) int {
	if s.hasBody(first) {
		return len(s.tokens)
	}
	for n := first; n < len(s.tokens); n++ {
		if t := s.tokens[n]; s.is(t, ';') && !t.hidden {
			return n
		}
	}
	return len(s.tokens)
}

// hasBody reports whether the statement at first creates or changes a stored program, or is a block of one.
func (s *source) hasBody(first int) bool {
	if s.keyword(s.tokens[first], "BEGIN") {
		return first+2 < len(s.tokens) && s.keyword(s.tokens[first+1], "NOT") && s.keyword(s.tokens[first+2], "ATOMIC")
	}
	if s.oneOf(s.tokens[first], "FOR", "IF", "WHILE", "LOOP", "REPEAT", "CASE") {
		return true // MariaDB takes them outside a program, too
	}
	if !s.oneOf(s.tokens[first], "CREATE", "ALTER") {
		return false
	}
	for n := first + 1; n < len(s.tokens) && !s.is(s.tokens[n], ';'); n++ {
		t := s.tokens[n]
		if s.oneOf(t, "PROCEDURE", "FUNCTION", "TRIGGER", "EVENT", "PACKAGE") {
			return true
		}
		if s.oneOf(t, "TABLE", "INDEX", "VIEW", "DATABASE", "SCHEMA", "USER", "SEQUENCE", "SERVER", "ROLE") || s.is(t, '(') {
			return false
		}
	}
	return false
}

// statement reads the tokens from first up to last as one statement.
func (s *source) statement(first, last int) *Statement {
	st := &Statement{source: s, start: s.tokens[first].start, end: s.tokens[last-1].end}
	if c := s.tokens[first].comment; c > 0 && !s.tokens[first].hidden {
		st.start = s.comments[c-1].start
	}
	if c := s.tokens[last-1].comment; c > 0 {
		st.end = s.comments[c-1].end
	}
	r := &reader{source: s, all: s.tokens[first:last], st: st}
	for _, t := range r.all {
		if !t.hidden {
			r.tokens = append(r.tokens, t)
		}
	}
	r.read()
	if st.Err != nil {
		st.cuts = nil
	}
	return st
}
