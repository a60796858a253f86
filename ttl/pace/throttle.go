package pace

import (
	"context"
	"slices"
	"time"
)

// Throttle says when rows may be searched for and deleted, and how many. The strictest of several
// decides; All combines them.
type Throttle interface {
	// Wait returns when the next rows may be searched for, or with ctx's error.
	Wait(ctx context.Context) error
	// MaySend returns when a DELETE may be sent, or with ctx's error. It is asked before each, also of
	// one that is sent again.
	MaySend(ctx context.Context) error
	// MayDelete is MaySend for a DELETE that may delete so many rows. They count from now on.
	MayDelete(ctx context.Context, rows int64) error
	// Retracts reports whether it would hold back what it has let go: what has had to wait for something else since
	// then should ask again.
	Retracts() bool
	// GiveBack returns what MaySend, or MayDelete of so many rows, has let go, and is not sent.
	GiveBack(rows int64)
	// Spend reports rows that were examined, and those that were deleted beyond what MayDelete was asked
	// for; if they were fewer, how many less.
	Spend(scanned, deleted int64)
	// Took reports time that a worker spent on them, without its waits.
	Took(spent time.Duration)
	// Rows are how many rows may be examined, and how many deleted, without a long pause
	// afterwards.
	Rows() (scanned, deleted int)
	// Reason says what the engine is waiting for; empty if it is not.
	Reason() string
}

// All is the strictest of several throttles.
type All []Throttle

// Wait passes every throttle in turn.
func (a All) Wait(ctx context.Context) error {
	return a.pass(func(t Throttle) error { return t.Wait(ctx) }, func(All) {})
}

// MaySend passes every throttle in turn.
func (a All) MaySend(ctx context.Context) error {
	return a.pass(func(t Throttle) error { return t.MaySend(ctx) }, func(passed All) { passed.GiveBack(0) })
}

// MayDelete passes every throttle in turn. What some have let go counts for none if another does not.
func (a All) MayDelete(ctx context.Context, rows int64) error {
	return a.pass(func(t Throttle) error { return t.MayDelete(ctx, rows) }, func(passed All) { passed.GiveBack(rows) })
}

// pass passes every throttle in turn, and all of them again if one does not let go any more what it did before the
// others were waited for: with a limit of one statement a second that is as long ago as there are workers.
func (a All) pass(may func(Throttle) error, giveBack func(passed All)) error {
	for {
		for i, t := range a {
			if err := may(t); err != nil {
				giveBack(a[:i])
				return err
			}
		}
		if !a.Retracts() {
			return nil
		}
		giveBack(a)
	}
}

// Retracts reports whether any of them does.
func (a All) Retracts() bool { return slices.ContainsFunc(a, Throttle.Retracts) }

// GiveBack tells every throttle.
func (a All) GiveBack(rows int64) {
	for _, t := range a {
		t.GiveBack(rows)
	}
}

// Spend tells every throttle.
func (a All) Spend(scanned, deleted int64) {
	for _, t := range a {
		t.Spend(scanned, deleted)
	}
}

// Took tells every throttle.
func (a All) Took(spent time.Duration) {
	for _, t := range a {
		t.Took(spent)
	}
}

// Rows are the smallest of all.
func (a All) Rows() (scanned, deleted int) {
	scanned, deleted = unlimitedRows, unlimitedRows
	for _, t := range a {
		s, d := t.Rows()
		scanned, deleted = min(scanned, s), min(deleted, d)
	}
	return scanned, deleted
}

// Reason is the first reason there is.
func (a All) Reason() string {
	for _, t := range a {
		if reason := t.Reason(); reason != "" {
			return reason
		}
	}
	return ""
}
