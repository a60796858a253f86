package ddl

import (
	"strings"
	"testing"
)

func TestColumnsIn(t *testing.T) {
	t.Parallel()
	for expression, want := range map[string]string{
		"`a` + interval 1 day":                       "a: ? + interval 1 day",
		"(`half` + interval `days` day)":             "half days: (? + interval ? day)",
		"if(`a` is null,_utf8mb4\\'it\\\\'s\\',`A`)": "a A: if(? is null,_utf8mb4\\'it\\\\'s\\',?)",
		"coalesce(`o``clock`,`GRÖßE`,`c`)":           "o`clock GRÖßE: coalesce(?,?,`c`)",
		"if(`a` > '`b',`b`,`half`)":                  "a b half: if(? > '`b',?,?)",
		"_utf8mb4'2001-01-01'":                       ": _utf8mb4'2001-01-01'",
		"day(1)":                                     ": day(1)",
	} {
		names, rest := ColumnsIn(expression, []string{"a", "b", "half", "days", "o`clock", "größe"})
		if got := strings.Join(names, " ") + ": " + rest; got != want {
			t.Errorf("%s: got %s, want %s", expression, got, want)
		}
	}
}
