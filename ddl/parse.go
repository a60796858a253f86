package ddl

// Parse splits a packet at its semicolons and reads every statement. Empty ones at the end are left
// out. The body of a stored program has semicolons of its own, so from the beginning of one the
// packet is left in one piece. The same goes for everything from the place on where the server
// refuses the packet: its error is the last answer.
func Parse(text string, mode Mode) []*Statement {
	src := lex(text, mode)
	var statements []*Statement
	for first := 0; first < len(src.tokens); {
		last := src.statementEnd(first)
		if src.refused(first, last) {
			return append(statements, &Statement{source: src, start: src.start(first), end: len(text), next: len(text)})
		}
		if src.visible(first) < last {
			statements = append(statements, src.statement(first, last))
		}

		first = last + 1
	}

	return statements
}

// refused reports whether the server executes nothing from the statement at first on: if the
// semicolon behind it is in a comment whose body is run, or if it is empty and something follows.
func (s *source) refused(first, last int) bool {
	if last == len(s.tokens) {
		return false
	}
	semicolon := s.tokens[last]
	return semicolon.comment > 0 || s.visible(first) == last && semicolon.end < s.meaning
}

// visible returns the index of the first token from n on that the server sees, or the number of
// tokens.
func (s *source) visible(n int) int {
	for n < len(s.tokens) && s.tokens[n].hidden {
		n++
	}
	return n
}

// statementEnd returns the index of the semicolon that ends the statement at first, or the number
// of tokens.
func (s *source) statementEnd(first int) int {
	if s.hasBody(s.visible(first)) {
		return len(s.tokens)
	}
	for n := first; n < len(s.tokens); n++ {
		if t := s.tokens[n]; s.is(t, ';') && !t.hidden {
			return n
		}
	}
	return len(s.tokens)
}

// hasBody reports whether the statement at first creates or changes a stored program, or is a block
// of one.
func (s *source) hasBody(first int) bool {
	if first == len(s.tokens) {
		return false
	}
	if !s.oneOf(s.tokens[first], "CREATE", "ALTER") {
		return s.isBlock(first)
	}

	before := s.tokens[first]
	for n := s.visible(first + 1); n < len(s.tokens) && !s.is(s.tokens[n], ';'); n = s.visible(n + 1) {
		t := s.tokens[n]
		switch {
		case s.oneOf(t, "PROCEDURE", "FUNCTION"):
			return s.keyword(s.tokens[first], "CREATE") // ALTER changes their properties, not what they do
		case s.oneOf(t, "TRIGGER", "EVENT", "PACKAGE", "LIBRARY"):
			return true
		case s.oneOf(t, "TABLE", "INDEX", "VIEW", "DATABASE", "SCHEMA", "USER", "SEQUENCE", "SERVER", "ROLE"):
			return false
		case s.is(t, '(') && !s.oneOf(before, "CURRENT_USER", "CURRENT_ROLE"): // DEFINER=CURRENT_USER()
			return false
		}

		before = t
	}

	return false
}

// isBlock reports whether a block of a stored program begins at first. MariaDB takes them outside a
// program, too; with sql_mode ORACLE also without NOT ATOMIC, with declarations in front and with
// labels. No other statement begins like one of these.
func (s *source) isBlock(first int) bool {
	t, next := s.tokens[first], token{}
	if n := s.visible(first + 1); n < len(s.tokens) {
		next = s.tokens[n]
	}
	if s.keyword(t, "BEGIN") {
		return next.end > 0 && !s.is(next, ';') && !s.keyword(next, "WORK")
	}
	return s.oneOf(t, "FOR", "IF", "WHILE", "LOOP", "REPEAT", "CASE", "DECLARE") || s.is(t, '<') ||
		s.named(t) && s.is(next, ':')
}

// statement reads the tokens from first up to last as one statement.
func (s *source) statement(first, last int) *Statement {
	st := &Statement{source: s, start: s.start(first), end: s.end(last - 1), next: len(s.text)}
	if last < len(s.tokens) {
		st.next = s.tokens[last].end
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

// start returns the place of the token at n, or of the outermost comment around it: what is in a
// comment stays there.
func (s *source) start(n int) int {
	if c := s.outermost(s.tokens[n]); c != nil {
		return c.start
	}
	return s.tokens[n].start
}

// end does the same for the place behind a token.
func (s *source) end(n int) int {
	if c := s.outermost(s.tokens[n]); c != nil {
		return c.end
	}
	return s.tokens[n].end
}

// outermost returns the executable comment around a token that is in no other, or nil.
func (s *source) outermost(t token) *comment {
	return s.around(t, func(*comment) bool { return true })
}

// outermostHidden returns the comment around a hidden token that is in no other that the server skips.
func (s *source) outermostHidden(t token) *comment {
	return s.around(t, func(c *comment) bool { return c.hidden })
}

// around returns the last of the comments around a token, from the inside, that count.
func (s *source) around(t token, counts func(*comment) bool) (last *comment) {
	for at := t.comment; at > 0 && counts(&s.comments[at-1]); at = last.inside {
		last = &s.comments[at-1]
	}
	return last
}
