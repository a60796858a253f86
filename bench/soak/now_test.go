package main

import (
	"strings"
	"testing"
	"time"
)

// TestReportHasBars: a row that went early is an error whatever the bar, and so is one that went too
// late.
func TestReportHasBars(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		lateness []time.Duration
		most     time.Duration
		want     string // part of the error; empty for none
	}{
		{"in time", []time.Duration{time.Second, time.Millisecond, 2 * time.Second}, 2 * time.Second, ""},
		{"late", []time.Duration{time.Second, 3 * time.Second}, 2 * time.Second, "the bar is 2s"},
		{"half late", []time.Duration{2 * time.Second, 3 * time.Second}, 0, "the bars are"},
		{"early", []time.Duration{time.Second, -time.Millisecond}, 0, "before it expired"},
		{"nothing", nil, 0, "no row"},
	} {
		var out strings.Builder
		n := &nowRun{options: options{most: c.most, half: time.Second, p99: 2 * time.Second}, out: &out, lateness: c.lateness}
		err := n.report()
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
		if c.want == "" && !strings.Contains(out.String(), "p50 1s, p99 1s, max 2s") {
			t.Errorf("%s: %s", c.name, out.String())
		}
	}
}
