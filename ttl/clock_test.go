package ttl

import (
	"testing"
	"time"
)

func TestClockWatch(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name       string
		start, now time.Duration // how far the database is ahead of us
		doubted    bool
	}{
		{"in step", 0, time.Second, false},
		{"drifting", 0, 50 * time.Second, false},
		{"always an hour ahead", time.Hour, time.Hour + time.Second, false},
		{"jumps forward", 0, 2 * time.Minute, true},
		{"jumps back", 0, -2 * time.Minute, true},
		{"was wrong, is put right", time.Hour, 0, false},
		{"an hour ahead, jumps further", time.Hour, 2 * time.Hour, true},
		{"years ahead from the start", 14 * 365 * 24 * time.Hour, 14 * 365 * 24 * time.Hour, true},
		{"years behind from the start", -14 * 365 * 24 * time.Hour, -14 * 365 * 24 * time.Hour, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var w clockWatch
			w.doubt(noon.Add(c.start), noon)
			if why := w.doubt(noon.Add(c.now), noon); (why != "") != c.doubted {
				t.Errorf("got %q, want doubt %v", why, c.doubted)
			}
		})
	}
}
