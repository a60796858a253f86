package pace

import (
	"context"
	"time"
)

// Errand is a policy's work that is done by somebody who may not wait for long: he asks whether it is time for the next
// bit of it, and comes again if it is not.
type Errand struct {
	duty  *Duty
	of    dutyOf
	rates *Rates
	until time.Time
}

// Errand is that of a policy, which goes by signals and by rates. It may be waited for until then: workers that wait
// themselves leave no other moment in which nothing is owed.
func (d *Duty) Errand(policy uint64, rates *Rates, until time.Time) Errand {
	return Errand{d, dutyOf{d, policy}, rates, until}
}

// MaySearch reports whether the next rows may be looked at now. While there is no other work nobody looks what the
// server bears, so not before somebody has.
func (e Errand) MaySearch(ctx context.Context) bool { return e.may(ctx, e.rates.owed) }

// MaySend takes one statement from the budget, and reports whether it may be sent now.
func (e Errand) MaySend(ctx context.Context) bool { return e.may(ctx, e.rates.take) }

// may waits until neither time nor what the rates say is owed, if that is soon.
func (e Errand) may(ctx context.Context, owed func() (string, time.Duration)) bool {
	for ctx.Err() == nil && !e.duty.Resting() {
		_, left := e.of.left()
		if left <= 0 {
			_, left = owed()
		}
		if left <= 0 {
			return true
		}
		if time.Now().Add(left).After(e.until) {
			return false
		}

		timer := time.NewTimer(left)
		select {
		case <-ctx.Done():
			timer.Stop()
		case <-timer.C:
		}
	}
	return false
}

// Spend reports rows that were examined.
func (e Errand) Spend(scanned int64) { e.rates.Spend(scanned, 0) }

// Took reports time that was spent on it.
func (e Errand) Took(spent time.Duration) { e.of.Took(spent) }

// Behind reports what that of its policy does.
func (e Errand) Behind() bool { return e.duty.Behind(e.of.policy) }

// Behind reports whether a policy owes so much time, or may do so little, that what was about to be done for it, and
// had to wait for something else, should wait again. While workers wait for the share, a little is always owed.
func (d *Duty) Behind(policy uint64) bool {
	_, left := dutyOf{d, policy}.left()
	return left >= stopLook
}

// Rest says whether nobody looks at signals, because there is no work: the share is one with which work may begin then,
// and says nothing about the server.
func (d *Duty) Rest(rests bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.resting = rests
}

// Resting reports what Rest has said last.
func (d *Duty) Resting() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.resting
}
