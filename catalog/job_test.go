package catalog

import "testing"

func TestJobStateMoves(t *testing.T) {
	t.Parallel()
	for _, from := range append(OpenJobStates(), EndJobStates()...) {
		for _, to := range append(OpenJobStates(), EndJobStates()...) {
			want := from.Open() && from != to && (to != JobFinished || from == JobRunning)
			if got := from.Can(to); got != want {
				t.Errorf("%q to %q: got %v, want %v", from, to, got, want)
			}
		}
	}
}
