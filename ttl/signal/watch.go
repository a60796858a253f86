package signal

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ttlproxy/ttlproxy/ddl"
)

const (
	// patience is how long a signal may take to answer.
	patience = time.Second
	// promptly is how long a look waits for the slowest.
	promptly = 200 * time.Millisecond
	// fresh is how long the last readings of a signal stand while it does not answer: one lost
	// packet is no reason to slow down.
	fresh = 3 * time.Second
)

// Watch asks signals and remembers what they said last.
type Watch struct {
	mu    sync.Mutex
	posts []*post
	asked asked
	look  Look // the last one
}

// post is one signal with what it has said.
type post struct {
	signal   Signal
	asking   bool
	readings []Reading // what it said last
	doubtful time.Time // the first question since then
	failed   string    // why that was not answered
}

// NewWatch watches signals.
func NewWatch(signals ...Signal) *Watch {
	w := &Watch{}
	for _, s := range signals {
		w.posts = append(w.posts, &post{signal: s})
	}
	return w
}

// Ask asks every signal that has answered the last question, and returns when all have, or after a
// moment. Signals that take longer go on; their answers count when they come.
func (w *Watch) Ask(ctx context.Context, l Look) {
	var asked sync.WaitGroup
	l.Server = &counters{Querier: l.Server, asked: &w.asked}
	w.mu.Lock()
	w.look = l
	for _, p := range w.posts {
		if p.asking {
			continue
		}
		if p.asking = true; p.doubtful.IsZero() {
			p.doubtful = time.Now()
		}
		asked.Go(func() {
			readings, err := p.ask(ctx, l)
			w.take(p, readings, err)
		})
	}
	w.mu.Unlock()

	all := make(chan struct{})
	go func() { // and whoever waits for it: a signal that never answers is asked no more
		asked.Wait()
		close(all)
	}()

	timer := time.NewTimer(promptly)
	defer timer.Stop()
	select {
	case <-all:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// ask is one question. A panic is an error, too.
func (p *post) ask(ctx context.Context, l Look) (readings []Reading, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	defer func() {
		if broken := recover(); broken != nil {
			err = fmt.Errorf("it failed: %v", broken)
		}
	}()

	readings, err = p.signal.Read(ctx, l)
	for i := range readings {
		r := &readings[i]
		r.Signal, r.At = cmp.Or(r.Signal, p.signal.Name()), time.Now()
		r.Source, r.Detail = brief(r.Source), brief(r.Detail)
		if !finite(r.Value) || !finite(r.Threshold) || !finite(r.Ahead) { // good or bad, nobody can say
			r.State, r.Value, r.Threshold, r.Ahead, r.Detail = Unknown, 0, 0, 0, "what was measured is no number"
		}
	}
	return readings, err
}

func (w *Watch) take(p *post, readings []Reading, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()

	p.asking = false
	if err != nil {
		p.failed = brief(err.Error())
		return
	}
	p.readings, p.doubtful, p.failed = readings, time.Time{}, ""
}

// doubts are what is not known of a signal that has not answered for so long.
func (p *post) doubts(l Look, silent time.Duration) []Reading {
	all := []Reading{{}}
	if d, ok := p.signal.(Doubter); ok {
		if named := d.Doubtful(l); len(named) > 0 {
			all = named
		}
	}
	for i := range all {
		r := &all[i]
		r.Signal, r.Source, r.State, r.At = p.signal.Name(), brief(r.Source), Unknown, p.doubtful
		if r.Detail = p.failed; r.Detail == "" {
			r.Detail = fmt.Sprintf("it has not answered for %s", ddl.FormatDuration(silent))
		}
	}
	return all
}

// Readings are what the signals said last, by signal and source. One that has not answered for long
// is Unknown.
func (w *Watch) Readings() []Reading {
	w.mu.Lock()
	defer w.mu.Unlock()

	var all []Reading
	for _, p := range w.posts {
		silent := time.Since(p.doubtful)
		if p.doubtful.IsZero() || silent <= fresh {
			all = append(all, p.readings...)
			continue
		}

		all = append(all, p.doubts(w.look, silent)...)
	}

	slices.SortFunc(all, func(a, b Reading) int {
		return strings.Compare(a.Signal+"\x00"+a.Source, b.Signal+"\x00"+b.Source)
	})
	return all
}
