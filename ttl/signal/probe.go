package signal

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog/setting"
)

// Probe is how long a small change of our own takes. It goes the way of every change that the
// application makes, takes its turn on the same processors, and stands in the same queue for the
// redo log; but it is always the same change, so that nothing but the server can make it slower. And
// it is there at once: what is usual need not be learnt from applications, and no server has to
// count anything.
type Probe struct {
	write  func(context.Context) (time.Duration, error)
	recent float64 // milliseconds, half as much of them with each look
	usual  usual
	advice func(context.Context, Querier) string // where commits stand still

	made, slow atomic.Int64 // changes since they were asked for last
}

// NewProbe measures what write takes.
func NewProbe(write func(context.Context) (time.Duration, error)) *Probe {
	return &Probe{write: write, advice: logWriters}
}

const (
	// probesEach are made in a look while something is deleted, so far apart that one stall does not delay them all.
	probesEach = 4
	probesGap  = 100 * time.Millisecond
	// probesUntil is how long after the beginning of a look none is begun any more: one that stands still for a
	// tenth of a second has ended when the next look begins.
	probesUntil = 400 * time.Millisecond
	// leastProbe is by how much a probe may always take longer than usual.
	leastProbe = 0.5 // ms
	// stall is how long a change takes at least that stood in a queue which did not move.
	stall = 80 * time.Millisecond
)

// Name is what readings call it.
func (*Probe) Name() string { return "probe" }

// Read makes a few changes.
func (p *Probe) Read(ctx context.Context, l Look) ([]Reading, error) {
	percent := l.Settings.Int(setting.ThrottleProbe)
	if percent == 0 {
		p.recent = 0
		return nil, nil
	}

	p.usual.resume(l.Led)
	n := probesEach
	if l.Idle && p.usual.known() {
		n = 1
	}
	now, longest, ended, err := p.several(ctx, n)
	if err != nil {
		return nil, err
	}
	if p.recent == 0 {
		p.recent = now
	}
	p.recent = (p.recent + now) / 2

	if l.Resting && ended {
		p.usual.learn(now)
	}
	switch {
	case !p.usual.known():
		return notSeen("what is usual is learnt while the engine rests"), nil
	case l.Idle:
		return notSeen("nothing is deleted; usual is " + figure(p.usual.mean) + " ms"), nil
	case l.Alone:
		return notSeen(nobody + ": " + figure(p.recent) + " ms harm nobody"), nil
	}

	r := Reading{
		State: Measured, Value: p.recent, Unit: "ms",
		Threshold: p.threshold(float64(percent) / 100),
		Detail:    "usual is " + figure(p.usual.mean) + " ms",
	}
	if longest >= stall {
		r.Detail += p.advice(ctx, l.Server)
	}
	return []Reading{r}, nil
}

// threshold is what a change may take on average: so many times what is usual, and always less than one that does not
// end is seen to take, or that would never be too long.
func (p *Probe) threshold(times float64) float64 {
	most := (p.usual.mean + patience.Seconds()*1e3) / 2
	return min(max(p.usual.mean*times, p.usual.mean+leastProbe), most)
}

// count counts a change, if anything can be said about it.
func (p *Probe) count(took time.Duration) {
	if !p.usual.known() {
		return
	}
	p.made.Add(1)
	if took.Seconds()*1e3 > 2*p.usual.mean+2*leastProbe {
		p.slow.Add(1)
	}
}

// Slow is how many changes were made since the last call, and how many of them took over twice as long as usual: a
// thing that an average does not show.
func (p *Probe) Slow() (slow, made int64) { return p.slow.Swap(0), p.made.Swap(0) }

// logWriters is how waits of a tenth of a second can be had shorter on MySQL, which makes them where
// those who commit write the log themselves; empty where that is not so.
func logWriters(ctx context.Context, server Querier) string {
	var threads string
	err := server.QueryRowContext(ctx, "SELECT @@innodb_log_writer_threads").Scan(&threads)
	if err != nil || threads != "OFF" { // MariaDB has no such variable
		return ""
	}
	return "; commits stand still for a tenth of a second: innodb_log_writer_threads = ON makes that rare"
}

// once is how long one change takes, and whether it has ended by then. That it takes too long is an answer.
func (p *Probe) once(ctx context.Context) (took time.Duration, ended bool, err error) {
	took, err = p.write(ctx)
	if took > 0 && errors.Is(err, context.DeadlineExceeded) {
		return took, false, nil
	}
	return took, true, err
}

// several is how many milliseconds a change takes on average, how long the longest took, and whether all have ended.
func (p *Probe) several(ctx context.Context, most int) (mean float64, longest time.Duration, ended bool, err error) {
	began, n, sum := time.Now(), 0, time.Duration(0)
	ended = true
	for ctx.Err() == nil {
		took, inTime, err := p.once(ctx)
		if err != nil {
			return 0, 0, false, err
		}
		ended = ended && inTime
		n, sum, longest = n+1, sum+took, max(longest, took)
		p.count(took)
		if n == most || time.Since(began)+probesGap >= probesUntil {
			break
		}

		timer := time.NewTimer(probesGap)
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
		timer.Stop()
	}
	return (sum / time.Duration(max(n, 1))).Seconds() * 1e3, longest, ended, nil
}
