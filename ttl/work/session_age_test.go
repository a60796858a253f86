package work

import (
	"testing"
	"time"
)

// A session that counts a side table is no older than its count: on another connection it would begin anew, and
// one that takes more than a minute would never end.
func TestSessionThatCountsStays(t *testing.T) {
	t.Parallel()
	s := &Session{born: time.Now().Add(-2 * ageLimit)}
	if !s.old() {
		t.Error("a session of two minutes goes on")
	}
	if s.kept = time.Now().Add(restsFor * time.Second); s.old() {
		t.Error("a session that counts is closed")
	}
	if s.kept = time.Now().Add(-time.Second); !s.old() {
		t.Error("a session whose count is over goes on")
	}
}
