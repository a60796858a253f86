package ddl

import (
	"errors"
	"testing"
	"time"
)

func TestCronNext(t *testing.T) {
	t.Parallel()
	prague, err := time.LoadLocation("Europe/Prague")
	if err != nil {
		t.Skip(err)
	}
	for _, c := range []struct{ cron, after, want string }{
		{"0 3 * * *", "2026-05-10 02:59", "2026-05-10 03:00"},
		{"0 3 * * *", "2026-05-10 03:00", "2026-05-11 03:00"},
		{"*/15 * * * *", "2026-05-10 03:01", "2026-05-10 03:15"},
		{"59 23 31 12 *", "2026-05-10 00:00", "2026-12-31 23:59"},
		{"0 0 29 2 *", "2026-05-10 00:00", "2028-02-29 00:00"},
		{"30 4 1,15 * *", "2026-05-02 00:00", "2026-05-15 04:30"},
		{"0 0 * * 7", "2026-05-10 00:00", "2026-05-17 00:00"}, // a Sunday
		{"0 0 1 * 1", "2026-05-10 00:00", "2026-05-11 00:00"}, // either day
		{"0 22-23/1 * * 1-5", "2026-05-08 23:30", "2026-05-11 22:00"},
		{"5/20 * * * *", "2026-05-10 03:06", "2026-05-10 03:25"},
		{"30 2 * * *", "2026-03-28 12:00", "2026-03-29 03:30"}, // 02:30 is skipped that night
		{"30 2 * * *", "2026-10-24 12:00", "2026-10-25 02:30"}, // and occurs twice on this one
	} {
		parsed, err := ParseCron(c.cron)
		if err != nil {
			t.Errorf("%s: %v", c.cron, err)
			continue
		}
		after, err := time.ParseInLocation("2006-01-02 15:04", c.after, prague)
		if err != nil {
			t.Fatal(err)
		}
		if got := parsed.Next(after).Format("2006-01-02 15:04"); got != c.want {
			t.Errorf("%s after %s: got %s, want %s", c.cron, c.after, got, c.want)
		}
	}
}

// TestCronOccursOnceInARepeatedHour walks over the night on which clocks go back.
func TestCronOccursOnceInARepeatedHour(t *testing.T) {
	t.Parallel()
	prague, err := time.LoadLocation("Europe/Prague")
	if err != nil {
		t.Skip(err)
	}
	c, err := ParseCron("30 2 * * *")
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 10, 24, 0, 0, 0, 0, prague)
	for _, want := range []string{"24", "25", "26"} {
		if at = c.Next(at); at.Format("02") != want {
			t.Errorf("got %s, want day %s", at, want)
		}
	}
}

func TestCronRefuses(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"", "* * * *", "* * * * * *", "60 * * * *", "* 24 * * *", "* * 0 * *", "* * * 13 *", "* * * * 8", "5-3 * * * *", "*/0 * * * *", "@daily", "a * * * *", "+1 * * * *", "0 0 31 2 *"} {
		if _, err := ParseCron(bad); !errors.Is(err, ErrCron) {
			t.Errorf("%q: got %v, want ErrCron", bad, err)
		}
	}
}

func TestWindow(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		window, at string
		want       bool
	}{
		{"01:00-02:00", "00:59", false},
		{"01:00-02:00", "01:00", true},
		{"01:00-02:00", "02:00", true},
		{"01:00-02:00", "02:01", false},
		{"22:00-06:00", "21:59", false},
		{"22:00-06:00", "23:59", true},
		{"22:00-06:00", "00:00", true},
		{"22:00-06:00", "06:00", true},
		{"22:00-06:00", "06:01", false},
		{"00:00-23:59", "23:59", true},
		{" 1:00 - 2:00 ", "01:30", true},
	} {
		w, err := ParseWindow(c.window)
		if err != nil {
			t.Errorf("%s: %v", c.window, err)
			continue
		}
		at, err := time.Parse("15:04", c.at)
		if err != nil {
			t.Fatal(err)
		}
		if got := w.Contains(at); got != c.want {
			t.Errorf("%s at %s: got %v, want %v", c.window, c.at, got, c.want)
		}
	}
	for _, bad := range []string{"", "22:00", "22:00-", "25:00-01:00", "22-06", "22:00-06:00 +0100"} {
		if _, err := ParseWindow(bad); !errors.Is(err, ErrWindow) {
			t.Errorf("%q: got %v, want ErrWindow", bad, err)
		}
	}
}
