package plan

import (
	"testing"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/ddl"
)

// TestSpeedByTheClock foresees when work ends that is slow at first.
func TestSpeedByTheClock(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 5, 11, 21, 0, 0, 0, time.UTC) // a Monday
	rates := func(text string) *ddl.Rates {
		r, err := ddl.ParseRates(text)
		if err != nil {
			t.Fatal(err)
		}
		return &r
	}

	for _, c := range []struct {
		own, all, from string
		window         string
		rows           float64
		end            time.Duration
	}{
		{"", "", "as in the last job", "", 72_000_000, time.Hour},
		{"1000", "", ddl.OptionDeleteRate, "", 3_600_000, time.Hour},
		{
			"1000; 22:00-06:00 unlimited", "", ddl.OptionDeleteRate + ", by the clock", "",
			3_600_000 + 6_400_000, time.Hour + 320*time.Second,
		},
		{
			"1000; 22:00-06:00 unlimited; zone +01:00", "", "as in the last job", "",
			6_400_000, 320 * time.Second,
		},
		{
			"1000; 22:00-06:00 unlimited", "21:00-21:59 500; tue 10", "ttl_rate_schedule, by the clock", "",
			1_800_000 + 2*3600*20_000 + 10, 3*time.Hour + time.Second,
		},
		{
			"1000; 22:00-06:00 2000", "", ddl.OptionDeleteRate + ", by the clock", "20:00-22:59",
			3_600_000 + 7_200_000 + 3_600_000, 24 * time.Hour,
		},
	} {
		s := Speed{RowsPerSecond: 20_000, From: "as in the last job"}
		timing := catalog.Timing{Zone: time.UTC}
		if c.own != "" {
			s.clock(rates(c.own), time.UTC, 1, ddl.OptionDeleteRate, at)
		}
		if c.all != "" {
			s.clock(rates(c.all), time.UTC, 1, "ttl_rate_schedule", at)
		}
		if c.window != "" {
			w, err := ddl.ParseWindow(c.window)
			if err != nil {
				t.Fatal(err)
			}
			timing.Window = &w
		}

		end, _ := timing.Finish(at, nil, c.rows, s.At)
		if s.From != c.from || end.Sub(at).Round(time.Second) != c.end {
			t.Errorf("%q, %q: got %v after %v, want %v after %v", c.own, c.all, s.From, end.Sub(at), c.from, c.end)
		}
	}
}
