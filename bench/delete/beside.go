package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/ttlproxy/ttlproxy/sandbox"
)

// outcome is what the runs of one way gave.
type outcome struct {
	felt       []time.Duration // by the busy application
	done       int             // that were answered while it was busy
	failed     int             // at any time
	busyFor    time.Duration
	speeds     [3][]float64 // rows a second: in all, beside the busy application, beside the idle one
	backOffs   []time.Duration
	lags       []time.Duration
	last       series // of the last run
	unmeasured string // why there is nothing
}

// beside runs all ways on one server beside an application, and tells what that feels.
func beside(ctx context.Context, flavour sandbox.Flavour, o options, out io.Writer) error {
	b, err := newBench(ctx, flavour, o)
	if err != nil {
		return err
	}
	defer b.close(context.WithoutCancel(ctx))
	if err := b.openEyes(ctx); err != nil {
		return err
	}

	fmt.Fprintf(out, "%s %s, %d rows of about 200 bytes, half expired; the application: %g statements/s, ",
		flavour, b.version, o.rows, o.rate)
	if o.step > 0 {
		fmt.Fprintf(out, "and %g by turns of %v; ", o.idleRate, o.step)
	}
	fmt.Fprintf(out, "runs: %d", o.runs)
	if o.set != "" {
		fmt.Fprintf(out, "; ttlproxy with %s", o.set)
	}
	fmt.Fprintln(out)

	ctx, stop := context.WithCancel(ctx)
	var g errgroup.Group
	if b.replica != nil {
		g.Go(func() error { return b.beats(ctx) })
	}

	all := map[string]*outcome{}
	err = b.turns(func(w way) error {
		if all[w.name] == nil {
			all[w.name] = &outcome{}
		}
		return b.once(ctx, w, all[w.name])
	})
	stop()
	if err := errors.Join(err, g.Wait()); err != nil {
		return err
	}

	b.print(out, all)
	b.printBars(out, all)
	if o.plot == "" {
		return nil
	}
	return b.picture(o.plot, string(flavour), all)
}

// once runs a way beside the application and adds what came of it.
func (b *bench) once(ctx context.Context, w way, o *outcome) (err error) {
	if err := b.fill(ctx); err != nil {
		return err
	}
	if err := b.level(ctx); err != nil {
		return err
	}

	l := &load{db: b.db, rows: b.rows, busy: b.rate, idle: b.idleRate, step: b.step}
	if w.program {
		end, err := b.launch(ctx)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, end()) }()
	}
	if w.through {
		if l.db, err = b.clients(); err != nil {
			return err
		}
		defer l.db.Close()
	}

	seen := b.watch(ctx)
	felt, err := l.start(ctx)
	if err != nil {
		_, stopped := seen()
		return errors.Join(err, stopped)
	}

	rows, took, err := w.run(ctx, b)
	until := time.Now()
	all, failed := felt()
	watched, unwatched := seen()
	if left, ok := errors.AsType[*leftOut](err); ok {
		o.unmeasured = left.why
		return errors.Join(failed, unwatched)
	}
	if err := errors.Join(err, failed, unwatched); err != nil {
		return err
	}

	o.add(l, all, until)
	o.judge(watched, l, until)
	o.last = newSeries(l, all, watched, until)
	if rows > 0 {
		o.speeds[0] = append(o.speeds[0], float64(rows)/took.Seconds())
	}

	return nil
}

// add takes what the application felt.
func (o *outcome) add(l *load, all []felt, until time.Time) {
	for _, f := range all {
		if f.failed {
			o.failed++
		}
		if l.busyAt(f.arrived) {
			o.felt = append(o.felt, f.took)
		}
		if answered := f.arrived.Add(f.took); !f.failed && l.busyAt(answered) && answered.Before(until) {
			o.done++
		}
	}

	if l.step <= 0 {
		o.busyFor += until.Sub(l.began)
		return
	}
	whole := until.Sub(l.began) / (2 * l.step)
	o.busyFor += whole*l.step + min(until.Sub(l.began)-2*whole*l.step, l.step)
}

// judge takes what was seen of server and replica.
func (o *outcome) judge(w *watch, l *load, until time.Time) {
	idle := func(t time.Time) bool { return !l.busyAt(t) }
	if speed := w.speed(l.busyAt, until); speed > 0 {
		o.speeds[1] = append(o.speeds[1], speed)
	}
	if speed := w.speed(idle, until); speed > 0 {
		o.speeds[2] = append(o.speeds[2], speed)
	}

	if back, known := w.backOff(l, until); known {
		o.backOffs = append(o.backOffs, back)
	}
	o.lags = append(o.lags, w.lags...)
}

// print shows one line for each way.
func (b *bench) print(out io.Writer, all map[string]*outcome) {
	fmt.Fprintf(out, "  %-17s %8s %8s %8s %8s %8s %7s %9s %9s %9s %8s %8s\n", "", "p50 ms", "p95", "p99", "max",
		"st/s", "failed", "rows/s", "busy", "idle", "back off", "lag p99")
	for _, w := range ways {
		o := all[w.name]
		if o == nil || !b.wants(w) {
			continue
		}
		if o.unmeasured != "" {
			fmt.Fprintf(out, "  %-17s left out: %s\n", w.name, o.unmeasured)
			continue
		}

		ms := func(share float64) float64 { return at(o.felt, share).Seconds() * 1e3 }
		fmt.Fprintf(out, "  %-17s %8.1f %8.1f %8.1f %8.1f %8.0f %7d %9s %9s %9s %8s %8s  %s\n", w.name,
			ms(0.5), ms(0.95), ms(0.99), ms(1), o.answered(), o.failed,
			median(o.speeds[0]), median(o.speeds[1]), median(o.speeds[2]), o.back(), o.lag(), w.text)
	}
}

// answered are the busy application's statements a second.
func (o *outcome) answered() float64 { return float64(o.done) / o.busyFor.Seconds() }

// slowest is the longest time in seconds that it took to make way for the application, without an end if it never did.
func (o *outcome) slowest() (worst float64, known bool) {
	if len(o.backOffs) == 0 {
		return 0, false
	}
	if slices.Min(o.backOffs) < 0 {
		return math.Inf(1), true
	}
	return slices.Max(o.backOffs).Seconds(), true
}

func (o *outcome) back() string {
	switch worst, known := o.slowest(); {
	case !known:
		return "-"
	case math.IsInf(worst, 1):
		return "never"
	default:
		return fmt.Sprintf("%.1f s", worst)
	}
}

func (o *outcome) lag() string {
	if len(o.lags) == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f s", at(o.lags, 0.99).Seconds())
}

func median(all []float64) string {
	if len(all) == 0 {
		return "-"
	}
	return fmt.Sprintf("%.0f", middle(all))
}

// middle is the median, and 0 for none.
func middle(all []float64) float64 {
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// at is the value below which a share of all are.
func at(all []time.Duration, share float64) time.Duration {
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[min(int(share*float64(len(all))), len(all)-1)]
}
