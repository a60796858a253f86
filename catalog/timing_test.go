package catalog

import (
	"strings"
	"testing"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog/setting"
)

func timingOf(t *testing.T, zone string, options map[string]string) Timing {
	t.Helper()
	terms, err := Rule{Literal: "1", Unit: "DAY", TimeZone: zone, JobInterval: "24h", Options: options}.Terms()
	if err != nil {
		t.Fatal(err)
	}
	return terms.Timing
}

func TestGlobalWindowInEveryMinute(t *testing.T) {
	t.Parallel()
	// 00:30 to 02:15 UTC
	global := setting.Values{setting.WindowStart: "23:30 -0100", setting.WindowEnd: "01:15 -0100"}.Window()
	for minute := range 24 * 60 {
		at := time.Date(2026, 5, 10, 0, minute, 59, 0, time.UTC)
		open := timingOf(t, "", nil).Closed(at, global) == ""
		if want := minute >= 30 && minute <= 2*60+15; open != want {
			t.Errorf("at %s: open %v, want %v", at.Format("15:04"), open, want)
		}
	}
}

// TestWindowsOpenWhenTheySay walks through days of every kind: the moment a closed window promises
// is the first open one.
func TestWindowsOpenWhenTheySay(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ zone, window, start, end string }{
		{"UTC", "22:00-06:00", "00:00 +0000", "23:59 +0000"},
		{"Europe/Prague", "02:30-02:40", "00:00 +0000", "23:59 +0000"}, // skipped on 29 March, twice on 25 October
		{"Europe/Prague", "02:30-03:10", "00:00 +0000", "23:59 +0000"},
		{"America/New_York", "23:00-02:00", "03:30 +0000", "05:00 +0000"},
		{"Asia/Kathmandu", "00:00-00:00", "18:00 +0000", "18:30 +0000"},
		{"Australia/Lord_Howe", "01:45-02:15", "10:00 +0000", "20:00 +0000"}, // half an hour of summer time
	} {
		timing := timingOf(t, c.zone, map[string]string{"TTL_WINDOW": c.window})
		global := setting.Values{setting.WindowStart: c.start, setting.WindowEnd: c.end}.Window()
		for _, day := range []time.Time{
			time.Date(2026, 3, 7, 0, 0, 0, 0, time.UTC), time.Date(2026, 3, 28, 0, 0, 0, 0, time.UTC),
			time.Date(2026, 4, 4, 0, 0, 0, 0, time.UTC),
			time.Date(2026, 10, 3, 0, 0, 0, 0, time.UTC), time.Date(2026, 10, 24, 0, 0, 0, 0, time.UTC),
			time.Date(2026, 10, 31, 0, 0, 0, 0, time.UTC),
		} {
			promised := time.Time{}
			for at := day; at.Before(day.Add(48 * time.Hour)); at = at.Add(time.Minute) {
				why, opens := timing.Closed(at, global), timing.Opens(at, global)
				switch {
				case opens.IsZero():
					t.Fatalf("%v at %s: never opens", c, at)
				case (why == "") != opens.Equal(at):
					t.Fatalf("%v at %s: closed %q but opens %s", c, at, why, opens)
				case why == "" && !promised.IsZero() && !promised.Equal(at):
					t.Fatalf("%v: opens at %s, promised for %s", c, at, promised.UTC())
				case why == "":
					promised = time.Time{}
				case !promised.IsZero() && !promised.Equal(opens):
					t.Fatalf("%v at %s: promises %s and then %s", c, at, promised.UTC(), opens.UTC())
				default:
					promised = opens
				}
			}
		}
	}

	global := setting.Values{setting.WindowStart: "10:00 +0000", setting.WindowEnd: "11:00 +0000"}.Window()
	never := timingOf(t, "UTC", map[string]string{"TTL_WINDOW": "12:00-13:00"}).
		Closed(time.Date(2026, 5, 10, 10, 30, 0, 0, time.UTC), global)
	if !strings.Contains(never, "no minute in common") {
		t.Errorf("got %q for windows that exclude each other", never)
	}
}

