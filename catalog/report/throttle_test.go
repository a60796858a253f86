package report

import (
	"strings"
	"testing"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
)

// TestWhatHoldsBackIsSaid: a job that is slowed down says by what, as long as that is in force.
func TestWhatHoldsBackIsSaid(t *testing.T) {
	t.Parallel()
	w := work(func(w *Work) { w.Job = running(time.Minute, 1000, 500) })
	w.Job.PolicyID = w.Policy.ID
	s := &Snapshot{
		Now: noon, Enabled: true, Policies: []*catalog.Policy{w.Policy}, Jobs: []catalog.Job{*w.Job},
		Nodes:    []catalog.Node{{ID: 3, Name: "a", Live: true, Engine: true}},
		Throttle: catalog.Throttle{Decides: true, Share: 0.063, HeldBy: "threads_running: 81 > 64"},
	}

	want := "at 6.3 % of its speed, held back by threads_running: 81 > 64"
	if v := Judge(s.Work()[0]); !strings.Contains(v.Detail, want) {
		t.Errorf("the verdict is %v", v)
	}
	if s.speed() != "6.3 %" || s.slowedBy() != "threads_running: 81 > 64" {
		t.Errorf("the speed is %s, slowed by %q", s.speed(), s.slowedBy())
	}

	w.Policy.Terms.Options.Floor = 20
	want = "at 20 % of its speed, its TTL_THROTTLE_FLOOR, held back by threads_running: 81 > 64"
	if v := Judge(s.Work()[0]); !strings.Contains(v.Detail, want) {
		t.Errorf("with a floor of its own the verdict is %v", v)
	}
	w.Policy.Terms.Options.Floor = 6
	if v := Judge(s.Work()[0]); !strings.Contains(v.Detail, "at 6.3 % of its speed, held back by") {
		t.Errorf("with a floor below the share the verdict is %v", v)
	}
	s.Throttle.Share, w.Policy.Terms.Options.Floor = 0, 20
	if v := Judge(s.Work()[0]); !strings.Contains(v.Detail, "at 0 % of its speed, held back by") {
		t.Errorf("while nothing may go the verdict is %v", v)
	}

	for _, gone := range []catalog.Throttle{
		{Decides: true, Share: 0.063, HeldBy: "x", Age: catalog.ThrottleFor + time.Second},
		{Decides: true, Share: 1},
		{},
	} {
		s.Throttle = gone
		if v := Judge(s.Work()[0]); strings.Contains(v.Detail, "held back") || s.speed() != "100 %" {
			t.Errorf("by %+v the speed is %s, the verdict %v", gone, s.speed(), v)
		}
	}
}

// TestPercent: a share is a number that people read, however small.
func TestPercent(t *testing.T) {
	t.Parallel()
	for share, want := range map[float64]string{
		0: "0 %", 3e-9: "under 0.1 %", 0.00099: "under 0.1 %", 0.0025: "0.25 %", 0.02: "2 %", 0.0996: "10 %", 0.333: "33 %",
		1: "100 %",
	} {
		if got := percent(share); got != want {
			t.Errorf("%v: got %s, want %s", share, got, want)
		}
	}
}
