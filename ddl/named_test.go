package ddl

import "testing"

func TestSameName(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		a, b string
		want bool
	}{
		{"", "", true},
		{"id", "ID", true},
		{"Zé", "zé", true},
		{"id", "ids", false},
		{"é", "É", false},
		{"s", "ſ", false},
		{"k", "\u212a", false},
		{"[", "{", false},
		{"@", "`", false},
	} {
		if got := SameName(test.a, test.b); got != test.want {
			t.Errorf("%q and %q are the same: %v, want %v", test.a, test.b, got, test.want)
		}
	}
}

// TestIndexNamed finds columns as servers do, and none where it cannot know which one a server means.
func TestIndexNamed(t *testing.T) {
	t.Parallel()
	columns := []string{"id", "aɁ", "aɂ", "Created", "É"}
	for name, want := range map[string]int{
		"id": 0, "ID": 0, "aɁ": 1, "aɂ": 2, "AɁ": -1, "Aɂ": -1, "created": 3, "é": 4, "e": -1, "": -1,
	} {
		if got := IndexNamed(columns, func(c string) string { return c }, name); got != want {
			t.Errorf("%q is column %d of %q, want %d", name, got, columns, want)
		}
	}
}
