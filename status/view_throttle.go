package status

import (
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
)

// throttleView is how fast rows may be deleted, and what may hold that back.
type throttleView struct {
	Share    float64       `json:"share"`   // of the full speed
	HeldBy   string        `json:"held_by"` // the signal that keeps it below 1; empty if none does
	Readings []readingView `json:"readings"`
}

// readingView is what a signal says.
type readingView struct {
	Signal    string    `json:"signal"`
	Source    string    `json:"source"`
	State     string    `json:"state"`
	Value     *float64  `json:"value"` // null unless it was measured
	Threshold *float64  `json:"threshold"`
	Unit      string    `json:"unit"`
	Detail    string    `json:"detail"`
	Held      float64   `json:"held"` // share of the last hour in which it held deletion back
	At        time.Time `json:"at"`
	Node      string    `json:"node"`
}

func viewThrottle(l *snapshot) throttleView {
	v := throttleView{Share: 1, Readings: []readingView{}}
	if l.Throttle.InForce() {
		v.Share, v.HeldBy = l.Throttle.Share, l.Throttle.HeldBy
	}

	for _, t := range l.throttles {
		if !l.IsLive(t.Node) {
			continue
		}
		for _, g := range t.Signals {
			measured := g.State == catalog.Measured
			v.Readings = append(v.Readings, readingView{
				g.Name, g.Source, g.State, known(measured, g.Value), known(measured, g.Threshold), g.Unit, g.Detail,
				g.Held, t.At.Add(-time.Duration(g.Age * float64(time.Second))), l.NodeName(t.Node),
			})
		}
	}
	return v
}
