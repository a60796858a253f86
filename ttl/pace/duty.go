package pace

import (
	"context"
	"maps"
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
	resting bool               // see Rest
	floors  map[uint64]float64 // shares that policies have at least, unless nothing may go; 1 is no limit
	own     map[uint64]*debt   // time of policies that have their floor

	waited func(signal string, d time.Duration) // told of every wait
}

// DutySignal is the name of the waits that a Duty makes.
const DutySignal = "ttl_throttle"

// leastTarget is the part of a statement's target time that is left with the smallest shares: less would be spent on
// what a statement costs however few rows it has.
const leastTarget = 0.04

// NewDuty begins without a limit.
func NewDuty(waited func(signal string, d time.Duration)) *Duty {
	return &Duty{
		share: 1, workers: 1, time: debt{name: DutySignal}, own: map[uint64]*debt{}, waited: waited,
	}
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
	var perSecond float64
	if d.share < 1 {
		perSecond = d.perSecond(d.share)
	}
	d.time.set(perSecond)
	for policy, own := range d.own {
		own.set(d.perSecond(d.floors[policy]))
	}
}

// perSecond is how much time of all workers a share is.
func (d *Duty) perSecond(share float64) float64 {
	return max(math.Floor(share*d.workers*float64(time.Second)), 1)
}

// ShareOf is the share that comes to so many sessions' time.
func (d *Duty) ShareOf(sessions float64) float64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return min(sessions/d.workers, 1)
}

// InForce is how much all policies together may have while each has a share, or one of its own that is larger: those
// are counted apart.
func (d *Duty) InForce(share float64) (all float64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if all = share; share <= 0 {
		return 0
	}
	for _, own := range d.floors {
		if own > share {
			all += own
		}
	}
	return min(all, 1)
}

// Share is the one that was set.
func (d *Duty) Share() float64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.share
}

// Workers is how many of those there would be are worth having.
func (d *Duty) Workers(all int) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	if float64(all) != d.workers {
		d.workers = float64(all)
		d.adapt()
	}
	share := d.share
	for policy := range d.floors {
		share = max(share, d.shareOf(policy))
	}
	return max(int(math.Ceil(share*d.workers)), 1)
}

// SetFloors says which policies have a share of their own at least, unless that of all is a stop. 1 is
// for those with rows so late that their owner would rather see them gone than others left in peace
// (TTL_PRIORITY); less is what an owner leaves a table in any case (TTL_THROTTLE_FLOOR).
func (d *Duty) SetFloors(floors map[uint64]float64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.floors = floors
	maps.DeleteFunc(d.own, func(policy uint64, _ *debt) bool { return floors[policy] == 0 })
	for policy := range floors {
		if d.own[policy] == nil {
			d.own[policy] = &debt{name: DutySignal}
		}
	}
	d.adapt()
}

// shareOf is the share of a policy.
func (d *Duty) shareOf(policy uint64) float64 {
	switch own := d.floors[policy]; {
	case d.share <= 0:
		return 0
	case own > d.share:
		return min(own, 1)
	default:
		return min(d.share, 1)
	}
}

// Of is the throttle of one policy's rows.
func (d *Duty) Of(policy uint64) Throttle { return dutyOf{d, policy} }

// dutyOf is a duty of which one policy may have a larger share. Its time is counted apart then: other
// tables would have to pay for it.
type dutyOf struct {
	*Duty
	policy uint64
}

// apart is the policy's own share, where that is larger than the one of all.
func (d dutyOf) apart() (own *debt, share float64) {
	if share = d.shareOf(d.policy); share > d.share {
		return d.own[d.policy], share
	}
	return nil, share
}

// exempt reports that nothing limits the policy although others are limited.
func (d dutyOf) exempt() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	own, share := d.apart()
	return own != nil && share >= 1
}

// Wait returns as soon as no time is owed, or at once.
func (d dutyOf) Wait(ctx context.Context) error { return pause(ctx, d.left, d.waited) }

func (d dutyOf) left() (signal string, left time.Duration) {
	d.mu.Lock()
	own, share := d.apart()
	if own == nil {
		d.mu.Unlock()
		return d.Duty.left()
	}
	defer d.mu.Unlock()
	if share >= 1 {
		return DutySignal, 0
	}
	return DutySignal, min(own.left(time.Now()), stopLook)
}

// MaySend returns as soon as no time is owed, or at once.
func (d dutyOf) MaySend(ctx context.Context) error { return d.Wait(ctx) }

// MayDelete is MaySend: rows cost the time that they take.
func (d dutyOf) MayDelete(ctx context.Context, _ int64) error { return d.Wait(ctx) }

// Retracts reports what Behind does.
func (d dutyOf) Retracts() bool { return d.Behind(d.policy) }

// Took adds time that a worker has spent.
func (d dutyOf) Took(spent time.Duration) {
	d.mu.Lock()
	own, _ := d.apart()
	if own == nil {
		d.mu.Unlock()
		d.Duty.Took(spent)
		return
	}
	defer d.mu.Unlock()
	own.spend(int64(spent), time.Now().Add(-spent))
}

// Reason says what holds the share down; empty without a limit.
func (d dutyOf) Reason() string {
	if d.exempt() {
		return ""
	}
	return d.Duty.Reason()
}

// Target is how long a statement of a policy should take that would take full without a limit. It shrinks faster than
// the share: who shares a processor with a statement waits for it, or as long as the system lets one go on, so of the
// same time many short ones are felt less than few long ones.
func (d *Duty) Target(policy uint64, full time.Duration) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	share := d.shareOf(policy)
	return time.Duration(min(max(share*share, leastTarget), 1) * float64(full))
}

// Wait returns as soon as no time is owed.
func (d *Duty) Wait(ctx context.Context) error {
	return pause(ctx, d.left, d.waited)
}

// MaySend returns as soon as no time is owed.
func (d *Duty) MaySend(ctx context.Context) error { return d.Wait(ctx) }

// MayDelete is MaySend: rows cost the time that they take.
func (d *Duty) MayDelete(ctx context.Context, _ int64) error { return d.Wait(ctx) }

// Retracts reports whether so much time is owed, or so little may be done, that it should be waited for again.
func (d *Duty) Retracts() bool {
	_, left := d.left()
	return left >= stopLook
}

// GiveBack costs nothing: no time was spent.
func (d *Duty) GiveBack(int64) {}

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
