package proxy

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/ttlproxy/ttlproxy/panics"
	"github.com/ttlproxy/ttlproxy/proxy/wire"
)

// State is what is known about a backend.
type State int

// The states, from nothing known to not answering.
const (
	Unknown  State = iota // not checked, or could not be found out; counts as writable
	Writable              // healthy and writable
	Desynced              // writable, but not in step with its cluster
	ReadOnly              // healthy, but refuses writes, or lets them wait
	Down                  // does not answer, or not like a server that has something to say
)

// String is the state as logs and metrics name it.
func (s State) String() string {
	return [...]string{"unknown", "writable", "desynced", "read-only", "down"}[s]
}

// rank orders backends for new sessions.
func (s State) rank() int { return [...]int{0, 0, 1, 2, 3}[s] }

// Health is what was found out about a backend.
type Health struct {
	Address string
	State   State
	Reason  string // why it is not writable, or why that is unknown
	Current bool   // it takes the new sessions
	Drained bool   // its operator has taken it out of service
}

const (
	// failuresToDown is how many successive checks must fail before a backend counts as down: one
	// may have met a busy moment.
	failuresToDown = 2
	// secondCheck is how long after a failed check the next one comes.
	secondCheck = 250 * time.Millisecond
)

// Run checks the backends until ctx ends, each by a clock of its own: one that does not answer
// delays no check of another.
//
//	            ┌──────────────── two checks fail ─────────────────┐
//	            │                                                  ▼
//	unknown, writable ◄─── it can be written to ───┐              down
//	            │                                  │               │
//	            └─ @@read_only ──► read-only, desynced ◄── it answers ┘
//
// A session that a backend lets wait, or fails, has it checked, too. What goes wrong on this
// machine changes nothing.
//
// A single backend is checked like several: there is nothing to choose, but readiness and metrics
// report it. Without an account only those that are down are checked: to the server, a check that
// ends at the greeting is a failed login, and it blocks hosts that have too many in succession
// (max_connect_errors).
func (b *Backends) Run(ctx context.Context) error {
	var watching sync.WaitGroup
	defer watching.Wait()
	watched := make(map[*backend]context.CancelFunc)

	for {
		b.mu.Lock()
		list, changed := b.list, b.changed
		b.mu.Unlock()

		for k, stop := range watched {
			if !slices.Contains(list, k) {
				stop()
				delete(watched, k)
			}
		}
		for _, k := range list {
			if watched[k] == nil {
				one, stop := context.WithCancel(ctx)
				watched[k] = stop
				watching.Go(func() { b.watch(one, k) })
			}
		}

		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		}
	}
}

// watch checks one backend at intervals.
func (b *Backends) watch(ctx context.Context, k *backend) {
	for {
		b.mu.Lock()
		config := b.config
		due := config.CheckUser != "" || k.health.State == Down
		b.followWriter() // it may be time, though nothing has changed
		b.mu.Unlock()
		if due {
			b.check(ctx, k)
		}
		if !rest(ctx, config.CheckInterval) {
			return
		}
	}
}

// suspect has a backend checked for a session that has trouble with it, once for all sessions that
// do, and returns what was found.
func (b *Backends) suspect(ctx context.Context, k *backend) Health {
	select {
	case <-b.look(ctx, k):
	case <-ctx.Done():
	}
	return b.known(k)
}

// look has a backend checked, unless that is going on, and returns a channel that is closed when it
// is done.
func (b *Backends) look(ctx context.Context, k *backend) <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if k.examined != nil {
		return k.examined
	}

	done := make(chan struct{})
	k.examined = done
	go func() {
		b.check(context.WithoutCancel(ctx), k) // which takes two checks at most
		b.mu.Lock()
		k.examined = nil
		b.mu.Unlock()
		close(done)
	}()
	return done
}

// known is what is known about a backend.
func (b *Backends) known(k *backend) Health {
	b.mu.Lock()
	defer b.mu.Unlock()
	return k.health
}

// check examines a backend until there is no doubt about it.
func (b *Backends) check(ctx context.Context, k *backend) {
	for {
		b.mu.Lock()
		config := b.config
		b.mu.Unlock()

		h, sound := b.examine(ctx, k, config)
		if !sound || b.judge(k, h) {
			return
		}
		if !rest(ctx, min(secondCheck, config.CheckInterval)) {
			return
		}
	}
}

// judge decides what a check means, and reports whether there is no doubt left.
func (b *Backends) judge(k *backend, h Health) bool {
	b.mu.Lock()
	k.failures++
	if h.State != Down {
		k.failures = 0
	}
	doubtful := h.State == Down && k.failures < failuresToDown
	b.mu.Unlock()
	if !doubtful {
		b.set(k, h)
	}
	return !doubtful
}

// examine examines one backend. It is not sound if something else ended it: us, this machine, or a
// process that was given no time.
func (b *Backends) examine(ctx context.Context, k *backend, config BackendsConfig) (h Health, sound bool) {
	began := time.Now()
	limited, cancel := context.WithTimeout(ctx, config.CheckTimeout)
	defer cancel()

	err := panics.Caught(func() (err error) {
		if config.CheckUser != "" {
			h, err = b.ask(limited, k, config)
			return err
		}
		return b.greets(limited, k.address)
	})
	if bug, ok := errors.AsType[*panics.Error](err); ok {
		bug.Log(b.log, "while a backend was examined", slog.String("backend", k.String()))
		return Health{}, false
	}

	switch late := time.Since(began) > config.CheckTimeout*3/2; {
	case ctx.Err() != nil, err != nil && (late || local(err)):
		return h, false
	case err != nil:
		return Health{State: Down, Reason: err.Error()}, true
	default:
		return h, true
	}
}

// greets reports an error unless the backend greets like one that would let clients in.
func (b *Backends) greets(ctx context.Context, a address) error {
	c, err := b.connect(ctx, a, nil, nil)
	if err != nil {
		return err
	}

	payload, seq, err := b.readGreeting(ctx, c, a)
	if err != nil {
		return err
	}
	defer c.Close()

	if payload[0] == wire.AuthError {
		var e wire.Error
		if err := e.Decode(payload); err != nil {
			return err
		}
		return &e
	}

	var g wire.Greeting
	if err := g.Decode(payload); err != nil {
		return err
	}

	p := progress{greeting: &g}
	p.asks(seq)
	p.conclude(c)
	return nil
}
