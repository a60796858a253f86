package ddl

import (
	"regexp"
	"slices"
	"strings"
)

// ShowVariables is SHOW [GLOBAL | SESSION] VARIABLES, to which our settings are added.
type ShowVariables struct{ Filter Filter }

// ShowWarnings is SHOW WARNINGS, or SHOW ERRORS.
type ShowWarnings struct{ Errors bool }

func (*ShowVariables) action() {}
func (*ShowWarnings) action()  {}

// showVariables reads what follows SHOW, if that is VARIABLES.
func (r *reader) showVariables() bool {
	at := r.at
	if !r.take("GLOBAL") && !r.take("SESSION") {
		r.take("LOCAL")
	}
	if !r.take("VARIABLES") {
		r.at = at
		return false
	}

	a := &ShowVariables{Filter: r.filter()}
	if r.done() {
		r.st.Action = a
	}

	return true
}

// showWarnings reads WARNINGS or ERRORS behind SHOW.
func (r *reader) showWarnings() bool {
	a := &ShowWarnings{Errors: r.peek(0, "ERRORS")}
	if !r.take("WARNINGS") && !r.take("ERRORS") {
		return false
	}
	if r.done() {
		r.st.Action = a
	}
	return true
}

// MayName reports whether a filter might let a name through that begins with one of the prefixes. A condition may,
// unless all of it is read here: a function could make any name of anything.
func (f Filter) MayName(prefixes ...string) bool {
	if f.Like == "" && f.Where == "" {
		return true
	}

	if f.Where != "" {
		other := func(name string) bool {
			name = strings.ToLower(name)
			return !slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(name, p) })
		}
		return !f.comparesName(other) && !f.listsNames(other)
	}

	pattern := strings.ToLower(strings.Trim(f.Like, `'"`))
	fixed := pattern[:max(0, strings.IndexAny(pattern+"%", `%_\\`))]
	for _, p := range prefixes {
		if strings.HasPrefix(p, fixed) || strings.HasPrefix(fixed, p) {
			return true
		}
	}

	return false
}

// comparesName reports whether a condition consists of comparisons, all of which must hold, one of them with such a
// name.
func (f Filter) comparesName(such func(name string) bool) bool {
	all, whole := f.Comparisons()
	return whole && slices.ContainsFunc(all, func(c Comparison) bool {
		return c.Column == "variable_name" && c.Operator == "=" && !c.Number && such(c.Value)
	})
}

// plainName is a text that means the same in every SQL mode and character set.
const plainName = `'[A-Za-z0-9_ -]*'`

var (
	plainNames = regexp.MustCompile(plainName)
	// listed says which names there may be, and what follows: AND, OR or nothing.
	listed = regexp.MustCompile("(?i)^\\s*(?:variable_name\\b|`variable_name`)\\s*(?:=\\s*" + plainName +
		`|IN\s*\(\s*` + plainName + `(?:\s*,\s*` + plainName + `)*\s*\))(?:\s+(?:AND|OR)\s+|\s*$)`)
)

// listsNames reports whether a condition does nothing but list names, which are such: with = and IN, joined by AND and
// OR, as many drivers ask.
func (f Filter) listsNames(such func(name string) bool) bool {
	for rest := f.Where; rest != ""; {
		one := listed.FindString(rest)
		if one == "" {
			return false
		}
		for _, name := range plainNames.FindAllString(one, -1) {
			if !such(strings.Trim(name, "'")) {
				return false
			}
		}
		rest = rest[len(one):]
	}
	return true
}

// Says reports whether a filter has a word in it, in lower case: whoever wrote it had such names in mind.
func (f Filter) Says(word string) bool {
	return strings.Contains(strings.ToLower(f.Like+f.Where), word)
}
