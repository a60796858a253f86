package main

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// legible is where people read: what others have named tables, columns and accounts may hold orders
// to a terminal, or marks that turn a line around. They are written as Go writes them, and lines
// stay lines.
type legible struct{ io.Writer }

func (l legible) Write(b []byte) (int, error) {
	if _, err := io.WriteString(l.Writer, visible(string(b))); err != nil {
		return 0, err
	}
	return len(b), nil
}

// onTerminal is legible where out is a terminal. What goes into a file is to be run some day, to
// the letter.
func onTerminal(out io.Writer) io.Writer {
	if screenOf(out) == (screen{}) {
		return out
	}
	return legible{out}
}

// visible writes out what could not be seen, or would be obeyed.
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
