package ttl

import "context"

// Throttle says when the next batch may go and how large it may be. The strictest of several wins; All combines them.
type Throttle interface {
	// Wait returns when a statement may be sent, or with ctx's error.
	Wait(ctx context.Context) error
	// Spend reports rows that were examined and deleted.
	Spend(scanned, deleted int64)
	// Rows is the largest batch that keeps to the limit without a long pause after it.
	Rows() int
	// Reason says what the engine is waiting for; empty when it is not.
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

// Spend tells every throttle.
func (a All) Spend(scanned, deleted int64) {
	for _, t := range a {
		t.Spend(scanned, deleted)
	}
}

// Rows is the smallest of all.
func (a All) Rows() int {
	rows := unlimitedRows
	for _, t := range a {
		rows = min(rows, t.Rows())
	}
	return rows
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
