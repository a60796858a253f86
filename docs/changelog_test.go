package docs

import (
	"os"
	"strings"
	"testing"
)

// TestChangelogSaysNothingTwice: two changes to one paragraph that meet in a merge leave both of them
// behind, without a conflict.
func TestChangelogSaysNothingTwice(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	begins := map[string]int{} // the words that a line begins with, but for those of a list
	for i, line := range lines {
		const most, enough = 120, 40
		if len([]rune(line)) > most {
			t.Errorf("line %d has more than %d characters", i+1, most)
		}
		words := strings.TrimLeft(line, "- ")
		if len(words) < enough {
			continue
		}
		if before := begins[words[:enough]]; before != 0 {
			t.Errorf("lines %d and %d begin in the same way: %s", before, i+1, words)
		}
		begins[words[:enough]] = i + 1
	}
}
