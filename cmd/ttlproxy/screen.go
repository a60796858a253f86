package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// screen is the size of a terminal. The zero value is no terminal, on which everything fits.
type screen struct{ columns, lines int }

// screenOf asks a terminal for its size, which may change at any time.
func screenOf(out io.Writer) screen {
	f, ok := out.(*os.File)
	if !ok {
		return screen{}
	}
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return screen{}
	}
	return screen{int(size.Col), int(size.Row)}
}

// clip cuts a picture to what fits: a line that wraps, or one too many, would push the first ones
// out of sight.
func (s screen) clip(picture string) string {
	lines := strings.Split(strings.TrimSuffix(picture, "\n"), "\n")
	if room := s.lines - 1; s.lines > 0 && len(lines) > room { // the cursor stands in the last one
		more := len(lines) - max(room-1, 0)
		lines = append(lines[:len(lines)-more], fmt.Sprintf("… %d more lines", more))
	}
	for i := range lines {
		lines[i] = fit(lines[i], s.columns)
	}
	return strings.Join(lines, "\n") + "\n"
}

// fit cuts a text to so many columns, if there is a bound.
func fit(text string, columns int) string {
	if r := []rune(text); columns > 0 && len(r) > columns {
		return string(r[:columns-1]) + "…"
	}
	return text
}
