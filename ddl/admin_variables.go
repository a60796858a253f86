package ddl

import (
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

// MayName reports whether a filter might let a name through that begins with one of the prefixes. A
// condition is not understood here: it may unless it compares names and mentions neither a prefix
// nor a pattern.
func (f Filter) MayName(prefixes ...string) bool {
	if f.Like == "" && f.Where == "" {
		return true
	}

	if f.Where != "" {
		where := strings.ToLower(f.Where)
		mentions := func(s string) bool { return strings.Contains(where, s) }
		return !mentions("variable_name") || mentions("like") || mentions("regexp") ||
			slices.ContainsFunc(prefixes, mentions)
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

// Says reports whether a filter has a word in it, in lower case: whoever wrote it had such names in mind.
func (f Filter) Says(word string) bool {
	return strings.Contains(strings.ToLower(f.Like+f.Where), word)
}
