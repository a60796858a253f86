package main

import (
	"io"
	"log/slog"
	"os"

	"golang.org/x/sys/unix"
)

// newLogger writes text for people and JSON for machines. The formats and levels have been checked
// by the table.
func newLogger(w io.Writer, format string, least slog.Leveler) *slog.Logger {
	settings := &slog.HandlerOptions{Level: least}
	if format == "text" || format == "auto" && isTerminal(w) {
		return slog.New(slog.NewTextHandler(w, settings))
	}
	return slog.New(slog.NewJSONHandler(w, settings))
}

// levelOf is a level of the log by its name.
func levelOf(name string) slog.Level {
	var l slog.Level
	_ = l.UnmarshalText([]byte(name))
	return l
}

// isTerminal asks for the size, which nothing but a terminal has: /dev/null is a character device,
// too.
func isTerminal(w any) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	_, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	return err == nil
}
