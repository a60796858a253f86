package ddl

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestCronNext(t *testing.T) {
	t.Parallel()
	prague, err := time.LoadLocation("Europe/Prague")
	if err != nil {
		t.Fatal(err)
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
		{"0 0 * * sun", "2026-05-10 00:00", "2026-05-17 00:00"},
		{"0 0 * * Sat-Sun", "2026-05-10 00:00", "2026-05-16 00:00"},
		{"0 0 * * sat-sun", "2026-05-09 00:00", "2026-05-10 00:00"},
		{"0 0 * * sun-tue,4", "2026-05-12 00:00", "2026-05-14 00:00"},
		{"0 0 1 JAN,jul *", "2026-05-10 00:00", "2026-07-01 00:00"},
		{"0 0 1 oct-12/2 *", "2026-10-10 00:00", "2026-12-01 00:00"},
		{"30 2 * * *", "2026-03-28 12:00", "2026-03-29 03:00"}, // 02:30 is skipped that night
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

// TestCronWhenClocksChange walks over nights on which clocks go forward, by an hour or half of one,
// and back.
func TestCronWhenClocksChange(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ zone, cron, after, want string }{
		{"Europe/Prague", "30 2 * * *", "2026-03-28T00:00:00Z", "03-28T01:30 03-29T01:00 03-30T00:30"},
		{"Europe/Prague", "30 2 * * *", "2026-10-24T00:00:00Z", "10-24T00:30 10-25T00:30 10-26T01:30"},
		{"America/New_York", "30 2 * * *", "2026-03-07T00:00:00Z", "03-07T07:30 03-08T07:00 03-09T06:30"},
		{"America/New_York", "30 1 * * *", "2026-10-31T00:00:00Z", "10-31T05:30 11-01T05:30 11-02T06:30"},
		{"Australia/Lord_Howe", "15 2 * * *", "2026-10-02T12:00:00Z", "10-02T15:45 10-03T15:30 10-04T15:15"},
		{"Australia/Lord_Howe", "45 1 * * *", "2026-04-03T12:00:00Z", "04-03T14:45 04-04T14:45 04-05T15:15"},
	} {
		zone, err := time.LoadLocation(c.zone)
		if err != nil {
			t.Fatal(err)
		}

		cron, err := ParseCron(c.cron)
		if err != nil {
			t.Fatal(err)
		}

		at, err := time.Parse(time.RFC3339, c.after)
		if err != nil {
			t.Fatal(err)
		}

		var got []string
		for range 3 {
			at = cron.Next(at.In(zone))
			got = append(got, at.UTC().Format("01-02T15:04"))
		}

		if strings.Join(got, " ") != c.want {
			t.Errorf("%s '%s': got %v, want %s", c.zone, c.cron, got, c.want)
		}
	}
}

func TestCronLongestGap(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"* * * * *":      time.Minute,
		"*/20 * * * *":   20 * time.Minute,
		"0 3 * * *":      24 * time.Hour,
		"0 3,5 * * *":    22 * time.Hour,
		"30 3 * * 1":     7 * 24 * time.Hour,
		"0 0 * * 1-5":    3 * 24 * time.Hour,
		"0 0 1 * *":      31 * 24 * time.Hour,
		"59 23 29 2 *":   (4*365 + 1) * 24 * time.Hour,
		"0 9-17 * * 1-5": (2*24 + 16) * time.Hour,
	} {
		c, err := ParseCron(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.LongestGap(); got != want {
			t.Errorf("%s: got %v, want %v", text, got, want)
		}
	}
}

func TestWindowClosed(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"00:00-23:59": 0, "22:00-21:59": 0, "22:00-06:00": 15*time.Hour + 59*time.Minute,
		"06:00-06:00": 24*time.Hour - time.Minute, "01:00-02:59": 22 * time.Hour,
	} {
		w, err := ParseWindow(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := w.Closed(); got != want {
			t.Errorf("%s: got %v, want %v", text, got, want)
		}
	}
}

func TestCronRefuses(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{
		"", "* * * *", "* * * * * *", "60 * * * *", "* 24 * * *", "* * 0 * *", "* * * 13 *",
		"* * * * 8", "* * * * jan", "* * * sun *", "mon * * * *", "* * * * sunday", "* * * * fri-mon", "* * * * */mon",
		"5-3 * * * *", "*/0 * * * *", "@daily", "a * * * *", "+1 * * * *", "0 0 31 2 *",
	} {
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
