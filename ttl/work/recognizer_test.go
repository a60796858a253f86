package work

import (
	"errors"
	"testing"
	"time"

	"github.com/ttlproxy/ttlproxy/ttl/ttltest"
)

// TestSettle: a table is left alone until its second is over, and one from the future until a
// person has looked.
func TestSettle(t *testing.T) {
	t.Parallel()
	began := time.Now()
	if err := settle(t.Context(), ttltest.Noon.Add(900*time.Millisecond), ttltest.Noon); err != nil ||
		time.Since(began) < 200*time.Millisecond {
		t.Errorf("got %v after %v for a table of this second", err, time.Since(began))
	}
	if err := settle(t.Context(), ttltest.Noon.Add(settleTime), ttltest.Noon); err != nil {
		t.Error("a table of the second before:", err)
	}
	var doubt *doubtError
	if err := settle(t.Context(), ttltest.Noon.Add(-time.Hour), ttltest.Noon); !errors.As(err, &doubt) {
		t.Errorf("got %v for a table that was created an hour from now, want a doubt", err)
	}
}
