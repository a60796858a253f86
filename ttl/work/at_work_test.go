package work

import (
	"fmt"
	"testing"

	"github.com/ttlproxy/ttlproxy/catalog"
)

// TestStrays: a task is put back once it has been seen twice in the catalog while no worker had it as
// it was claimed there.
func TestStrays(t *testing.T) {
	a := newAtWork()
	look := func(want string, tasks ...catalog.Task) {
		t.Helper()
		got := ""
		for _, s := range a.strays(tasks) {
			got += fmt.Sprint(s.ID, "/", s.Fence, " ")
		}
		if got != want {
			t.Errorf("strays: got %q, want %q", got, want)
		}
	}

	one, two := catalog.Task{ID: 1, Fence: 5}, catalog.Task{ID: 2, Fence: 7}
	again := catalog.Task{ID: 1, Fence: 6}
	a.take(one)
	look("", one, two) // two may just have been claimed
	a.take(two)
	look("", one, two)
	a.drop(one)
	look("", one, two)
	look("1/5 ", one, two)

	a.take(again) // somebody has it again
	look("", again, two)
	a.drop(one) // and who had it before goes only now
	look("", again, two)
	look("", again, two)
	a.drop(again)
	look("", two)
	look("", again, two) // it has not been seen since
	look("1/6 ", again, two)
}
