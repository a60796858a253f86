package ddl

import (
	"strings"
	"testing"
	"time"
)

// TestLongPacketsOfNothing: a packet of semicolons is read in one go. Where each of them looks at
// all that follow it takes as long as there are pairs of them.
func TestLongPacketsOfNothing(t *testing.T) {
	t.Parallel()
	if got := Parse("ALTER TABLE t TTL = a + INTERVAL 1 DAY"+strings.Repeat(";", 1<<20), Mode{}); len(got) != 1 {
		t.Errorf("got %d statements, want 1", len(got))
	}
	if got := Parse(strings.Repeat(";", 1<<20)+"x", Mode{}); len(got) != 1 || got[0].Action != nil {
		t.Errorf("got %d statements, want one that is refused", len(got))
	}
}

// TestLongStatements: none of these ways to nest and to repeat costs more than its length, whoever sends it.
func TestLongStatements(t *testing.T) {
	t.Parallel()
	const option = "TTL_ENABLE='ON' "
	for name, text := range map[string]string{
		"comments that are run":       option + strings.Repeat("/*!a=1*/", 20_000),
		"options in such":             strings.Repeat("/*!"+option+"*/", 2000),
		"options in skipped ones":     strings.Repeat("/*T!"+option+"*/", 2000),
		"options in one of them":      "/*T!" + strings.Repeat(option, 2000) + "*/",
		"options that the server has": strings.Repeat("ENGINE=x ", 20_000) + option,
		"comments in comments":        strings.Repeat("/*!a ", 200_000) + option + "*/",
		"the same, skipped":           strings.Repeat("/*T!a ", 200_000) + option + "*/",
		"parentheses":                 strings.Repeat("(", 500_000) + option,
		"lists of features":           strings.Repeat("/*T![*/", 20_000) + strings.Repeat(",", 140_000) + "]",
		"mistakes in comments":        strings.Repeat("/*T!TTL=*/", 40_000),
		"statements":                  strings.Repeat(";ALTER TABLE t REMOVE TTL/*!a*/", 10_000),
		"changes":                     ";ALTER TABLE t FORCE" + strings.Repeat(",REMOVE TTL", 40_000),
	} {
		for _, mode := range []Mode{{}, {MariaDB: true}} {
			took := busy(t, func() {
				for _, st := range Parse("CREATE TABLE t (c DATETIME) "+text, mode) {
					st.Forward()
				}
			})
			if took > 6*time.Second {
				t.Errorf("%s: %d bytes took %v", name, len(text), took)
			}
		}
	}
}
