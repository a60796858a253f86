package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/BurntSushi/toml"
)

// given holds the values found in one place, by name of the option.
type given map[string][]string

// load fills in the options: the command line takes precedence over the environment, and the
// environment over the file.
func load(table []option, flags given, getenv func(string) (string, bool)) (*options, error) {
	environment := given{}
	for _, o := range table {
		if s, ok := getenv(o.variable()); ok && s != "" && o.accepts(fromEnvironment) {
			environment[o.name] = []string{s}
		}
	}

	file := given{}
	path := first(flags["config"], environment["config"])
	if path != "" {
		var err error
		if file, err = readFile(path); err != nil {
			return nil, err
		}
	}

	values := defaults()
	for _, o := range table {
		var err error
		switch {
		case flags[o.name] != nil:
			err = set(o.bind(values), flags[o.name], "--"+o.name)
		case environment[o.name] != nil:
			err = set(o.bind(values), environment[o.name], o.variable())
		case file[o.name] != nil:
			err = set(o.bind(values), file[o.name], path+": "+o.name)
		}

		if err != nil {
			return nil, err
		}
	}

	return values, nil
}

func first(places ...[]string) string {
	for _, p := range places {
		if len(p) > 0 {
			return p[len(p)-1]
		}
	}
	return ""
}

// set assigns to a value what was found in one place. The entries of a list replace its default,
// they do not add to it.
func set(v value, texts []string, place string) error {
	if l, ok := v.(list); ok {
		*l.p = nil
	}
	for _, s := range texts {
		if err := v.Set(s); err != nil {
			return usagef("%s: %v", place, err)
		}
	}
	return nil
}

// collector is what package flag sets: it only keeps the text, for load to choose by precedence.
type collector struct {
	value
	name  string
	found given
}

func (c collector) String() string { return "" }

func (c collector) Set(s string) error {
	c.found[c.name] = append(c.found[c.name], s)
	return nil
}

// IsBoolFlag passes on whether the option takes no value.
func (c collector) IsBoolFlag() bool {
	_, ok := c.value.(flagOnly)
	return ok
}

// parseFlags reads a command line; flags may also follow arguments.
func parseFlags(table []option, args []string) (found given, rest []string, help bool, err error) {
	found = given{}
	flags := flag.NewFlagSet("", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.Usage = func() {}
	var names []string

	for _, o := range table {
		if o.accepts(fromFlag) {
			flags.Var(collector{o.bind(defaults()), o.name, found}, o.name, "")
			names = append(names, "--"+o.name)
		}
	}

	for {
		err := flags.Parse(args)
		if errors.Is(err, flag.ErrHelp) {
			return nil, nil, true, nil
		}
		if err != nil {
			return nil, nil, false, explain(err, names)
		}
		if flags.NArg() == 0 {
			return found, rest, false, nil
		}

		rest = append(rest, flags.Arg(0))
		args = flags.Args()[1:]
	}
}

// explain rewords package flag's errors in our spelling, with two dashes.
func explain(err error, names []string) error {
	s := err.Error()
	if _, name, ok := strings.Cut(s, "flag provided but not defined: -"); ok {
		return fmt.Errorf("there is no option --%s%s", name, suggest("--"+name, names))
	}
	if _, name, ok := strings.Cut(s, "flag needs an argument: -"); ok {
		return fmt.Errorf("--%s needs a value", name)
	}
	return err
}

// readFile reads a configuration file. Every key must be known to some command.
func readFile(path string) (given, error) {
	var keys map[string]any
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the configuration: %w", err)
	}
	if err := toml.Unmarshal(data, &keys); err != nil {
		return nil, usagef("%s: %v", path, err)
	}

	found := given{}
	for key, v := range keys {
		if err := knownKey(key); err != nil {
			return nil, usagef("%s: %v", path, err)
		}

		texts, err := texts(v)
		if err != nil {
			return nil, usagef("%s: %s: %v", path, key, err)
		}

		found[key] = texts
	}

	return found, nil
}

func knownKey(key string) error {
	var names []string
	for _, o := range table() {
		if o.name == key && o.accepts(fromFile) {
			return nil
		}
		if o.name == key {
			return fmt.Errorf("%s cannot be set in a file%s", key, instead(o))
		}
		names = append(names, o.name)
	}
	return fmt.Errorf("there is no key %q%s: `ttlproxy config` prints all of them", key, suggest(key, names))
}

// instead says how a secret is given.
func instead(o option) string {
	if o.accepts(fromFlag) {
		return ""
	}
	return fmt.Sprintf(": set %s-file to one that holds it, or %s in the environment", o.name, o.variable())
}

// texts turns a TOML value into the texts that would be given on a command line.
func texts(v any) ([]string, error) {
	switch v := v.(type) {
	case string:
		return []string{v}, nil
	case int64, bool:
		return []string{fmt.Sprint(v)}, nil
	case []any:
		var all []string
		for _, item := range v {
			s, ok := item.(string)
			if !ok {
				return nil, errors.New("an array must contain strings")
			}
			all = append(all, s)
		}

		return all, nil
	default:
		return nil, errors.New("must be a string, a whole number, true, false, or an array of strings")
	}
}
