package ttl

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"
)

const unlimitedRows = math.MaxInt32

// rates is the Throttle of fixed limits per second. Each limit is a debt: what was spent must be paid off, at the
// limit's speed, before the next statement. The limits may change at any time.
type rates struct {
	mu         sync.Mutex
	statements debt
	deleted    debt
	scanned    debt
	waiting    string

	waited func(signal string, d time.Duration) // told of every wait
}

// debt is one limit. The zero value is unlimited.
type debt struct {
	name      string
	perSecond int64
	paid      time.Time // when everything spent so far is paid off
}

func newRates(waited func(signal string, d time.Duration)) *rates {
	return &rates{
		waited:     waited,
		statements: debt{name: "ttl_delete_rate_limit"},
		deleted:    debt{name: "ttl_delete_rows_limit"},
		scanned:    debt{name: "ttl_scan_rate_limit"},
	}
}

// limit sets the limits per second; 0 is unlimited.
func (r *rates) limit(statements, deleted, scanned int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.statements.set(statements)
	r.deleted.set(deleted)
	r.scanned.set(scanned)
}

// limits returns what limit has set.
func (r *rates) limits() (statements, deleted, scanned int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.statements.perSecond, r.deleted.perSecond, r.scanned.perSecond
}

// set changes the speed; what is owed at the old speed is forgiven down to one second.
func (d *debt) set(perSecond int64) {
	if perSecond == d.perSecond {
		return
	}
	d.perSecond = perSecond
	if soon := time.Now().Add(time.Second); d.paid.After(soon) {
		d.paid = soon
	}
}

func (d *debt) spend(n int64, now time.Time) {
	if d.perSecond <= 0 || n <= 0 {
		return
	}
	if d.paid.Before(now) {
		d.paid = now
	}
	d.paid = d.paid.Add(time.Duration(float64(n) / float64(d.perSecond) * float64(time.Second)))
}

func (d *debt) left(now time.Time) time.Duration {
	if d.perSecond <= 0 {
		return 0
	}
	return d.paid.Sub(now)
}

// Wait takes one statement from the budget as soon as nothing is owed. It looks again at least every second, so that
// a raised limit is felt.
func (r *rates) Wait(ctx context.Context) error {
	for {
		signal, pause := r.take()
		if pause <= 0 {
			return ctx.Err()
		}
		began := time.Now()
		timer := time.NewTimer(min(pause, time.Second))
		select {
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case <-timer.C:
			r.waited(signal, time.Since(began))
		}
	}
}

// take either takes a statement and returns 0, or says which debt lasts longest, and how long.
func (r *rates) take() (signal string, pause time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	r.waiting = ""
	for _, d := range []*debt{&r.statements, &r.deleted, &r.scanned} {
		if left := d.left(now); left > pause {
			signal, pause, r.waiting = d.name, left, fmt.Sprintf("%s of %d per second", d.name, d.perSecond)
		}
	}
	if pause <= 0 {
		r.statements.spend(1, now)
	}
	return signal, pause
}

// Spend adds rows to the debts.
func (r *rates) Spend(scanned, deleted int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	r.scanned.spend(scanned, now)
	r.deleted.spend(deleted, now)
}

// Rows is a second's worth of the tighter of the two limits on rows.
func (r *rates) Rows() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	rows := int64(unlimitedRows)
	for _, limit := range []int64{r.deleted.perSecond, r.scanned.perSecond} {
		if limit > 0 {
			rows = min(rows, limit)
		}
	}
	return int(rows)
}

// Reason names the limit that was last waited for.
func (r *rates) Reason() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.waiting
}
