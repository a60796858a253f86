package main

import (
	"fmt"
	"io"
	"strings"
)

// writeReference writes docs/reference/options.md. `make docs` runs these, and a test compares.
func writeReference(w io.Writer) error {
	var b strings.Builder
	b.WriteString("<!-- Generated from cmd/ttlproxy/options.go by `make docs`. -->\n\n# Options\n\n" +
		"What can be set when the program starts. Each option is a flag, an environment variable and a key of the " +
		"TOML file that\n" +
		"`--config` names (`ttlproxy config` prints an example). The command line takes precedence over the " +
		"environment, and the environment over the file.\n" +
		"A key that does not exist is an error.\n\n## Commands\n\n| command | |\n|---|---|\n")
	for _, c := range commands() {
		fmt.Fprintf(&b, "| `ttlproxy %s` | %s |\n", c.name, c.summary)
	}

	b.WriteString("\nThe exit status is 2 for wrong usage and 1 for any other failure.\n")
	rows := table()
	for _, group := range groups(rows) {
		fmt.Fprintf(&b, "\n## %s\n\n| option | default | commands | |\n|---|---|---|---|\n", group)
		for _, o := range rows {
			if o.group == group {
				fmt.Fprintf(&b, "| %s | %s | %s | %s |\n",
					names(o), code(o.fallback()), strings.Join(o.on, ", "), cell(o.text)+o.lasting())
			}
		}
	}

	_, err := io.WriteString(w, b.String())
	return err
}

// names are the spellings of an option, one below the other.
func names(o option) string {
	var all []string
	if o.accepts(fromFlag) {
		all = append(all, code("--"+o.name+spaced(strings.ReplaceAll(o.arg, "|", "\\|"))))
	}
	if o.accepts(fromEnvironment) {
		all = append(all, code(o.variable()))
	}
	if o.accepts(fromFile) {
		all = append(all, "file: "+code(o.name))
	}
	return strings.Join(all, "<br>")
}

// lasting says that a change needs a restart.
func (o option) lasting() string {
	if !o.once {
		return ""
	}
	return " Takes effect after a restart."
}

func code(s string) string {
	if s == "" {
		return ""
	}
	return "`" + s + "`"
}

func cell(s string) string { return strings.ReplaceAll(s, "|", "\\|") }

// writeConfigReference writes docs/reference/config.md.
func writeConfigReference(w io.Writer) error {
	var example strings.Builder
	if err := writeExample(&example); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w,
		"<!-- Generated from cmd/ttlproxy/options.go by `make docs`. -->\n\n# Configuration file\n\n"+
			"TOML, read by `ttlproxy COMMAND --config=FILE`. One file serves all commands. A key that does not "+
			"exist is an error, and so is a\n"+
			"secret in it: passwords come from files of their own. `serve` looks at the file every two seconds, "+
			"and on SIGHUP, and adopts\n"+
			"what it finds, except for the keys that take effect only after a restart: it names those in its log "+
			"and counts them in\n"+
			"`ttlproxy_config_restart_required`. Flags and environment variables take precedence; "+
			"[options.md](options.md) has them all.\n\n"+
			"`ttlproxy config` prints what follows.\n\n```toml\n%s```\n", example.String())
	return err
}
