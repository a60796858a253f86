package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// printOverview lists the commands.
func printOverview(w io.Writer) {
	fmt.Fprint(w,
		"ttlproxy gives tables of MySQL and MariaDB a time to live: it takes TTL = created_at + INTERVAL 30 DAY\n"+
			"out of CREATE and ALTER TABLE, and deletes the rows that have expired.\n\nUsage: ttlproxy COMMAND "+
			"[OPTIONS]\n\nCommands:\n")
	for _, c := range commands() {
		fmt.Fprintf(w, "  %-10s %s\n", c.name, c.summary)
	}
	fmt.Fprint(w, "\n`ttlproxy COMMAND --help` lists the options of a command.\n")
}

// printHelp explains one command.
func printHelp(w io.Writer, c *command, table []option) {
	fmt.Fprintf(w, "Usage: ttlproxy %s [OPTIONS]%s\n\n%s\n", c.name, spaced(c.args), wrap(c.text, "", 78))
	for _, group := range groups(table) {
		fmt.Fprintf(w, "\n%s:\n", group)
		for _, o := range table {
			if o.group == group {
				printOption(w, o)
			}
		}
	}
	if len(table) > 0 {
		fmt.Fprintf(w, "\n%s\n", wrap(everywhere, "", 78))
	}
}

const everywhere = "Each option can also be set in the environment, as TTLPROXY_ and its name in capitals " +
	"(TTLPROXY_LOG_LEVEL), and most in the file named by --config. The command line takes precedence over the " +
	"environment, and the environment over the file."

func printOption(w io.Writer, o option) {
	head := "--" + o.name + spaced(o.arg)
	if !o.accepts(fromFlag) {
		head = o.variable()
	}
	text := o.text
	if d := o.fallback(); d != "" && o.arg != "" {
		text += " Default: " + d + "."
	}
	fmt.Fprintf(w, "  %s\n%s\n", head, wrap(text, "      ", 78))
}

func spaced(s string) string {
	if s == "" {
		return ""
	}
	return " " + s
}

// groups returns the headings of a table in the order they first appear.
func groups(table []option) []string {
	var names []string
	for _, o := range table {
		if !slices.Contains(names, o.group) {
			names = append(names, o.group)
		}
	}
	return names
}

// wrap breaks a text into lines of at most width bytes, each with an indent.
func wrap(text, indent string, width int) string {
	var lines []string
	line := indent
	for word := range strings.FieldsSeq(text) {
		if len(line)+1+len(word) > width && line != indent {
			lines = append(lines, line)
			line = indent
		}
		if line != indent {
			line += " "
		}

		line += word
	}

	return strings.Join(append(lines, line), "\n")
}
