package catalog

import "testing"

// TestRulesOfTwoColumns: a rule on another column is another rule, also if only servers tell them apart.
func TestRulesOfTwoColumns(t *testing.T) {
	t.Parallel()
	for column, want := range map[string]bool{"aɁ": true, "AɁ": true, "aɂ": false} {
		rule := Rule{Column: "aɁ", Literal: "1", Unit: "DAY"}
		other := rule
		other.Column = column
		if got := rule.Equal(other); got != want {
			t.Errorf("rules on %s and %s are equal: %v, want %v", rule.Column, column, got, want)
		}
	}
}
