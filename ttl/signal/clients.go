package signal

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog/setting"
)

// Clients is what the clients of all proxies suffer: how long they wait for their answers, and how
// often they are refused for locks. Of the waits it is what nearly all of them wait at most, not the
// average, which hides what a few of them suffer. Each proxy counts what passes through it; what does
// not is not seen here.
type Clients struct {
	read   func(context.Context) (map[uint64]Suffered, error)
	before map[uint64]Suffered
	at     time.Time // when that was
	recent waits
	rest   waits // those of the looks at rest without a break until now: what was before may be our own doing
	usual  usual
	errors lockErrors
}

// waits are commands by the microseconds that they took at most, a quarter less of them with each look.
type waits map[int64]float64

// Suffered is what the clients of a node have suffered since it started.
type Suffered struct {
	Took       map[int64]uint64 // commands, by the microseconds that they took at most
	LockErrors uint64           // commands that were refused for locks
}

// NewClients reads what the clients of each node have suffered.
func NewClients(read func(context.Context) (map[uint64]Suffered, error)) *Clients {
	return &Clients{read: read}
}

const (
	// nearlyAll of the commands decide.
	nearlyAll = 0.99
	// leastCommands are those of which that can be told.
	leastCommands = 100.0
	// clientsMemory is the part of what was seen before that still counts.
	clientsMemory = 0.75

	throughProxies = "clients of the proxies"
)

// Name is what readings call it.
func (*Clients) Name() string { return "latency" }

// Read compares what the nodes have counted with what they had at the last look.
func (c *Clients) Read(ctx context.Context, l Look) (all []Reading, err error) {
	percent, most := l.Settings.Int(setting.ThrottleLatency), l.Settings.Int(setting.ThrottleLockErrors)
	if percent == 0 {
		c.recent, c.rest = nil, nil
	}
	if most == 0 {
		c.errors = lockErrors{}
	}
	if percent == 0 && most == 0 {
		c.before = nil
		return nil, nil
	}

	now, err := c.read(ctx)
	if err != nil {
		return nil, err
	}
	if time.Since(c.at) > longest { // others have looked meanwhile: what came then is nothing of late
		c.before, c.recent, c.rest, c.errors = nil, nil, nil, lockErrors{usual: c.errors.usual}
	}
	c.at = time.Now()
	c.usual.resume(l.Led)
	c.errors.usual.resume(l.Led)
	since := c.since(now)

	if percent > 0 {
		c.recent = c.recent.add(since.Took)
		if c.rest = c.rest.add(since.Took); !l.Resting {
			c.rest = nil
		}
		all = append(all, c.latency(float64(percent)/100, l.Resting))
	}
	if most > 0 {
		all = append(all, c.errors.reading(since, float64(most), l.Resting))
	}
	return all, nil
}

// latency judges what clients have waited of late.
func (c *Clients) latency(times float64, resting bool) Reading {
	r := Reading{Source: throughProxies, State: NotSeen, Unit: "ms"}
	longest, enough := c.recent.longest()
	if !enough {
		r.Detail = "too little passes through the proxies to tell"
		return r
	}
	if alone, enough := c.rest.longest(); resting && enough {
		c.usual.learn(alone)
	}

	if !c.usual.known() {
		r.Detail = "what is usual is learnt while the engine rests"
		return r
	}
	r.State, r.Value = Measured, longest
	r.Threshold = max(c.usual.mean*times, c.usual.mean+leastLatency)
	r.Detail = "99 % take no longer; usual is " + figure(c.usual.mean) + " ms"
	return r
}

// since is what is new: of a node that was not there at the last look, or has started since, nothing
// can be told yet.
func (c *Clients) since(now map[uint64]Suffered) Suffered {
	all := Suffered{Took: map[int64]uint64{}}
	for node, counted := range now {
		before, known := c.before[node]
		if !known || restarted(before, counted) {
			continue
		}
		all.LockErrors += counted.LockErrors - before.LockErrors
		for took, n := range counted.Took {
			all.Took[took] += n - before.Took[took]
		}
	}
	c.before = now
	return all
}

func restarted(before, now Suffered) bool {
	for took, n := range before.Took {
		if now.Took[took] < n {
			return true
		}
	}
	return now.LockErrors < before.LockErrors
}

// add takes what is new.
func (w waits) add(news map[int64]uint64) waits {
	if w == nil {
		w = waits{}
	}
	for took := range w {
		w[took] *= clientsMemory
	}
	for took, n := range news {
		w[took] += float64(n)
	}
	return w
}

// longest is how many milliseconds nearly all commands took at most; false if there were too few.
func (w waits) longest() (milliseconds float64, enough bool) {
	all := 0.0
	for _, n := range w {
		all += n
	}
	if all < leastCommands {
		return 0, false
	}

	sum := 0.0
	for _, took := range slices.Sorted(maps.Keys(w)) {
		if sum += w[took]; sum >= nearlyAll*all {
			return float64(took) / 1e3, true
		}
	}
	return 0, false
}
