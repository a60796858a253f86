package ddl

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestComparisons(t *testing.T) {
	t.Parallel()
	for where, want := range map[string][]Comparison{
		"Rows_deleted > 5":      {{"rows_deleted", ">", true, "5"}},
		" `State`='timed out' ": {{"state", "=", false, "timed out"}},
		"Runs!=1\nand\tJob_id<=7 AND State <> ''": {
			{"runs", "<>", true, "1"}, {"job_id", "<=", true, "7"}, {"state", "<>", false, ""},
		},
		"Runs = 1 AND (Runs = 1)":      nil,
		"Runs = 1 OR Runs = 2":         nil,
		"Runs = 1 || Runs = 2":         nil,
		"Runs = 1.0":                   nil,
		"Runs = -1":                    nil,
		"Runs = 0x1":                   nil,
		"Runs = 1000000000000000000":   nil,
		"Runs = 1 -- ":                 nil,
		"Runs = 1 /* */":               nil,
		"Runs = 1AND Runs = 1":         nil,
		"Runs = @n":                    nil,
		"NOT Runs = 1":                 nil,
		"Runs <=> 1":                   nil,
		"Runs = 1 COLLATE x":           nil,
		"State = 'failed' 'x'":         nil,
		"State = 'it\\'s'":             nil,
		"State = \"failed\"":           nil,
		"State = _latin1'failed'":      nil,
		"State = 'fäiled'":             nil,
		"ttl_history.State = 'failed'": nil,
		"1 < Runs":                     nil,
		"":                             nil,
	} {
		got, whole := Filter{Where: where}.Comparisons()
		if diff := cmp.Diff(want, got); diff != "" || whole != (want != nil) {
			t.Errorf("%s: %v %s", where, whole, diff)
		}
	}
}
