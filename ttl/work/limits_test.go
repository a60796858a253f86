package work

import "testing"

// TestShareOfFewRows: nodes together delete no more than is allowed to all of them, however little that is.
func TestShareOfFewRows(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		all   int64
		nodes int
		want  float64
	}{{2, 5, 0.4}, {1000, 4, 250}, {0, 5, 0}, {-1, 5, 0}, {7, 0, 7}} {
		if got := (&Limits{Nodes: c.nodes}).Share(c.all); got != c.want {
			t.Errorf("of %d rows and %d nodes: got %v, want %v", c.all, c.nodes, got, c.want)
		}
	}
}
