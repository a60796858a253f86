package report

import (
	"testing"

	"github.com/ttlproxy/ttlproxy/catalog"
)

// engine is a live node that runs jobs, and what it says of itself.
func engine(name string, stop catalog.Stop, status string) catalog.Node {
	return catalog.Node{Name: name, Live: true, Engine: true, Stop: stop, Status: status}
}

// TestStoppedEngines: while one engine deletes, those that do not are named and nothing is halted; if none does, that is
// the halt. Whoever is not there, runs no jobs, or has not heard yet that the switch is on again, counts for nothing.
func TestStoppedEngines(t *testing.T) {
	t.Parallel()
	const there = "the stop file /stop exists"
	works, gone := engine("works", "", ""), engine("gone", catalog.StopFile, there)
	stopped, another := engine("stopped", catalog.StopFile, there), engine("another", catalog.StopClock, "what?")
	proxy := engine("proxy", catalog.StopFile, there)
	gone.Live, proxy.Engine = false, false
	switched := engine("switched", catalog.StopSwitch, "ttl_job_enable is OFF")

	for name, c := range map[string]struct {
		nodes []catalog.Node
		some  string
		halt  Halt
	}{
		"all work": {nodes: []catalog.Node{works, works}},
		"one of two": {
			nodes: []catalog.Node{works, stopped},
			some:  "1 of 2 engines: the stop file /stop exists (on stopped)",
		},
		"two of three": {
			nodes: []catalog.Node{another, works, stopped},
			some:  "2 of 3 engines: what? (on another; SHOW TTL NODES shows the others)",
		},
		"the only one": {
			nodes: []catalog.Node{stopped},
			halt:  Halt{HaltStopped, "the stop file /stop exists (on stopped)"},
		},
		"both": {
			nodes: []catalog.Node{stopped, another},
			halt:  Halt{HaltStopped, "the stop file /stop exists (on stopped; SHOW TTL NODES shows the others)"},
		},
		"one that is gone, and one without an engine": {nodes: []catalog.Node{gone, proxy, works}},
		"all that are there": {
			nodes: []catalog.Node{gone, proxy, stopped},
			halt:  Halt{HaltStopped, "the stop file /stop exists (on stopped)"},
		},
		"none": {
			nodes: []catalog.Node{gone, proxy},
			halt:  Halt{HaltNoEngine, "no engine is running (see SHOW TTL NODES)"},
		},
		"all were switched off": {nodes: []catalog.Node{switched}},
		"one was switched off":  {nodes: []catalog.Node{switched, works}},
		"one was, one has stopped": {
			nodes: []catalog.Node{switched, stopped},
			some:  "1 of 2 engines: the stop file /stop exists (on stopped)",
		},
	} {
		s := &Snapshot{Now: noon, Enabled: true, Nodes: c.nodes, Throttle: catalog.Throttle{Share: 1}}
		if some, halt := s.SomeStopped(), s.Halt(); some != c.some || halt != c.halt {
			t.Errorf("%s: got %q and %+v, want %q and %+v", name, some, halt, c.some, c.halt)
		}
	}
}

// TestHaltsByPrecedence: of all that halts, what a person has to look at comes first, and what passes by itself last.
func TestHaltsByPrecedence(t *testing.T) {
	t.Parallel()
	s := &Snapshot{
		Now: noon, Window: window("13:00-14:00"), Server: "the server is read-only",
		Pause:    catalog.GlobalPause{Pause: catalog.Pause{Paused: true}, Held: true, HeldReason: "a clone"},
		Throttle: catalog.Throttle{Decides: true, HeldBy: "web_check: 503"},
	}
	end := map[HaltCode]func(){
		HaltHeld:     func() { s.Pause.Held = false },
		HaltPaused:   func() { s.Pause.Until = noon }, // it is over
		HaltSwitch:   func() { s.Enabled = true },
		HaltServer:   func() { s.Server = "" },
		HaltNoEngine: func() { s.Nodes = []catalog.Node{engine("a", catalog.StopFile, "there")} },
		HaltStopped:  func() { s.Nodes[0].Stop = "" },
		HaltWindow:   func() { s.Window = nil },
		HaltSignal:   func() { s.Throttle.Share = 1 },
	}

	for _, code := range HaltCodes() {
		if got := s.Halt(); got.Code != code || got.Why == "" {
			t.Errorf("got %+v, want %s", got, code)
		}
		end[code]()
	}
	if got := s.Halt(); got != (Halt{}) {
		t.Errorf("when all is over: got %+v", got)
	}
}
