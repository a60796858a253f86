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
	if v := Judge(s.Work()[0]); v.Word != Paused || !strings.Contains(v.Detail, "at 0 % of its speed, held back by") {
		t.Errorf("while nothing may go the verdict is %v", v)
	}

	if err := s.MayRun(w.Policy); err != nil {
		t.Errorf("a job that signals will let go again may not run: %v", err)
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

// TestWhatHoldsOneNodeBackIsSaid: what the checks of a node hold back counts for the speed of all, with its name.
func TestWhatHoldsOneNodeBackIsSaid(t *testing.T) {
	t.Parallel()
	node := func(id uint64, name string, live bool) catalog.Node {
		return catalog.Node{ID: id, Name: name, Live: live, Engine: true}
	}
	a, b, gone := node(1, "a", true), node(2, "b", true), node(3, "gone", false)
	check := func(node uint64, share float64) catalog.Throttle {
		return catalog.Throttle{Node: node, Own: catalog.Own{Share: share, HeldBy: "web_check: 503"}}
	}
	half := catalog.Throttle{Node: 2, Decides: true, Share: 0.5, HeldBy: "lag: 3 s > 1 s"}
	old := check(1, 0)
	old.Age = catalog.ThrottleFor + time.Second

	for name, c := range map[string]struct {
		nodes     []catalog.Node
		said      []catalog.Throttle
		speed, by string
	}{
		"nobody says anything": {[]catalog.Node{a}, nil, "100 %", ""},
		"the only one":         {[]catalog.Node{a}, []catalog.Throttle{check(1, 0)}, "0 %", "web_check: 503"},
		"it said so long ago":  {[]catalog.Node{a}, []catalog.Throttle{old}, "100 %", ""},
		"one that has gone":    {[]catalog.Node{a, gone}, []catalog.Throttle{check(3, 0)}, "100 %", ""},
		"one of two": {
			[]catalog.Node{a, b},
			[]catalog.Throttle{check(1, 0)},
			"50 %", "web_check: 503 (on a, one of 2)",
		},
		"both": {
			[]catalog.Node{a, b},
			[]catalog.Throttle{check(1, 0.4), check(2, 0)},
			"20 %", "web_check: 503 (on b; 2 of 2 are held back)",
		},
		"beside what holds all": {
			[]catalog.Node{a, b},
			[]catalog.Throttle{half, check(1, 0)},
			"25 %", "web_check: 503 (on a, one of 2); lag: 3 s > 1 s",
		},
		"less than what holds all": {
			[]catalog.Node{a, b},
			[]catalog.Throttle{half, check(1, 0.9)},
			"50 %", "lag: 3 s > 1 s",
		},
	} {
		s := &Snapshot{Nodes: c.nodes}
		if s.Throttle = s.together(c.said); s.speed() != c.speed || s.slowedBy() != c.by {
			t.Errorf("%s: %s by %q, want %s by %q", name, s.speed(), s.slowedBy(), c.speed, c.by)
		}
	}

	signals := []catalog.Signal{{Name: "web_check", State: "holds"}}
	s := &Snapshot{Nodes: []catalog.Node{a, gone}}
	l := listThrottle(s, []catalog.Throttle{{Node: 1, Signals: signals}, {Node: 3, Signals: signals}})
	if len(l.Rows) != 1 {
		t.Errorf("of a node that is there, and of one that is not, %d lines are shown", len(l.Rows))
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
