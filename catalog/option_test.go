package catalog

import (
	"testing"
	"time"

	"github.com/ttlproxy/ttlproxy/ddl"
)

func TestScheduleInWords(t *testing.T) {
	t.Parallel()
	for want, options := range map[string]map[string]string{
		"every 24h":                        nil,
		"cron 0 3 * * 1":                   {ddl.OptionCron: "0 3 * * 1"},
		"every 1h30m, half of TTL_MAX_LAG": {ddl.OptionMaxLag: "3h"},
		"every 1h, half of TTL_MAX_LAG":    {ddl.OptionMaxLag: "2h"},
	} {
		if got := scheduleIn(t, options); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}

	if got := scheduleIn(t, map[string]string{ddl.OptionMaxLag: "8d"}); got != "every 24h" {
		t.Errorf("a goal that the interval meets: got %q", got)
	}
}

func scheduleIn(t *testing.T, options map[string]string) string {
	t.Helper()
	return Rule{JobInterval: "24h", Options: options}.Schedule(timingOf(t, "", options))
}

func TestFinishBetweenWindows(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	window := func(text string) *ddl.Window {
		w, err := ddl.ParseWindow(text)
		if err != nil {
			t.Fatal(err)
		}
		return &w
	}

	for name, c := range map[string]struct {
		own, global *ddl.Window
		work, want  time.Duration // 0 for never
	}{
		"no window":        {nil, nil, time.Hour, time.Hour},
		"open":             {window("11:00-13:59"), nil, time.Hour, time.Hour},
		"opens later":      {window("14:00-14:59"), nil, 30 * time.Minute, 150 * time.Minute},
		"two nights":       {window("22:00-22:59"), nil, 90 * time.Minute, 34*time.Hour + 30*time.Minute},
		"both":             {window("12:00-12:29"), window("12:15-13:00"), 10 * time.Minute, 25 * time.Minute},
		"whole day":        {window("12:00-11:59"), nil, 50 * time.Hour, 50 * time.Hour},
		"never together":   {window("01:00-02:00"), window("03:00-04:00"), time.Minute, 0},
		"more than a year": {window("01:00-01:00"), nil, 400 * time.Minute, 0},
		"at the weekend":   {window("sat 10:00-11:59"), nil, 3 * time.Hour, (12*24 + 23) * time.Hour},
	} {
		want := at.Add(c.want)
		if c.want == 0 {
			want = time.Time{}
		}

		steady := func(time.Time) (float64, time.Time) { return 10, time.Time{} }
		got, work := Timing{Zone: time.UTC, Window: c.own}.Finish(at, c.global, 10*c.work.Seconds(), steady)
		if !got.Equal(want) || c.want != 0 && work != c.work {
			t.Errorf("%s: got %v after %v of work, want %v after %v", name, got, work, want, c.work)
		}
	}
}
