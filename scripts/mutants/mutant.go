package main

import (
	"fmt"
	"regexp"
	"strings"
)

// mutant is one guard that is taken away.
type mutant struct {
	name     string
	file     string
	old, new string
	pkg      string
	tests    []string
}

// parse reads a list of mutants; see the head of mutants.txt.
func parse(list string) ([]mutant, error) {
	var all []mutant
	for n, paragraph := range strings.Split(list, "\n\n") {
		m, err := parseOne(paragraph)
		if err != nil {
			return nil, fmt.Errorf("mutants.txt, paragraph %d: %w", n+1, err)
		}
		if m.name != "" {
			all = append(all, m)
		}
	}
	return all, nil
}

// parseOne reads one mutant. A paragraph of comments is not a mutant, and has no name.
func parseOne(paragraph string) (m mutant, err error) {
	var before, after []string
	for line := range strings.Lines(paragraph) {
		line = strings.TrimSuffix(line, "\n")
		key, value, _ := strings.Cut(line, ": ")
		switch {
		case line == "", line[0] == '#':
		case line[0] == '-':
			before = append(before, line[1:])
		case line[0] == '+':
			after = append(after, line[1:])
		case key == "name":
			m.name = value
		case key == "file":
			m.file = value
		case key == "test":
			words := strings.Fields(value)
			m.pkg, m.tests = words[0], words[1:]
		default:
			return m, fmt.Errorf("%q is no part of a mutant", line)
		}
	}

	m.old, m.new = strings.Join(before, "\n"), strings.Join(after, "\n")
	if m.name != "" && (m.file == "" || m.old == "" || len(m.tests) == 0) {
		return m, fmt.Errorf("%s: a file, a line that goes, or a test is missing", m.name)
	}

	return m, nil
}

// apply returns the text of the file without the guard, which must be there exactly once.
func (m mutant) apply(text string) (string, bool) {
	found := m.guard().FindAllStringIndex(text, 2)
	if len(found) != 1 {
		return text, false
	}
	return text[:found[0][0]] + m.new + text[found[0][1]:], true
}

// guard finds the lines however they are broken, and a string also where it is cut in two.
func (m mutant) guard() *regexp.Regexp {
	words := blanks.Split(strings.TrimSpace(m.old), -1)
	for i, word := range words {
		words[i] = regexp.QuoteMeta(word)
	}
	return regexp.MustCompile(strings.Join(words, `\s+(?:"\s*\+\s*")?`))
}

var blanks = regexp.MustCompile(`\s+`)
