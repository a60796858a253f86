package report

import (
	"fmt"
	"iter"

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

	if stopped, of := s.stoppedEngines(); len(stopped) == of {
		return Halt{HaltStopped, saidBy(stopped)}
	}
	return s.passing()
}

// stoppedEngines lists the live engines that delete nothing, each by itself, and counts all. One that says that it is
// switched off while the switch is on says otherwise at its next beat.
func (s *Snapshot) stoppedEngines() (nodes []*catalog.Node, of int) {
	for n := range s.engines() {
		of++
		if n.Stop != "" && n.Stop != catalog.StopSwitch {
			nodes = append(nodes, n)
		}
	}
	return nodes, of
}

// saidBy is what the first of some nodes says of itself.
func saidBy(nodes []*catalog.Node) string {
	others := ""
	if len(nodes) > 1 {
		others = "; SHOW TTL NODES shows the others"
	}
	return fmt.Sprintf("%s (on %s%s)", nodes[0].Status, nodes[0].Name, others)
}

// SomeStopped says which engines delete nothing while others do. It is empty if none or all are stopped: see Halt.
func (s *Snapshot) SomeStopped() string {
	nodes, of := s.stoppedEngines()
	if len(nodes) == 0 || len(nodes) == of {
		return ""
	}
	return fmt.Sprintf("%d of %d engines: %s", len(nodes), of, saidBy(nodes))
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

// engines are the live nodes that run jobs.
func (s *Snapshot) engines() iter.Seq[*catalog.Node] {
	return func(yield func(*catalog.Node) bool) {
		for i := range s.Nodes {
			if n := &s.Nodes[i]; n.Live && n.Engine && !yield(n) {
				return
			}
		}
	}
}

// HeldBack is what slows the live engines down, if something does so on each of them: a limit.
func (s *Snapshot) HeldBack() (why string) {
	for n := range s.engines() {
		if n.Status == "" {
			return ""
		}
		if why == "" {
			why = n.Status
		}
	}
	return why
}

// HasEngine reports whether a live node runs jobs.
func (s *Snapshot) HasEngine() bool {
	_, engines := s.LiveNodes()
	return engines > 0
}
