package ddl

import (
	"regexp"
	"strings"
)

// Comparison is a column compared with a number or a text.
type Comparison struct {
	Column   string // in lower case
	Operator string // = <> < <= > >=
	Number   bool   // Value is one, in decimal digits; otherwise a text
	Value    string
}

// comparison is one and what follows: AND or nothing. It has what means the same in every SQL mode
// and character set, and fits what every server takes for a number.
var comparison = regexp.MustCompile(`^\s*(?:([A-Za-z_]+)|` + "`([A-Za-z_]+)`" +
	`)\s*(=|<>|!=|<=|<|>=|>)\s*(?:(\d{1,18})|'([A-Za-z0-9_ -]*)')(?:\s+[Aa][Nn][Dd]\s+|\s*$)`)

// Comparisons are what a condition consists of, joined by AND. They are false for one that has
// anything else in it: that is for the server to read.
func (f Filter) Comparisons() (all []Comparison, whole bool) {
	rest := f.Where
	for rest != "" {
		m := comparison.FindStringSubmatchIndex(rest)
		if m == nil {
			return nil, false
		}

		part := func(n int) string {
			if m[2*n] < 0 {
				return ""
			}
			return rest[m[2*n]:m[2*n+1]]
		}

		operator := part(3)
		if operator == "!=" {
			operator = "<>"
		}

		all = append(all, Comparison{
			Column: strings.ToLower(part(1) + part(2)), Operator: operator, Number: m[8] >= 0,
			Value: part(4) + part(5),
		})

		rest = rest[m[1]:]
	}

	return all, len(all) > 0
}
