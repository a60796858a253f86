package main

import (
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// series is what a run was like, over time: the last one of a way.
type series struct {
	step    time.Duration // between two changes of the load; it begins busy
	latency []point       // milliseconds that 99 % of the statements took at most
	rows    []point       // deleted per second
}

// point is a value at so many seconds from the beginning.
type point struct{ at, value float64 }

const (
	// plotBucket is what one point is about.
	plotBucket = 250 * time.Millisecond
	// plotSteps are as many changes of the load as a plot shows.
	plotSteps = 8
)

// plotted are the ways that a plot compares: the last one is drawn over the others.
var plotted = []struct{ name, class, text string }{
	{"unthrottled", "g", "ttl_throttle_… off"},
	{"ttlproxy", "d", "default settings"},
}

// newSeries takes what the application felt and what was seen of the server until then.
func newSeries(l *load, all []felt, w *watch, until time.Time) series {
	s := series{step: l.step}
	buckets := map[int][]time.Duration{}
	for _, f := range all {
		if f.arrived.Before(until) {
			n := int(f.arrived.Sub(l.began) / plotBucket)
			buckets[n] = append(buckets[n], f.took)
		}
	}
	for n := range int(until.Sub(l.began)/plotBucket) + 1 {
		if took := buckets[n]; len(took) > 0 {
			at := (time.Duration(n)*plotBucket + plotBucket/2).Seconds()
			s.latency = append(s.latency, point{at, atShare(took, 0.99).Seconds() * 1e3})
		}
	}

	before := sample{}
	for _, now := range w.deleted {
		took := now.at.Sub(before.at)
		switch {
		case before.at.IsZero():
			before = now
		case took >= plotBucket && !now.at.After(until) && before.at.After(l.began):
			middle := before.at.Add(took / 2).Sub(l.began).Seconds()
			s.rows = append(s.rows, point{middle, float64(now.rows-before.rows) / took.Seconds()})
			before = now
		case took >= plotBucket:
			before = now
		}
	}
	return s
}

// picture writes one of the ways that it compares into a folder; none if they were not run.
func (b *bench) picture(folder, flavour string, all map[string]*outcome) error {
	runs := map[string]series{}
	for _, p := range plotted {
		if o := all[p.name]; o != nil && len(o.last.latency) > 0 {
			runs[p.name] = o.last
		}
	}
	if len(runs) == 0 {
		return nil
	}

	var text strings.Builder
	version, _, _ := strings.Cut(b.version, "-")
	draw(&text, flavour+" "+version, runs)
	name := filepath.Join(folder, "throttle-"+flavour+".svg")
	return os.WriteFile(name, []byte(text.String()), 0o644) //nolint:gosec // a page shows it
}

// panel is one of the two diagrams of a plot.
type panel struct {
	top    float64
	title  string
	ticks  []float64
	height func(value float64) float64 // from 0 at the bottom to 1
	of     func(series) []point
}

const (
	plotWidth, plotLeft, plotRight = 860.0, 70.0, 840.0
	panelHeight                    = 130.0
)

// draw writes the picture.
func draw(out io.Writer, server string, runs map[string]series) {
	seconds, step, most := 0.0, time.Duration(0), 1.0
	for _, s := range runs {
		step = s.step
		seconds = max(seconds, s.latency[len(s.latency)-1].at)
		for _, p := range s.rows {
			most = max(most, p.value)
		}
	}
	if step > 0 {
		seconds = min(seconds, plotSteps*step.Seconds())
	}
	x := func(at float64) float64 { return plotLeft + at/seconds*(plotRight-plotLeft) }

	fmt.Fprintf(out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f 400" role="img" aria-label="`+
		`Latency of an application and rows deleted per second, while it is busy and idle by turns">
%s<text class="h" x="%.0f" y="22">%s: an application that is busy (shaded) and idle by turns</text>
`, plotWidth, plotStyle, plotLeft, server)

	for _, p := range []panel{
		{
			60, "99 % of its statements take at most, ms",
			[]float64{1, 10, 100, 1000},
			func(v float64) float64 { return (math.Log10(max(v, 0.3)) + 0.5) / 3.5 },
			func(s series) []point { return s.latency },
		},
		{
			230, "rows deleted per second", roundTicks(most),
			func(v float64) float64 { return v / most },
			func(s series) []point { return s.rows },
		},
	} {
		p.draw(out, x, seconds, step.Seconds(), runs)
	}

	for i, p := range plotted {
		left := plotLeft + 240*float64(i)
		fmt.Fprintf(out, `<path class="%s" d="M%.0f 386h30"/><text class="s" x="%.0f" y="390">%s</text>`+"\n",
			p.class, left, left+38, p.text)
	}
	fmt.Fprintln(out, "</svg>")
}

func (p panel) draw(out io.Writer, x func(float64) float64, seconds, step float64, runs map[string]series) {
	bottom := p.top + panelHeight
	for at := 0.0; step > 0 && at < seconds; at += 2 * step {
		fmt.Fprintf(out, `<rect class="b" x="%.1f" y="%.0f" width="%.1f" height="%.0f"/>`+"\n",
			x(at), p.top, x(min(at+step, seconds))-x(at), panelHeight)
	}
	fmt.Fprintf(out, `<text class="s" x="%.0f" y="%.0f">%s</text>`+"\n", plotLeft, p.top-8, p.title)
	for _, tick := range p.ticks {
		y := bottom - p.height(tick)*panelHeight
		fmt.Fprintf(out, `<path class="t" d="M%.0f %.1fH%.0f"/><text class="s e" x="%.0f" y="%.1f">%.0f</text>`+"\n",
			plotLeft, y, plotRight, plotLeft-8, y+4, tick)
	}
	for at := 0.0; step > 0 && at <= seconds; at += step {
		fmt.Fprintf(out, `<text class="s m" x="%.1f" y="%.0f">%.0f s</text>`+"\n", x(at), bottom+16, at)
	}

	for _, way := range plotted {
		s, ran := runs[way.name]
		if !ran {
			continue
		}
		var path []string
		for _, v := range p.of(s) {
			if v.at <= seconds {
				height := min(max(p.height(v.value), 0), 1)
				path = append(path, fmt.Sprintf("%.1f %.1f", x(v.at), bottom-height*panelHeight))
			}
		}
		if len(path) > 0 { // a run may be over before there is a speed
			fmt.Fprintf(out, `<path class="%s" d="M%s"/>`+"\n", way.class, strings.Join(path, "L"))
		}
	}
}

// roundTicks are two or three round numbers up to most.
func roundTicks(most float64) (all []float64) {
	unit := math.Pow(10, math.Floor(math.Log10(most)))
	if most/unit < 2 {
		unit /= 2
	} else if most/unit >= 5 {
		unit *= 2
	}
	for v := unit; v <= most; v += unit {
		all = append(all, v)
	}
	return all
}

// atShare is [at] of a list that stays as it is.
func atShare(all []time.Duration, share float64) time.Duration { return at(slices.Clone(all), share) }

const plotStyle = `<style>
  text { font: 13px -apple-system, "Segoe UI", Helvetica, Arial, sans-serif; fill: #1f2328 }
  .h { font-weight: 600 }
  .s { fill: #59636e; font-size: 11.5px } .e { text-anchor: end } .m { text-anchor: middle }
  .b { fill: #f0f2f4 } .t { stroke: #d1d9e0; fill: none }
  .g { fill: none; stroke: #afb8c1; stroke-width: 1.4 } .d { fill: none; stroke: #0969da; stroke-width: 1.8 }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 } .s { fill: #9198a1 } .b { fill: #161b22 } .t { stroke: #3d444d }
    .g { stroke: #656c76 } .d { stroke: #58a6ff }
  }
</style>
`
