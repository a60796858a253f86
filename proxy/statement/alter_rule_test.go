package statement

import (
	"testing"

	"github.com/ttlproxy/ttlproxy/ddl"
)

// TestColumnAfter: a TTL follows its own column to another name, and no column that only servers tell from it.
func TestColumnAfter(t *testing.T) {
	t.Parallel()
	l := &layout{columns: []ddl.Column{{Name: "aς"}, {Name: "aσ"}, {Name: "É"}}}
	for _, test := range []struct{ column, changed, want string }{
		{"aσ", "aσ", "new"},
		{"aσ", "Aσ", "new"},
		{"aσ", "aς", "aσ"},
		{"É", "é", "new"},
		{"gone", "GONE", "new"},
		{"", "", ""},
	} {
		specs := []ddl.Spec{{Change: ddl.RenameColumn, Column: test.changed, NewColumn: ddl.Column{Name: "new"}}}
		if got, _ := columnAfter(test.column, specs, l.same); got != test.want {
			t.Errorf("when %s is renamed, the TTL on %s is on %s, want %s", test.changed, test.column, got, test.want)
		}
	}
}
