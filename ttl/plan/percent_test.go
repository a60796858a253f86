package plan

import "testing"

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
