package report

import (
	"fmt"

	"github.com/ttlproxy/ttlproxy/catalog"
)

// HaltCode is why nothing is deleted anywhere, in a word.
type HaltCode string

// The codes of a Halt, in their order of precedence.
const (
	HaltHeld     HaltCode = "held"         // the server is not the one the catalog knows
	HaltPaused   HaltCode = "paused"       // PAUSE TTL
	HaltSwitch   HaltCode = "switched off" // ttl_job_enable
	HaltServer   HaltCode = "server"       // it is read-only, a replica, or cannot log what the engine does
	HaltNoEngine HaltCode = "no engine"
	HaltStopped  HaltCode = "stopped"   // each engine by itself: see catalog.Stop
	HaltWindow   HaltCode = "window"    // ttl_job_schedule_window_… is closed
	HaltSignal   HaltCode = "held back" // signals let nothing go at present
)

// HaltCodes are all there are.
func HaltCodes() []HaltCode {
	return []HaltCode{
		HaltHeld, HaltPaused, HaltSwitch, HaltServer, HaltNoEngine, HaltStopped, HaltWindow, HaltSignal,
	}
}

// Halt says why nothing is deleted anywhere. It is zero when something may be.
type Halt struct {
	Code HaltCode
	Why  string
}

// Passes reports whether everything goes on by itself, as foreseen: what is not due has nothing to wait for, and jobs
// may be asked for.
func (h Halt) Passes() bool { return h.Code == HaltWindow || h.Code == HaltSignal }

// Verdict is what a halt is for a table.
func (h Halt) Verdict() Verdict {
	if h.Code == HaltWindow {
		return Verdict{WindowClosed, h.Why}
	}
	return Verdict{Paused, h.Why}
}

// Halt looks for what keeps everything from being deleted.
func (s *Snapshot) Halt() Halt {
	switch {
	case s.Pause.Held:
		return Halt{HaltHeld, "the server is held: " + s.Pause.HeldReason}
	case s.Pause.InForce(s.Now):
		return Halt{HaltPaused, "everything, " + pausedBy(s.Pause.Pause)}
	case !s.Enabled:
		return Halt{HaltSwitch, "ttl_job_enable is OFF"}
	case s.Server != "":
		return Halt{HaltServer, s.Server}
	case !s.HasEngine():
		return Halt{HaltNoEngine, "no engine is running (see SHOW TTL NODES)"}
	}

	// The switch is on: a node that last said otherwise says so at its next beat.
	stopped := s.eachEngine(func(n *catalog.Node) bool { return n.Stop != "" && n.Stop != catalog.StopSwitch })
	switch {
	case len(stopped) == 0:
		return s.passing()
	case len(stopped) == 1:
		return Halt{HaltStopped, fmt.Sprintf("%s (on %s)", stopped[0].Status, stopped[0].Name)}
	default:
		return Halt{HaltStopped, fmt.Sprintf("%s (on %s; SHOW TTL NODES shows the others)", stopped[0].Status,
			stopped[0].Name)}
	}
}

// passing looks for what keeps everything from being deleted for a time.
func (s *Snapshot) passing() Halt {
	if closed := (catalog.Timing{}).Closed(s.Now, s.Window); closed != "" {
		return Halt{HaltWindow, closed}
	}
	if by := s.slowedBy(); by != "" && s.Throttle.Share <= 0 {
		return Halt{HaltSignal, "held back by " + by}
	}
	return Halt{}
}

// eachEngine lists the live engines if something is true of every one of them.
func (s *Snapshot) eachEngine(so func(*catalog.Node) bool) (all []*catalog.Node) {
	for i := range s.Nodes {
		n := &s.Nodes[i]
		if !n.Live || !n.Engine {
			continue
		}
		if !so(n) {
			return nil
		}
		all = append(all, n)
	}
	return all
}

// HeldBack is what slows the live engines down, if something does so on each of them: a limit.
func (s *Snapshot) HeldBack() string {
	slow := s.eachEngine(func(n *catalog.Node) bool { return n.Status != "" })
	if len(slow) == 0 {
		return ""
	}
	return slow[0].Status
}

// HasEngine reports whether a live node runs jobs.
func (s *Snapshot) HasEngine() bool {
	_, engines := s.LiveNodes()
	return engines > 0
}
