package signal

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// State is how a reading came about.
type State string

// The states of a reading.
const (
	Measured State = "measured" // Value is what it is now
	NotSeen  State = "not seen" // nothing here shows it: it decides nothing
	Unknown  State = "unknown"  // it could not be measured: nobody knows whether it is good
	Holds    State = "holds"    // it says itself that nothing may be deleted
)

// Reading is what a signal says about one of its sources.
type Reading struct {
	Signal    string // its name: that of its setting without ttl_throttle_
	Source    string // what was measured: a server, a file, an address
	State     State
	Value     float64
	Threshold float64
	Unit      string  // of both: ms, %, …
	Ahead     float64 // the value that decides, where it is to be expected soon; 0 where none is
	Hold      bool    // nothing may be deleted while it is Unknown
	Bounds    bool    // it bounds the speed where it is over the threshold, and has no pressure
	Detail    string  // why it is not measured, or what makes the value
	At        time.Time
}

// Pressure compares readings of different things: 1 at the threshold, infinite where nothing may be
// deleted, 0 where nothing is to be said.
func (r Reading) Pressure() float64 {
	switch r.State {
	case Holds:
		return math.Inf(1)
	case Measured:
		if r.Threshold > 0 && !r.Bounds {
			return max(cmp.Or(r.Ahead, r.Value), 0) / r.Threshold
		}
	case Unknown:
		if r.Hold {
			return math.Inf(1)
		}
	case NotSeen:
	}
	return 0
}

// finite reports whether a number can be compared and told: neither NaN nor infinite.
func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// Strict orders readings: what holds everything, then what is unknown, then by pressure.
func (r Reading) strict() float64 {
	if r.State == Unknown && !r.Hold {
		return math.MaxFloat64
	}
	return r.Pressure()
}

// Strictest is the reading that decides; false if there is none.
func Strictest(all []Reading) (strictest Reading, found bool) {
	for _, r := range all {
		if !found || r.strict() > strictest.strict() {
			strictest, found = r, true
		}
	}
	return strictest, found
}

// Worst are the strictest readings of each signal, no more than most of them, and one of each source, as text.
func Worst(all []Reading, most int) (worst []Reading) {
	sorted := slices.Clone(all)
	slices.SortStableFunc(sorted, func(a, b Reading) int { return cmp.Compare(b.strict(), a.strict()) })
	seen, sources := map[tallied]bool{}, map[string]int{}
	for _, r := range sorted {
		key := tallied{r.Signal, r.SourceText()}
		if seen[key] || sources[r.Signal] == most {
			continue
		}
		seen[key] = true
		sources[r.Signal]++
		worst = append(worst, r)
	}
	return worst
}

// SourceText is the source as text, which a server's name need not be.
func (r Reading) SourceText() string { return strings.ToValidUTF8(r.Source, "?") }

// String says what the reading says, for people: "replica_lag of db2:3306: 3.2 s > 1 s".
func (r Reading) String() string {
	name := r.Signal
	if r.Source != "" {
		name += " of " + r.Source
	}

	switch r.State {
	case Measured:
		return name + ": " + r.comparison()
	case NotSeen, Unknown:
		return fmt.Sprintf("%s: %s, %s", name, r.State, r.Detail)
	case Holds:
		return name + ": " + r.Detail
	}
	return name
}

// comparison says which of value and threshold is larger. They are not rounded to the same.
func (r Reading) comparison() string {
	sign, write := "<=", r.inSeconds
	if r.Value > r.Threshold {
		sign = ">"
		if write(r.Value) == write(r.Threshold) {
			write = r.quantity
		}
	}
	return write(r.Value) + " " + sign + " " + write(r.Threshold)
}

// inSeconds writes a number and its unit: a time of a second or more to the tenth of a second.
func (r Reading) inSeconds(v float64) string {
	if r.Unit != "ms" || math.Round(v) < 1000 {
		return r.quantity(v)
	}
	return strconv.FormatFloat(math.Round(v/100)/10, 'f', -1, 64) + " s"
}

// quantity writes a number and its unit.
func (r Reading) quantity(v float64) string {
	if r.Unit == "" {
		return figure(v)
	}
	return figure(v) + " " + r.Unit
}

// figure writes a number for people: of one that is not whole, three digits, or all before the
// point; never an exponent.
func figure(v float64) string {
	switch size := math.Abs(v); {
	case v == math.Trunc(v):
		return strconv.FormatFloat(v, 'f', -1, 64)
	case size >= 100 || size < 0.001:
		return strconv.FormatFloat(v, 'f', 0, 64)
	default:
		return strconv.FormatFloat(v, 'g', 3, 64)
	}
}
