package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"

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
		if !s.IsLive(t.Node) {
			continue // it goes by nothing any more
		}
		for _, g := range t.Signals {
			measured := g.State == catalog.Measured
			l.add(catalog.Table{}, g.Name, orNull(g.Source), g.State, when(measured, g.Value),
				when(measured, g.Threshold), orNull(g.Unit), t.Age.Seconds()+g.Age, 100*g.Held, orNull(g.Detail),
				s.NodeName(t.Node))
		}
	}
	return l
}

// IsLive reports whether a node is there.
func (s *Snapshot) IsLive(node uint64) bool {
	return slices.ContainsFunc(s.Nodes, func(n catalog.Node) bool { return n.ID == node && n.Live })
}

// together is what the engines go by, of what each node has said: the share that one decides for all, and below it what
// its own checks leave each. All of them work on every job, so its speed is their mean.
func (s *Snapshot) together(said []catalog.Throttle) catalog.Throttle {
	all := catalog.Throttle{Decides: true, Share: 1}
	if len(said) > 0 && said[0].InForce() {
		all = said[0]
	}

	engines, shares := 0, 0.0
	var worst []catalog.Throttle // of those that go slower than all, the slowest first
	for n := range s.engines() {
		share := all.Share
		at := slices.IndexFunc(said, func(t catalog.Throttle) bool { return t.Node == n.ID })
		if at >= 0 && said[at].Fresh() && said[at].Own.Bounds() && said[at].Own.Share < share {
			share = said[at].Own.Share
			worst = append(worst, said[at])
		}
		engines, shares = engines+1, shares+share
	}

	if len(worst) > 0 {
		slices.SortStableFunc(worst, func(a, b catalog.Throttle) int { return cmp.Compare(a.Own.Share, b.Own.Share) })
		all.HeldBy = s.heldBy(all, worst, engines)
		all.Share, all.Decides, all.Age = shares/float64(engines), true, 0
	}
	return all
}

// heldBy names the check that holds the slowest of some engines back, and what holds the others back.
func (s *Snapshot) heldBy(all catalog.Throttle, worst []catalog.Throttle, engines int) string {
	by := worst[0].Own.HeldBy
	switch others := len(worst) - 1; {
	case engines == 1:
	case others == 0:
		by += fmt.Sprintf(" (on %s, one of %d)", s.NodeName(worst[0].Node), engines)
	default:
		by += fmt.Sprintf(" (on %s; %d of %d are held back)", s.NodeName(worst[0].Node), len(worst), engines)
	}
	if len(worst) < engines && all.HeldBy != "" {
		by += "; " + all.HeldBy
	}
	return by
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
