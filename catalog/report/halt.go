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
	HaltNoEngine HaltCode = "no engine"
	HaltStopped  HaltCode = "stopped" // each engine by itself: see catalog.Stop
)

// HaltCodes are all there are.
func HaltCodes() []HaltCode {
	return []HaltCode{HaltHeld, HaltPaused, HaltSwitch, HaltNoEngine, HaltStopped}
}

// Halt says why nothing is deleted anywhere. It is zero when something may be.
type Halt struct {
	Code HaltCode
	Why  string
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
	case !s.HasEngine():
		return Halt{HaltNoEngine, "no engine is running (see SHOW TTL NODES)"}
	}

	// The switch is on: a node that last said otherwise says so at its next beat.
	stopped := s.eachEngine(func(n *catalog.Node) bool { return n.Stop != "" && n.Stop != catalog.StopSwitch })
	switch {
	case len(stopped) == 0:
		return Halt{}
	case len(stopped) == 1:
		return Halt{HaltStopped, fmt.Sprintf("%s (on %s)", stopped[0].Status, stopped[0].Name)}
	default:
		return Halt{HaltStopped, fmt.Sprintf("%s (on %s; SHOW TTL NODES shows the others)", stopped[0].Status,
			stopped[0].Name)}
	}
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
