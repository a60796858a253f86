package plan

import (
	"fmt"
	"strconv"

	"github.com/ttlproxy/ttlproxy/catalog"
)

// Brake holds the first job of a policy that would delete surprisingly much, until somebody approves it.
type Brake struct {
	MaxRows int64 // ttl_brake_max_rows
	Rows    int64 // ttl_brake_rows
	Percent int64 // ttl_brake_percent: 0 holds always, 100 never
}

// NewBrake takes the brake's settings.
func NewBrake(v catalog.Values) Brake {
	return Brake{v.Int(catalog.BrakeMaxRows), v.Int(catalog.BrakeRows), v.Int(catalog.BrakePercent)}
}

// Most of a table counts as a surprise from so many rows on, whatever the settings say.
const (
	nearlyWholePercent = 90
	nearlyWholeRows    = 1000
)

// Holds says why so many rows are too many; empty when they are not.
func (b Brake) Holds(e Estimate) string {
	percent := int64(100 * e.Share())
	switch {
	case b.Percent >= 100:
		return ""
	case b.Percent == 0 && e.Expired > 0:
		return fmt.Sprintf("%s, and ttl_brake_percent is 0", e.Due())
	case e.Expired > b.MaxRows:
		return fmt.Sprintf("%s, more than ttl_brake_max_rows = %d", e.Due(), b.MaxRows)
	case e.Expired > b.Rows && percent >= b.Percent:
		return fmt.Sprintf("%s, more than ttl_brake_rows = %d and ttl_brake_percent = %d", e.Due(), b.Rows, b.Percent)
	case e.Rows > nearlyWholeRows && percent >= nearlyWholePercent:
		return fmt.Sprintf("%s, nearly the whole table", e.Due())
	default:
		return ""
	}
}

// Due says how many rows are due, in words.
func (e Estimate) Due() string {
	return fmt.Sprintf("%s of %s rows (%.0f %%) are due", about(e.Expired, e.DueExact), about(e.Rows, e.Exact), 100*e.Share())
}

// about is a number as it is told when it was counted, or only estimated.
func about(n int64, exact bool) string {
	if exact {
		return strconv.FormatInt(n, 10)
	}
	return "about " + strconv.FormatInt(n, 10)
}
