package report

import (
	"fmt"
	"math"

	"github.com/ttlproxy/ttlproxy/catalog"
)

var throttleColumns = []Column{
	{Name: "Signal", Type: Name},
	{Name: "Source", Type: Text},
	{Name: "State", Type: Name},
	{Name: "Value", Type: Decimal},
	{Name: "Threshold", Type: Decimal},
	{Name: "Unit", Type: Name},
	{Name: "Seconds_old", Type: Decimal},
	{Name: "Held_percent", Type: Decimal},
	{Name: "Detail", Type: LongText},
	{Name: "Node", Type: Text},
}

// listThrottle is SHOW TTL THROTTLE: what may hold deletion back, and what has done so in the last
// hour.
func listThrottle(s *Snapshot, all []catalog.Throttle) List {
	l := List{Name: "ttl_throttle", Columns: throttleColumns, Like: "Signal"}
	for _, t := range all {
		for _, g := range t.Signals {
			measured := g.State == catalog.Measured
			l.add(catalog.Table{}, g.Name, orNull(g.Source), g.State, when(measured, g.Value),
				when(measured, g.Threshold), orNull(g.Unit), t.Age.Seconds()+g.Age, 100*g.Held, orNull(g.Detail),
				s.NodeName(t.Node))
		}
	}
	return l
}

// slowedBy is the signal that holds all jobs back; empty if none does.
func (s *Snapshot) slowedBy() string {
	if s.Throttle.Share >= 1 || !s.Throttle.InForce() {
		return ""
	}
	return s.Throttle.HeldBy
}

// slowed says at what part of their speed jobs delete now, and why; empty at full speed.
func (s *Snapshot) slowed() string {
	by := s.slowedBy()
	if by == "" {
		return ""
	}
	return fmt.Sprintf("at %s of its speed, held back by %s", percent(s.Throttle.Share), by)
}

// percent writes a share with as many digits as say something, and never with an exponent.
func percent(share float64) string {
	switch p := share * 100; {
	case p <= 0:
		return "0 %"
	case p < 0.1:
		return "under 0.1 %"
	case p < 10:
		return fmt.Sprintf("%.2g %%", p)
	default:
		return fmt.Sprintf("%.0f %%", math.Round(p))
	}
}

// speed is how fast nodes may delete, for SHOW TTL STATUS.
func (s *Snapshot) speed() string {
	if !s.Throttle.InForce() {
		return percent(1)
	}
	return percent(s.Throttle.Share)
}