func TestTimingDue(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 5, 10, 12, 0, 0, 0, time.UTC)
	p := Policy{ChangedAt: noon}
	for name, c := range map[string]struct {
		options map[string]string
		last    Schedule
		want    time.Duration
	}{
		"never ran": {nil, Schedule{}, 0},
		"ran":       {nil, Schedule{LastStartedAt: noon}, 24 * time.Hour},
		"failed": {
			nil,
			Schedule{LastStartedAt: noon, LastFinishedAt: noon.Add(time.Hour), LastState: JobFailed},
			2 * time.Hour,
		},
		"first cron in the zone": {map[string]string{"TTL_CRON": "0 15 * * *"}, Schedule{}, time.Hour}, // 13:00 UTC
		"next cron": {
			map[string]string{"TTL_CRON": "0 15 * * *"},
			Schedule{LastStartedAt: noon.Add(time.Hour)},
			25 * time.Hour,
		},
		"cron after a failed job": {
			map[string]string{"TTL_CRON": "0 15 * * *"},
			Schedule{LastStartedAt: noon, LastFinishedAt: noon, LastState: JobFailed},
			time.Hour,
		},
		"twice within the goal": {map[string]string{"TTL_MAX_LAG": "2h"}, Schedule{LastStartedAt: noon}, time.Hour},
		"a goal does not hurry": {
			map[string]string{"TTL_MAX_LAG": "90d"},
			Schedule{LastStartedAt: noon},
			24 * time.Hour,
		},
	} {
		if got := timingOf(t, "Europe/Prague", c.options).Due(p, c.last); !got.Equal(noon.Add(c.want)) {
			t.Errorf("%s: got %s, want %s", name, got.UTC(), noon.Add(c.want))
		}
	}
}

// TestStartsAreSpread: tables of one migration have their first jobs at once and then go apart, once,
// each by a part of its own of the last quarter of the interval; never later than they promise.
func TestStartsAreSpread(t *testing.T) {
	t.Parallel()
	declared := time.Date(2026, 5, 10, 12, 0, 0, 0, time.UTC)
	began := declared.Add(3 * time.Second)
	timing := timingOf(t, "", nil) // a day
	next := func(id uint64, last time.Time) time.Time {
		return timing.Next(Policy{ID: id, ChangedAt: declared}, []Schedule{{LastStartedAt: last}}).At
	}

	hours := map[int]int{}
	for id := range uint64(1000) {
		second := next(id, began)
		if first := timing.Next(Policy{ID: id, ChangedAt: declared}, nil).At; !first.Equal(declared) {
			t.Fatalf("policy %d starts at %v", id, first)
		}
		if d := second.Sub(began); d < 18*time.Hour || d > 24*time.Hour || !second.Equal(next(id, began)) {
			t.Fatalf("the second job of policy %d starts after %v", id, d)
		}
		if third := next(id, second); third.Sub(second) != 24*time.Hour {
			t.Fatalf("the third job of policy %d starts %v after the second", id, third.Sub(second))
		}
		hours[int(second.Sub(began).Hours())]++
	}
	for hour := 18; hour < 24; hour++ {
		if n := hours[hour]; n < 150 || n > 185 {
			t.Errorf("in hour %d there are %d of 1000 starts", hour, n)
		}
	}

	timing.Interval = leastSpread - time.Second
	if d := next(1, began).Sub(began); d != timing.Interval {
		t.Errorf("a short interval takes %v instead of %v", d, timing.Interval)
	}
	timing.Interval = time.Hour
	for _, last := range []time.Time{declared.Add(-time.Minute), declared.Add(30 * time.Minute)} {
		if d := next(1, last).Sub(last); d != time.Hour {
			t.Errorf("after a job %v from the declaration the next starts after %v", last.Sub(declared), d)
		}
	}
}
