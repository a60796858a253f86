package ddl

import "strings"

// kind tells tokens apart as far as finding names and clauses needs it.
type kind uint8

const (
	symbol kind = iota // one byte of punctuation, or what is left of a comment that never ends
	word               // a keyword or a bare identifier
	quoted             // an identifier in back quotes, or in double quotes under ANSI_QUOTES
	text               // a string literal
	number             // a numeric literal
)

// token is a piece of a statement, by its place in it.
type token struct {
	kind       kind
	start, end int
	comment    int  // 1 + the index of the innermost executable comment around it, 0 outside
	hidden     bool // inside a comment that the server skips
	open       bool // a quote that nothing closes
}

// comment is an executable comment: one that the server, another server or TiDB looks into.
type comment struct {
	start, end int // from its slash to behind its last slash
	inside     int // 1 + the index of the one around it, 0 for none
	hidden     bool
}

// keyword reports whether the token is that bare word, in any letter case.
func (s *source) keyword(t token, name string) bool {
	return t.kind == word && t.end-t.start == len(name) && strings.EqualFold(s.text[t.start:t.end], name)
}

// oneOf reports whether the token is one of those bare words.
func (s *source) oneOf(t token, names ...string) bool {
	for _, name := range names {
		if s.keyword(t, name) {
			return true
		}
	}
	return false
}

// is reports whether the token is that punctuation.
func (s *source) is(t token, mark byte) bool {
	return t.kind == symbol && t.end > t.start && s.text[t.start] == mark
}

// spelling returns the token's bytes.
func (s *source) spelling(t token) string { return s.text[t.start:t.end] }
