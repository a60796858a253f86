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
	if !s.oneOf(s.tokens[first], "CREATE", "ALTER") {
		return s.isBlock(first)
	}
	for n := first + 1; n < len(s.tokens) && !s.is(s.tokens[n], ';'); n++ {
		t := s.tokens[n]
		switch {
		case s.oneOf(t, "PROCEDURE", "FUNCTION"):
			return s.keyword(s.tokens[first], "CREATE") // ALTER changes what is said about them, not what they do
		case s.oneOf(t, "TRIGGER", "EVENT", "PACKAGE", "LIBRARY"):
			return true
		case s.oneOf(t, "TABLE", "INDEX", "VIEW", "DATABASE", "SCHEMA", "USER", "SEQUENCE", "SERVER", "ROLE"):
			return false
		case s.is(t, '(') && !s.oneOf(s.tokens[n-1], "CURRENT_USER", "CURRENT_ROLE"): // DEFINER=CURRENT_USER()
			return false
		}
	}
	return false
}

// isBlock reports whether a block of a stored program begins at first. MariaDB takes them outside a program, too; with sql_mode ORACLE
// also without NOT ATOMIC, with declarations in front and with labels. No other statement begins like one of these.
func (s *source) isBlock(first int) bool {
	t, next := s.tokens[first], token{}
	if first+1 < len(s.tokens) {
		next = s.tokens[first+1]
	}
	if s.keyword(t, "BEGIN") {
		return next.end > 0 && !next.hidden && !s.is(next, ';') && !s.keyword(next, "WORK")
	}
	return s.oneOf(t, "FOR", "IF", "WHILE", "LOOP", "REPEAT", "CASE", "DECLARE") || s.is(t, '<') || s.named(t) && s.is(next, ':')
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
