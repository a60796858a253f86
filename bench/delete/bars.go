package main

import (
	"fmt"
	"io"
)

// bar is what ttlproxy with default settings should reach beside an application, compared with another way of the same
// run.
type bar struct {
	what  string
	than  string // the other way; empty for a bound of its own
	got   func(o, than *outcome) (figure float64, known bool)
	bound float64
	least bool // the bound is the least, not the most
}

// steppingBars are those of an application that is busy and idle by turns, steadyBars those of one that is always busy.
var (
	steppingBars = []bar{
		{"p99 of the busy application", "alone", p99Than, 1.1, false},
		{"its statements a second", "alone", answeredThan, 0.95, true},
		{"rows a second while it is idle", "unthrottled", idleThan, 0.9, true},
		{"back off, in seconds", "", func(o, _ *outcome) (float64, bool) { return o.slowest() }, 1, false},
		{"p99 of the replica's lag, in seconds", "", p99Lag, 1.2, false},
	}
	steadyBars = []bar{
		{"p99 of the application", "alone", p99Than, 2, false},
		{"p99 of the application", "pt-archiver", p99Than, 1, false},
		{"rows a second", "pt-archiver", speedThan, 1.5, true},
		{"p99 of the replica's lag, in seconds", "", p99Lag, 1.2, false},
	}
)

// printBars says of each bar whether it is met. Two processors for application, server and replica do not let all be.
func (b *bench) printBars(out io.Writer, all map[string]*outcome) {
	o := all["ttlproxy"]
	if o == nil || o.unmeasured != "" {
		return
	}

	bars := steadyBars
	if b.step > 0 {
		bars = steppingBars
	}
	for _, x := range bars {
		than := all[x.than]
		if x.than != "" && (than == nil || than.unmeasured != "") {
			continue
		}
		fmt.Fprintf(out, "  bar: %s\n", x.judge(o, than))
	}
}

func (x bar) judge(o, than *outcome) string {
	line, times := x.what, ""
	if x.than != "" {
		times = " × " + x.than
	}
	figure, known := x.got(o, than)
	if !known {
		return line + times + ": not known"
	}

	order, met := "at most", figure <= x.bound
	if x.least {
		order, met = "at least", figure >= x.bound
	}
	verdict := "missed"
	if met {
		verdict = "met"
	}
	return fmt.Sprintf("%s: %.2f%s, %s %g: %s", line, figure, times, order, x.bound, verdict)
}

func ratio(a, b float64) (float64, bool) { return a / b, a > 0 && b > 0 }

func p99Than(o, than *outcome) (float64, bool) {
	return ratio(at(o.felt, 0.99).Seconds(), at(than.felt, 0.99).Seconds())
}

func answeredThan(o, than *outcome) (float64, bool) { return ratio(o.answered(), than.answered()) }

func speedThan(o, than *outcome) (float64, bool) {
	return ratio(middle(o.speeds[0]), middle(than.speeds[0]))
}

// idleThan compares with the other way's speed in all if it had nothing left to do when the application was idle.
func idleThan(o, than *outcome) (float64, bool) {
	other := middle(than.speeds[2])
	if other == 0 {
		other = middle(than.speeds[0])
	}
	return ratio(middle(o.speeds[2]), other)
}

func p99Lag(o, _ *outcome) (float64, bool) { return at(o.lags, 0.99).Seconds(), len(o.lags) > 0 }
