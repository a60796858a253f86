package plan

import (
	"maps"
	"testing"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/setting"
	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/ddl"
)

// TestForecastOfManyNodes: each node that has a task keeps to its own limits and to its part of those that
// are for all, and a DELETE of what is dense takes more rows than one by key.
func TestForecastOfManyNodes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what  string
		way   Way
		nodes int
		rows  int64
		due   int64
		said  map[string]string
		own   string // TTL_DELETE_RATE

		seconds float64
		from    string
	}{
		{
			"three nodes", WalkRange, 3, 3_000_000, 600_000,
			map[string]string{setting.DeleteRowsLimit: "1000"},
			"", 200,
			"ttl_delete_rows_limit of 3 of 3 nodes",
		},
		{
			"one task", WalkRange, 3, 90_000, 60_000,
			map[string]string{setting.DeleteRowsLimit: "1000"},
			"", 60,
			"ttl_delete_rows_limit of 1 of 3 nodes",
		},
		{
			"two tasks at a time", WalkRange, 3, 3_000_000, 600_000,
			map[string]string{setting.DeleteRowsLimit: "1000", setting.RunningTasks: "2"},
			"", 300,
			"ttl_delete_rows_limit of 2 of 3 nodes",
		},
		{"a rate for all", WalkRange, 3, 3_000_000, 600_000, nil, "600", 1000, "TTL_DELETE_RATE"},
		{
			"a rate for all, one task", WalkRange, 3, 90_000, 60_000, nil, "600", 300,
			"TTL_DELETE_RATE, the part of 1 of 3 nodes",
		},
		{
			"reading", WalkRange, 2, 3_000_000, 10,
			map[string]string{setting.ScanRateLimit: "1000"},
			"", 1500,
			setting.ScanRateLimit,
		},
		{"reading without a limit", WalkRange, 1, 50_000_000, 10, nil, "", 100, "to read about 50000000 rows"},
		{
			"the index reads less", WalkIndex, 1, 50_000_000, 100_000,
			map[string]string{setting.ScanRateLimit: "1000"},
			"", 100, setting.ScanRateLimit,
		},
		{
			"statements over ranges", WalkRange, 1, 90_000, 60_000,
			map[string]string{setting.DeleteRateLimit: "1"},
			"",
			60, setting.DeleteRateLimit,
		},
		{
			"statements by key", WalkIndex, 1, 90_000, 60_000,
			map[string]string{setting.DeleteRateLimit: "1"},
			"", 600,
			setting.DeleteRateLimit,
		},
	} {
		values := setting.Defaults()
		maps.Copy(values, c.said)
		v := preview{
			Question: Question{
				Now: time.Date(2026, 5, 11, 21, 0, 0, 0, time.UTC), nodes: c.nodes, settings: setting.Reading{Values: values},
				Terms: catalog.Terms{Timing: catalog.Timing{Zone: time.UTC}},
			},
			facts: &tables.Facts{}, due: Estimate{Rows: c.rows, Expired: c.due}, choice: Choice{Way: c.way},
		}
		if c.own != "" {
			rates, err := ddl.ParseRates(c.own)
			if err != nil {
				t.Fatal(err)
			}
			v.Terms.Options.DeleteRate = &rates
		}

		p := &Preview{}
		v.foresee(p)
		if d := p.Seconds - c.seconds; d < -1 || d > 1 || p.SpeedFrom != c.from {
			t.Errorf("%s: got %.1f s by %s, want %.1f s by %s", c.what, p.Seconds, p.SpeedFrom, c.seconds, c.from)
		}
	}
}

// TestJobsApart: rows that expire right after a job has begun wait for as long as schedule and windows are
// apart.
func TestJobsApart(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		option, value string
		want          time.Duration
	}{
		{"", "", time.Hour},
		{ddl.OptionCron, "0 3 * * 1", 7 * 24 * time.Hour},
		{ddl.OptionWindow, "02:00-05:00", 21*time.Hour - time.Minute},
		{ddl.OptionMaxLag, "30m", 15 * time.Minute},
	} {
		rule := catalog.Rule{Column: "at", Literal: "1", Unit: "DAY", JobInterval: "1h"}
		if c.option != "" {
			rule.Options = map[string]string{c.option: c.value}
		}
		terms, err := rule.Terms()
		if err != nil {
			t.Fatal(err)
		}
		v := preview{Question: Question{Terms: terms}}
		if got := time.Duration(v.apart() * float64(time.Second)); got.Round(time.Minute) != c.want {
			t.Errorf("%s = %q: got %v, want %v", c.option, c.value, got, c.want)
		}
	}
}
