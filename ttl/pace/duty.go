package pace

import (
	"context"
	"math"
	"sync"
	"time"
)

// Duty is the Throttle that signals set: this node's workers spend no more than a share of their
// time searching and deleting. Time and not rows, because it is what the server notices: a row of
// another table, or one that is only looked at, costs something else. The share is that of every
// node (see Control), so the nodes together have theirs.
//
// With a small share there are fewer workers, not the same ones that wait in turn and then begin
// all at once, and their statements are shorter. They wait between two batches, when they hold no
// lock.
type Duty struct {
	mu      sync.Mutex
	share   float64 // 1 is no limit, 0 is a stop
	workers float64 // that there would be
	time    debt
	because string

	waited func(signal string, d time.Duration) // told of every wait
}

// DutySignal is the name of the waits that a Duty makes.
const DutySignal = "ttl_throttle"

// leastTarget is the part of a statement's target time that is left with the smallest share.
const leastTarget = 0.1

// NewDuty begins without a limit.
func NewDuty(waited func(signal string, d time.Duration)) *Duty {
	return &Duty{share: 1, workers: 1, time: debt{name: DutySignal}, waited: waited}
}

// Set changes the share; because says in a few words what holds it down.
func (d *Duty) Set(share float64, because string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.share, d.because = share, because
	d.adapt()
}

// adapt sets the speed at which time is paid off.
func (d *Duty) adapt() {
	var perSecond int64
	if d.share < 1 {
		perSecond = max(int64(d.share*d.workers*float64(time.Second)), 1)
	}
	d.time.set(perSecond)
}

// Limited reports that the share is less than all.
func (d *Duty) Limited() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.share < 1
}

// Workers is how many of those there would be are worth having.
func (d *Duty) Workers(all int) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	if float64(all) != d.workers {
		d.workers = float64(all)
		d.adapt()
	}
	return max(int(math.Ceil(d.share*d.workers)), 1)
}

// Target is how long a statement should take that would take full without a limit.
func (d *Duty) Target(full time.Duration) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	return time.Duration(min(max(d.share, leastTarget), 1) * float64(full))
}

// Wait returns as soon as no time is owed.
func (d *Duty) Wait(ctx context.Context) error {
	return pause(ctx, d.left, d.waited)
}

// MaySend returns as soon as no time is owed.
func (d *Duty) MaySend(ctx context.Context) error { return d.Wait(ctx) }

func (d *Duty) left() (signal string, left time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.share <= 0 {
		return DutySignal, stopLook
	}
	return DutySignal, min(d.time.left(time.Now()), stopLook)
}

// stopLook is how soon a wait ends after the share has changed.
const stopLook = 100 * time.Millisecond

// Spend counts no rows.
func (d *Duty) Spend(int64, int64) {}

// Took adds time that a worker has spent. It is owed from when it began: while a worker works, time
// passes as well.
func (d *Duty) Took(spent time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.time.spend(int64(spent), time.Now().Add(-spent))
}

// Rows are unlimited: how many there are in a batch follows from its target time.
func (d *Duty) Rows() (scanned, deleted int) { return unlimitedRows, unlimitedRows }

// Reason says what holds the share down; empty without a limit.
func (d *Duty) Reason() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.share >= 1 {
		return ""
	}
	return d.because
}
