package proxy

import "bytes"

// redact writes a statement with a question mark in place of every value, without comments, in one
// line of at most limit bytes. It lets people recognize a statement; it is not for a server. If it
// cannot be sure where a value ends, it stops.
func redact(sql []byte, noBackslash bool, limit int) string {
	r := redactor{in: sql, noBackslash: noBackslash, out: make([]byte, 0, min(len(sql), limit)+4)}
	for len(r.in) > 0 && len(r.out) < limit {
		r.step()
	}
	out := bytes.TrimSpace(r.out)
	if len(r.in) > 0 || len(out) > limit {
		out = append(out[:min(len(out), limit)], "…"...)
	}
	return string(bytes.ToValidUTF8(out, []byte("?")))
}

type redactor struct {
	in, out     []byte
	noBackslash bool
	word        bool // the last byte written belongs to a word
}

// step processes one token.
func (r *redactor) step() {
	b := r.in
	switch c := b[0]; {
	case c == '\'' || c == '"':
		r.quoted(c)
	case c == '`':
		r.identifier()
	case isSpace(c):
		r.skip(1)
	case c == '#', c == '-' && len(b) > 2 && b[1] == '-' && isSpace(b[2]):
		r.skipPast("\n")
	case bytes.HasPrefix(b, []byte("/*!")), bytes.HasPrefix(b, []byte("/*M!")):
		// Its body is run: only the marker and the version are left out.
		n := bytes.IndexByte(b, '!') + 1
		for n < len(b) && isDigit(b[n]) {
			n++
		}
		r.skip(n)
	case bytes.HasPrefix(b, []byte("*/")):
		r.skip(2)
	case bytes.HasPrefix(b, []byte("/*")):
		r.skipPast("*/")
	case isDigit(c) && !r.word, c == '.' && len(b) > 1 && isDigit(b[1]) && !r.word:
		r.number()
	default:
		r.out, r.in, r.word = append(r.out, c), b[1:], isWord(c)
	}
}

// skip replaces bytes by one blank.
func (r *redactor) skip(n int) {
	r.in, r.word = r.in[n:], false
	if len(r.out) > 0 && r.out[len(r.out)-1] != ' ' {
		r.out = append(r.out, ' ')
	}
}

func (r *redactor) skipPast(end string) {
	if i := bytes.Index(r.in, []byte(end)); i >= 0 {
		r.skip(i + len(end))
	} else {
		r.skip(len(r.in))
	}
}

func (r *redactor) value(n int) {
	r.out, r.in, r.word = append(r.out, '?'), r.in[n:], true
}

// quoted processes a text. In character sets such as gbk a backslash after a byte over 127 may be
// half of a letter: then it is unknown where the text ends, and the rest is left out.
func (r *redactor) quoted(quote byte) {
	b := r.in
	for i := 1; i < len(b); i++ {
		switch {
		case b[i] == '\\' && !r.noBackslash && b[i-1] >= 0x80:
			r.value(len(b))
			r.out = append(r.out, "…"...)
			return
		case b[i] == '\\' && !r.noBackslash:
			i++
		case b[i] == quote && i+1 < len(b) && b[i+1] == quote:
			i++
		case b[i] == quote:
			r.value(i + 1)
			return
		}
	}

	r.value(len(b))
}

// identifier copies a name in backticks.
func (r *redactor) identifier() {
	end := bytes.IndexByte(r.in[1:], '`')
	if end < 0 {
		r.in = nil
		return
	}
	r.out, r.in, r.word = append(r.out, r.in[:end+2]...), r.in[end+2:], true
}

// number processes a number, in all its forms, with whatever directly follows it.
func (r *redactor) number() {
	n := 1
	for n < len(r.in) && (isWord(r.in[n]) || r.in[n] == '.' ||
		(r.in[n] == '+' || r.in[n] == '-') && (r.in[n-1] == 'e' || r.in[n-1] == 'E')) {
		n++
	}
	r.value(n)
}

func isSpace(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isWord(c byte) bool {
	return isDigit(c) || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c == '$' || c >= 0x80
}
