package main

import (
	"slices"
	"strings"
)

// option is a row of the table in options.go.
type option struct {
	name  string               // of the flag and of the key in the file
	arg   string               // what its value is called in the help
	group string               // heading in the help and in the file
	on    []string             // the commands that take it
	bind  func(*options) value // where its value is kept
	text  string               // one or more sentences
	from  sources              // where it may come from; 0: anywhere
	once  bool                 // read when serve starts, and never again
}

// sources are the places a value can come from.
type sources int

const (
	fromFlag sources = 1 << iota
	fromEnvironment
	fromFile
)

func (o option) accepts(s sources) bool { return o.from == 0 || o.from&s != 0 }

// variable is the name of the option in the environment.
func (o option) variable() string {
	return "TTLPROXY_" + strings.ToUpper(strings.ReplaceAll(o.name, "-", "_"))
}

// fallback is the default value, as a person would write it.
func (o option) fallback() string { return o.bind(defaults()).String() }

// optionsOf returns the part of the table which a command takes.
func optionsOf(command string) []option {
	return slices.DeleteFunc(table(), func(o option) bool { return !slices.Contains(o.on, command) })
}
