package ddl

// source is a text cut into tokens. It knows where strings and comments end exactly as the server
// does.
type source struct {
	text     string
	mode     Mode
	tokens   []token
	comments []comment
	meaning  int // the place behind which there are only semicolons and blanks

	searched, ends int // from where on a comment's end was looked for, and where it is
}

// lex cuts a whole packet into tokens. It never fails: an unfinished string or comment reaches to
// the end.
func lex(text string, mode Mode) *source {
	s := &source{text: text, mode: mode, tokens: make([]token, 0, len(text)/5+8)}
	s.meaning = len(text)
	for s.meaning > 0 && s.separates(s.text[s.meaning-1]) {
		s.meaning--
	}
	s.scan(0, len(text), 0, false)
	return s
}

// separates reports whether a byte is a semicolon or a blank.
func (s *source) separates(c byte) bool {
	return c == ';' || isBlank(c) || c >= 0x80 && s.mode.blank(c)
}

// scan reads tokens from i up to limit, all of them inside the given executable comment (0 for
// none). It returns the place behind the */ that ended the comment, or limit if nothing did.
func (s *source) scan(i, limit, inside int, hidden bool) (end int, closed bool) {
	for i < limit {
		c := s.text[i]
		switch {
		case s.mode.blank(c):
			i++
		case c == '#':
			i = s.line(i, limit)
		case c == '-' && s.dashes(i, limit):
			i = s.line(i, limit)
		case c == '/' && i+1 < limit && s.text[i+1] == '*':
			end, ran := s.comment(i, limit, inside, hidden)
			if i = end; ran && inside > 0 {
				// the server does not count depth: the end of a comment that it runs also ends the
				// one around it
				return i, true
			}
		case c == '*' && inside > 0 && i+1 < limit && s.text[i+1] == '/':
			return i + 2, true
		default:
			within := limit
			if hidden { // the server has found its end without looking for strings
				within -= len("*/")
			}
			t := s.token(i, within)
			t.comment, t.hidden = inside, hidden
			s.tokens = append(s.tokens, t)
			i = t.end
		}
	}
	return i, false
}

// dashes reports whether "--" at i begins a comment: only before a blank, a control character or
// the end.
func (s *source) dashes(i, limit int) bool {
	return i+1 < limit && s.text[i+1] == '-' && (i+2 >= limit || s.mode.blank(s.text[i+2]))
}

// line returns the place behind the line that holds i.
func (s *source) line(i, limit int) int {
	for i < limit && s.text[i] != '\n' {
		i++
	}
	return i
}

// token reads one token at i, which is neither blank nor a comment.
func (s *source) token(i, limit int) token {
	switch c := s.text[i]; {
	case c == '`', c == '"' && s.mode.ANSIQuotes:
		end, closed := s.closing(i, limit, false)
		return token{kind: quoted, start: i, end: end, open: !closed}
	case c == '"', c == '\'':
		end, closed := s.closing(i, limit, !s.mode.NoBackslashEscapes)
		return token{kind: text, start: i, end: end, open: !closed}
	case s.afterDot(i) && s.identifies(i):
		return token{kind: word, start: i, end: s.identifier(i, limit)}
	case isDigit(c) || c == '.' && i+1 < limit && isDigit(s.text[i+1]) && !s.afterName(i):
		return s.number(i, limit)
	case s.identifies(i):
		return token{kind: word, start: i, end: s.identifier(i, limit)}
	}
	return token{kind: symbol, start: i, end: i + 1}
}

// afterDot reports whether the token at i follows a dot directly, so that it is a name even if it
// looks like a number.
func (s *source) afterDot(i int) bool {
	n := len(s.tokens)
	return n >= 2 && s.is(s.tokens[n-1], '.') && s.tokens[n-1].end == i && s.named(s.tokens[n-2])
}

// afterName reports whether the dot at i follows a name directly, as in t.1a.
func (s *source) afterName(i int) bool {
	n := len(s.tokens)
	return n >= 1 && s.tokens[n-1].end == i && s.named(s.tokens[n-1])
}

func (s *source) named(t token) bool { return t.kind == word || t.kind == quoted }

// closing returns the place after the quote that ends what begins at i, or limit if nothing does. A
// doubled quote does not end it.
func (s *source) closing(i, limit int, escapes bool) (end int, closed bool) {
	quote := s.text[i]
	for i++; i < limit; {
		switch c := s.text[i]; {
		case c == quote && i+1 < limit && s.text[i+1] == quote:
			i += 2
		case c == quote:
			return i + 1, true
		case c == '\\' && escapes:
			i += 2
		default:
			i += s.mode.wide(s.text, i)
		}
	}

	return limit, false
}

// identifies reports whether the byte at i may stand in a bare identifier.
func (s *source) identifies(i int) bool {
	return isNameByte(s.text[i]) && !s.mode.blank(s.text[i])
}

func isNameByte(c byte) bool {
	return c >= 0x80 || c == '_' || c == '$' || isDigit(c) || isLetter(c)
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

func (s *source) identifier(i, limit int) int {
	for i < limit && s.identifies(i) {
		i += s.mode.wide(s.text, i)
	}
	return min(i, limit)
}

// number reads digits with a fraction and an exponent, or a 0x or 0b literal. Digits that run on
// into letters are a name, as in CREATE TABLE 1a.
func (s *source) number(i, limit int) token {
	end := i
	for end < limit && isDigit(s.text[end]) {
		end++
	}

	if end < limit && end > i && s.identifies(end) && !s.exponent(end, limit) {
		name := s.identifier(i, limit)
		kind := word
		if marked := s.text[i:name]; len(marked) > 2 && marked[0] == '0' && (marked[1] == 'x' || marked[1] == 'b') {
			kind = number
		}
		return token{kind: kind, start: i, end: name}
	}

	if end < limit && s.text[end] == '.' {
		for end++; end < limit && isDigit(s.text[end]); {
			end++
		}
	}

	if s.exponent(end, limit) {
		for end += 2; end < limit && isDigit(s.text[end]); {
			end++
		}
	}

	return token{kind: number, start: i, end: end}
}

// exponent reports whether an exponent begins at i: an e, perhaps a sign, and a digit.
func (s *source) exponent(i, limit int) bool {
	if i+1 >= limit || s.text[i]|0x20 != 'e' {
		return false
	}
	if next := s.text[i+1]; next == '+' || next == '-' {
		return i+2 < limit && isDigit(s.text[i+2])
	}
	return isDigit(s.text[i+1])
}
