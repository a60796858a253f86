package ttl

import (
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
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

// TestDoubtedClockStartsNothing: while the database's clock cannot be right no cutoff is computed by it.
func TestDoubtedClockStartsNothing(t *testing.T) {
	eachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		f.fill("t", 20)
		f.at(utc("05-10 12:00:00")).declare("UTC", "1h", nil)
		m := f.at(utc("05-10 12:00:00"))
		m.clock.skew = 0 // as in real life
		if m.pass(); f.jobs() != "0" || !strings.Contains(m.heldBy(), "more than a day apart") {
			t.Errorf("%s jobs have started, and the node is held by %q", f.jobs(), m.heldBy())
		}
		if f.at(utc("05-10 12:00:00")).pass(); f.jobs() != "1" {
			t.Errorf("%s jobs have started by a clock that is believed, want 1", f.jobs())
		}
	})
}
