package plan

import (
	"strings"
	"testing"

	"github.com/ttlproxy/ttlproxy/catalog/tables"
)

// TestBoundsAreValues: what the catalog has as the bound of a partition goes into a statement only if it
// is one, whatever somebody has written there.
func TestBoundsAreValues(t *testing.T) {
	t.Parallel()
	f := &tables.Facts{
		Layout: tables.Layout{
			Schema: "shop", Table: "visit", Columns: []tables.Column{{Name: "at", Kind: tables.Datetime}},
		},
		Partitions: []tables.Partition{
			{Name: "later", Method: "RANGE COLUMNS", Expression: "`at`,`id`", Below: "MAXVALUE,MAXVALUE"},
		},
	}
	for bound, fits := range map[string]bool{
		"'2021-01-01'":                         true,
		"'2021-01-01 10:00:00',-7":             true,
		"'2021-01-01',MAXVALUE":                true,
		"'2021-01-01','x'":                     true,
		"'2021-01-01')); DROP TABLE visit -- ": false,
		"'2021-01-01',(SELECT 1)":              false,
		"'2021-01-01' + INTERVAL 1 DAY":        false,
		"'2021-01-01','\\','), (x'":            false,
		"":                                     false,
	} {
		c, why := ComeBack(f, "at", "p1", bound)
		if fits != (why == "") || fits && !strings.Contains(c.Make, "VALUES LESS THAN ("+bound+")") || !fits && c.Make != "" {
			t.Errorf("%s: got %q, because %q", bound, c.Make, why)
		}
	}
}
