package main

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// legible is for output that people read: the names that others gave to tables, columns and
// accounts may contain terminal escape sequences, or marks that reverse a line's direction. These
// are escaped as in Go, and lines stay lines.
type legible struct{ io.Writer }

func (l legible) Write(b []byte) (int, error) {
	if _, err := io.WriteString(l.Writer, visible(string(b))); err != nil {
		return 0, err
	}
	return len(b), nil
}

// onTerminal is legible if out is a terminal. What goes into a file will be run some day, to the
// letter.
func onTerminal(out io.Writer) io.Writer {
	if screenOf(out) == (screen{}) {
		return out
	}
	return legible{out}
}

// visible escapes what would be invisible, or obeyed.
func visible(text string) string {
	var b strings.Builder
	for len(text) > 0 {
		r, n := utf8.DecodeRuneInString(text)
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, text[0])
		case r == '\n' || unicode.IsPrint(r):
			b.WriteString(text[:n])
		case r < utf8.RuneSelf:
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}

		text = text[n:]
	}

	return b.String()
}
