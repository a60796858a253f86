package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"
)

// world is what surrounds the program, so that tests can replace it.
type world struct {
	stdin          *os.File
	stdout, stderr io.Writer
	getenv         func(string) (string, bool)
}

// command is one word behind ttlproxy.
type command struct {
	name    string
	args    string // what may follow the flags, for the help
	summary string // one line for the list of commands
	text    string // what --help says above the flags
	run     func(ctx context.Context, w world, o *options, args []string) error
}

// run finds the command, reads its options and runs it.
func run(ctx context.Context, args []string, w world) error {
	if len(args) == 0 {
		printOverview(w.stderr)
		return usagef("no command: `ttlproxy serve` is the usual one, `ttlproxy demo` shows what it does")
	}

	name := args[0]
	switch {
	case slices.Contains([]string{"help", "-h", "-help", "--help"}, name) && len(args) > 1:
		args = []string{args[1], "--help"}
		name = args[0]
	case slices.Contains([]string{"help", "-h", "-help", "--help"}, name):
		printOverview(w.stdout)
		return nil
	case name == "-v" || name == "--version" || name == "-version":
		name = "version"
	}

	c := find(name)
	if c == nil {
		return usagef("there is no command %q%s: `ttlproxy help` lists them", name, suggest(name, commandNames()))
	}

	table := optionsOf(c.name)
	flags, rest, help, err := parseFlags(table, args[1:])
	if err != nil {
		return usagef("%s: %v; `ttlproxy %s --help` lists the options", c.name, err, c.name)
	}
	if help {
		printHelp(w.stdout, c, table)
		return nil
	}
	if len(rest) > 0 && c.args == "" {
		return usagef("%s takes no argument %q; options begin with --", c.name, strings.Join(rest, " "))
	}

	again := func() (*options, error) { return load(table, flags, w.getenv) }
	o, err := again()
	if err != nil {
		return err
	}

	o.again = again
	return withAdvice(c.run(ctx, w, o, rest))
}

// withAdvice adds what to do about the most common failure at start.
func withAdvice(err error) error {
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("%w: another program is there; choose another address with --listen for clients, or "+
			"--status for the page", err)
	}
	return err
}

func find(name string) *command {
	for _, c := range commands() {
		if c.name == name {
			return &c
		}
	}
	return nil
}

func commandNames() []string {
	var names []string
	for _, c := range commands() {
		names = append(names, c.name)
	}
	return names
}

// suggest returns a hint at the known name that a wrong one may have been meant as.
func suggest(wrong string, known []string) string {
	best, least := "", 3 // more than two letters wrong is another word
	for _, name := range known {
		if d := distance(wrong, name); d < least {
			best, least = name, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(" (did you mean %s?)", best)
}

// distance counts the letters to insert, delete or replace to get from a to b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}

	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replace := diagonal
			if a[i] != b[j] {
				replace++
			}
			diagonal = row[j+1]
			row[j+1] = min(replace, diagonal+1, row[j]+1)
		}
	}

	return row[len(b)]
}
