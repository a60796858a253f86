package pace

import "time"

// Errand is a policy's work that is done by somebody who may not wait: he asks whether it is time for the next bit of
// it, and comes again if it is not.
type Errand struct {
	duty  *Duty
	of    dutyOf
	rates *Rates
}

// Errand is that of a policy, which goes by signals and by rates.
func (d *Duty) Errand(policy uint64, rates *Rates) Errand { return Errand{d, dutyOf{d, policy}, rates} }

// MaySearch reports whether the next rows may be looked at now. While there is no other work nobody looks what the
// server bears, so not before somebody has.
func (e Errand) MaySearch() bool {
	return !e.duty.Resting() && !e.of.owes() && !e.rates.owes()
}

// MaySend takes one statement from the budget, and reports whether it may be sent now.
func (e Errand) MaySend() bool {
	if e.duty.Resting() || e.of.owes() {
		return false
	}
	_, left := e.rates.take()
	return left <= 0
}

// Spend reports rows that were examined.
func (e Errand) Spend(scanned int64) { e.rates.Spend(scanned, 0) }

// Took reports time that was spent on it.
func (e Errand) Took(spent time.Duration) { e.of.Took(spent) }

// Owes reports whether a policy owes time, so that its next statement would have to wait.
func (d *Duty) Owes(policy uint64) bool { return dutyOf{d, policy}.owes() }

func (d dutyOf) owes() bool {
	_, left := d.left()
	return left > 0
}

// owes reports whether something is owed for examined rows.
func (r *Rates) owes() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.scanned.left(time.Now()) > 0
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
