package catalog

import (
	"strings"
	"testing"
	"time"
)

// TestClockWatch: each case is a first look, and another one after an hour and a half by a clock
// that nobody sets, in three steps.
func TestClockWatch(t *testing.T) {
	t.Parallel()
	const years = 14 * 365 * 24 * time.Hour
	noon := time.Date(2026, 5, 10, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name                   string
		ahead                  time.Duration // the database's clock before ours at the start
		database, wall, steady time.Duration // how far they have gone until the second look
		doubted                string
	}{
		{"in step", 0, time.Second, time.Second, time.Second, ""},
		{"after a long silence", 0, 30 * time.Hour, 30 * time.Hour, 30 * time.Hour, ""},
		{"drifting", 0, time.Hour + 50*time.Second, time.Hour, time.Hour, ""},
		{"always an hour ahead", time.Hour, time.Second, time.Second, time.Second, ""},
		{"jumps forward", 0, 2 * time.Minute, time.Second, time.Second, "jumped by 1m59s"},
		{"jumps back", 0, -2 * time.Minute, time.Second, time.Second, "jumped by -2m1s"},
		{
			"both jump forward together", 0, 365 * 24 * time.Hour, 365 * 24 * time.Hour, time.Second,
			"jumped by 8759h59m59s",
		},
		{"both jump back together", 0, -8 * time.Hour, -8 * time.Hour, time.Second, "jumped by -8h0m1s"},
		{
			"both jump, after a silence that explains half of it", 0, 2 * time.Hour, 2 * time.Hour, time.Hour,
			"jumped by 1h",
		},
		{"only ours jumps", 0, time.Second, time.Hour, time.Second, ""},
		{
			"was wrong, is put right as ours was all the time", -time.Hour, time.Hour + time.Second, time.Second,
			time.Second, "",
		},
		{"was wrong with ours, both are put right", 0, time.Hour, time.Hour, time.Second, "jumped by 59m59s"},
		{"an hour ahead, jumps further", time.Hour, time.Hour, time.Second, time.Second, "jumped by 59m59s"},
		{"years ahead from the start", years, time.Second, time.Second, time.Second, "more than a day apart"},
		{"years behind from the start", -years, time.Second, time.Second, time.Second, "more than a day apart"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var w ClockWatch
			w.judge(reading{noon.Add(c.ahead), noon, time.Hour})
			_, why := w.judge(reading{noon.Add(c.ahead + c.database), noon.Add(c.wall), time.Hour + c.steady})
			if !strings.Contains(why, c.doubted) || c.doubted == "" && why != "" {
				t.Errorf("got %q, want %q", why, c.doubted)
			}
		})
	}
}

// TestClockWatchOverTime: a doubt lasts until the clock is back where it belongs, or a person says
// so; clocks that drift apart over days are believed.
func TestClockWatchOverTime(t *testing.T) {
	t.Parallel()
	now := reading{time.Date(2026, 5, 10, 12, 0, 0, 0, time.UTC), time.Date(2026, 5, 10, 12, 0, 0, 0, time.UTC), 0}
	var w ClockWatch
	pass := func(database, wall, steady time.Duration) string {
		now = reading{now.database.Add(database), now.wall.Add(wall), now.steady + steady}
		_, why := w.judge(now)
		return why
	}

	for range 24 * 60 { // two days, in which the database's machine gains seven minutes
		if why := pass(2*time.Minute+300*time.Millisecond, 2*time.Minute, 2*time.Minute); why != "" {
			t.Fatalf("a drift is a jump: %s", why)
		}
	}

	for range 3 {
		if why := pass(time.Hour, time.Hour, time.Second); why == "" {
			t.Error("a jump is believed after a while")
		}
	}

	if why := pass(-3*time.Hour, -3*time.Hour, 0); why != "" {
		t.Errorf("back where it was: %s", why)
	}
	if pass(time.Hour, time.Hour, time.Second) == "" {
		t.Error("a jump is believed")
	}

	w.Forget()
	if why := pass(time.Second, time.Second, time.Second); why != "" {
		t.Errorf("after a person has said so: %s", why)
	}
}
