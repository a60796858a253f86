package report

import "time"

// orNull is NULL for an empty text.
func orNull(s string) any { return when(s != "", s) }

// moment is NULL for no time.
func moment(t time.Time) any { return when(!t.IsZero(), t) }

// number is NULL for an unknown number.
func number(n *uint64) any {
	if n == nil {
		return nil
	}
	return *n
}

// when is NULL for what is not known.
func when[T any](known bool, v T) any {
	if !known {
		return nil
	}
	return v
}

// onOff is how the servers print booleans.
func onOff(b bool) string {
	if b {
		return "ON"
	}
	return "OFF"
}
