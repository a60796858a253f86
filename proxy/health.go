package proxy

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/ttlproxy/ttlproxy/proxy/wire"
)

// State is what is known about a backend.
type State int

// The states, from nothing known to not answering.
const (
	Unknown  State = iota // not checked, or could not be found out; counts as writable
	Writable              // healthy and writable
	ReadOnly              // healthy, but refuses writes
	Down                  // does not answer, or not like a server
)

// String is the state as logs and metrics name it.
func (s State) String() string { return [...]string{"unknown", "writable", "read-only", "down"}[s] }

// rank orders backends for new sessions.
func (s State) rank() int { return [...]int{0, 0, 1, 2}[s] }

// Health is what was found out about a backend.
type Health struct {
	Address string
	State   State
	Reason  string // why it is not writable, or why that is unknown
	Current bool   // it takes the new sessions
}

// failuresToDown is how many successive checks must fail before a backend counts as down: one may
// have met a busy moment. If a session cannot reach it, that needs no second opinion.
const failuresToDown = 2

// Run checks the backends at intervals until ctx ends.
//
//	            ┌── a session cannot reach it, or two looks fail ──┐
//	            │                                                  ▼
//	unknown, writable ◄─── it can be written to ───┐              down
//	            │                                  │               │
//	            └─────── @@read_only ────► read-only ◄── it answers ┘
//
// A single backend is checked like several: there is nothing to choose, but readiness and metrics
// report it. Without an account only those that are down are checked: to the server, a check that
// ends at the greeting is a failed login, and it blocks hosts that have too many in succession
// (max_connect_errors).
func (b *Backends) Run(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		}
		timer.Reset(b.check(ctx))
	}
}

// check checks all backends at once and returns when to check again.
func (b *Backends) check(ctx context.Context) time.Duration {
	b.mu.Lock()
	list, config := b.list, b.config
	var due []*backend
	for _, k := range list {
		if config.CheckUser != "" || k.health.State == Down {
			due = append(due, k)
		}
	}

	b.mu.Unlock()
	var g errgroup.Group
	for _, k := range due {
		g.Go(func() error {
			h := b.examine(ctx, k, config)
			if ctx.Err() == nil {
				b.judge(k, h)
			}
			return nil
		})
	}

	g.Wait() //nolint:errcheck // what went wrong is the health
	return config.CheckInterval
}

// judge decides what a check means.
func (b *Backends) judge(k *backend, h Health) {
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
}

// examine examines one backend.
func (b *Backends) examine(ctx context.Context, k *backend, config BackendsConfig) Health {
	ctx, cancel := context.WithTimeout(ctx, config.DialTimeout)
	defer cancel()
	if config.CheckUser != "" {
		return b.ask(ctx, k, config)
	}
	if err := greets(ctx, k.address); err != nil {
		return Health{State: Down, Reason: err.Error()}
	}
	return Health{State: Unknown}
}

// greets reports an error unless the backend greets like one that would let clients in.
func greets(ctx context.Context, a address) error {
	c, err := connect(ctx, a, nil, nil)
	if err != nil {
		return err
	}
	defer c.Close()

	payload, _, err := readGreeting(ctx, c, a)
	if err != nil {
		return err
	}

	if payload[0] == wire.AuthError {
		var e wire.Error
		if err := e.Decode(payload); err != nil {
			return err
		}
		return &e
	}

	return nil
}
