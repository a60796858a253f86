package plan

import (
	"strings"
	"testing"
)

func TestPercentForPeople(t *testing.T) {
	t.Parallel()
	for share, want := range map[float64]string{
		1: "100 %", 0.999: "99 %", 0.996: "99 %", 0.62: "62 %", 0.1: "10 %", 0.0999: "9.9 %", 0.0123: "1.2 %",
		0.009: "0.90 %", 0.0001: "0.01 %", 0.00001: "less than 0.01 %", 0: "0 %",
	} {
		if got := percent(share); got != want {
			t.Errorf("%v: got %s, want %s", share, got, want)
		}
	}
}

// TestNearlyAllIsNotAll: who is asked for approval, and who asks what would be deleted, is told 100 % of nothing less.
func TestNearlyAllIsNotAll(t *testing.T) {
	t.Parallel()
	e := Estimate{Rows: 1000, Expired: 999, Exact: true, DueExact: true}
	if got := e.Against(nil); !strings.HasPrefix(got, "999 of 1000 rows (99 %) are due") {
		t.Errorf("got %s", got)
	}
	if got := (&Preview{Percent: 100 * e.Share()}).DueShare(); got != "99 %" {
		t.Errorf("got %s", got)
	}
}
