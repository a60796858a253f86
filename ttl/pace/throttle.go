package pace

import (
	"context"
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
	for _, t := range a {
		if err := t.Wait(ctx); err != nil {
			return err
		}
	}
	return nil
}

// MaySend passes every throttle in turn.
func (a All) MaySend(ctx context.Context) error {
	for _, t := range a {
		if err := t.MaySend(ctx); err != nil {
			return err
		}
	}
	return nil
}

// MayDelete passes every throttle in turn. What some have let go counts for none if another does not.
func (a All) MayDelete(ctx context.Context, rows int64) error {
	for i, t := range a {
		if err := t.MayDelete(ctx, rows); err != nil {
			a[:i].Spend(0, -rows)
			return err
		}
	}
	return nil
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
