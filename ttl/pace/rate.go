package pace

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"sync"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog/setting"
)

const unlimitedRows = math.MaxInt32

// Rates is the Throttle of fixed limits per second. Each limit is a debt: what was spent must be
// paid off, at the limit's speed. Examined rows delay the search for more; deleted rows, and
// statements, delay only the next DELETE. What a DELETE may delete is owed from when it may be sent:
// of workers that wait for the same moment, only the first goes on. The limits may change at any time.
type Rates struct {
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
	perSecond float64
	paid      time.Time // when everything spent so far is paid off
}

// NewRates returns rates without limits. waited is called with each pause; it may be nil.
func NewRates(waited func(signal string, d time.Duration)) *Rates {
	return &Rates{
		waited:     waited,
		statements: debt{name: setting.DeleteRateLimit},
		deleted:    debt{name: setting.DeleteRowsLimit},
		scanned:    debt{name: setting.ScanRateLimit},
	}
}

// Limit is how many there may be per second, and what says so; 0 is unlimited.
type Limit struct {
	Name      string
	PerSecond float64
}

// Strictest is the lowest of several limits, the first of those that are the same.
func Strictest(all ...Limit) (strictest Limit) {
	for i, l := range all {
		if i == 0 || l.PerSecond > 0 && (strictest.PerSecond == 0 || l.PerSecond < strictest.PerSecond) {
			strictest = l
		}
	}
	return strictest
}

// Set sets the limits per second; 0 is unlimited.
func (r *Rates) Set(statements int64, deleted Limit, scanned int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.statements.set(float64(statements))
	r.deleted.name = deleted.Name
	r.deleted.set(deleted.PerSecond)
	r.scanned.set(float64(scanned))
}

// Limits returns what limit has set.
func (r *Rates) Limits() (statements, deleted, scanned float64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.statements.perSecond, r.deleted.perSecond, r.scanned.perSecond
}

// Rationed reports whether DELETE statements are limited.
func (r *Rates) Rationed() bool {
	statements, _, _ := r.Limits()
	return statements > 0
}

// set changes the speed; debts at the old speed are forgiven down to one second.
func (d *debt) set(perSecond float64) {
	if perSecond == d.perSecond {
		return
	}
	d.perSecond = perSecond
	if soon := time.Now().Add(time.Second); d.paid.After(soon) {
		d.paid = soon
	}
}

// spend adds to the debt; less than nothing is what was spent and not needed.
func (d *debt) spend(n int64, now time.Time) {
	if d.perSecond <= 0 || n == 0 {
		return
	}
	if n > 0 && d.paid.Before(now) {
		d.paid = now
	}
	d.paid = d.paid.Add(time.Duration(float64(n) / d.perSecond * float64(time.Second)))
}

func (d *debt) left(now time.Time) time.Duration {
	if d.perSecond <= 0 {
		return 0
	}
	return d.paid.Sub(now)
}

// Wait returns as soon as nothing is owed for examined rows.
func (r *Rates) Wait(ctx context.Context) error { return pause(ctx, r.owed, r.waited) }

// MaySend takes one statement from the budget as soon as nothing is owed for rows and statements
// before it.
func (r *Rates) MaySend(ctx context.Context) error { return pause(ctx, r.take, r.waited) }

// MayDelete is MaySend for a DELETE of so many rows, which it takes from the budget as well.
func (r *Rates) MayDelete(ctx context.Context, rows int64) error {
	taken := false
	err := pause(ctx, func() (signal string, pause time.Duration) {
		signal, pause = r.takeRows(rows)
		taken = pause <= 0
		return signal, pause
	}, r.waited)
	if err != nil && taken {
		r.GiveBack(rows)
	}
	return err
}

// Retracts is never: what was taken is paid for.
func (r *Rates) Retracts() bool { return false }

// GiveBack returns a statement of so many rows.
func (r *Rates) GiveBack(rows int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	r.statements.spend(-1, now)
	r.deleted.spend(-rows, now)
}

// pause waits as long as a limit requires. It looks again at least every second, so that a raised
// limit takes effect.
func pause(ctx context.Context, left func() (signal string, pause time.Duration),
	waited func(signal string, d time.Duration),
) error {
	for {
		signal, pause := left()
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
			if waited != nil {
				waited(signal, time.Since(began))
			}
		}
	}
}

// owed says how long it takes to pay off the examined rows.
func (r *Rates) owed() (signal string, pause time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.longest(time.Now(), &r.scanned)
}

// take either takes a statement and returns 0, or says which debt lasts longest, and how long.
func (r *Rates) take() (signal string, pause time.Duration) { return r.takeRows(0) }

// takeRows is take for a statement of so many rows.
func (r *Rates) takeRows(rows int64) (signal string, pause time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	if signal, pause = r.longest(now, &r.statements, &r.deleted); pause <= 0 {
		r.statements.spend(1, now)
		r.deleted.spend(rows, now)
	}
	return signal, pause
}

// longest is the debt that takes longest to pay off, which is the reason for waiting.
func (r *Rates) longest(now time.Time, debts ...*debt) (signal string, pause time.Duration) {
	r.waiting = ""
	for _, d := range debts {
		if left := d.left(now); left > pause {
			signal, pause, r.waiting = d.name, left, fmt.Sprintf("%s of %s per second", d.name, d.speed())
		}
	}
	return signal, pause
}

// speed is the limit for people.
func (d *debt) speed() string {
	return strconv.FormatFloat(math.Round(d.perSecond*1000)/1000, 'f', -1, 64)
}

// Spend adds rows to the debts, those deleted beyond what MayDelete has taken. Below zero they are given back.
func (r *Rates) Spend(scanned, deleted int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	r.scanned.spend(scanned, now)
	r.deleted.spend(deleted, now)
}

// Took costs nothing: the limits count rows and statements.
func (r *Rates) Took(time.Duration) {}

// Rows is a second's worth of rows to examine, and a tenth of that to delete: several workers may
// have their turn at once.
func (r *Rates) Rows() (scanned, deleted int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.scanned.worth(1), r.deleted.worth(10)
}

// worth is what a part of a second allows, at least one.
func (d *debt) worth(part float64) int {
	if d.perSecond <= 0 {
		return unlimitedRows
	}
	return int(min(max(d.perSecond/part, 1), unlimitedRows))
}

// Reason names the limit that workers last waited for.
func (r *Rates) Reason() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.waiting
}
