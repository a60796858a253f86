package plan

import (
	"errors"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/tables"
)

// errUnread means that nobody knows when rows expire under a rule.
var errUnread = errors.New("the rule has not been understood")

// CutoffOf is the cutoff of a job that starts now under a rule, for its TTL column.
func CutoffOf(t catalog.Terms, column tables.Column, now time.Time) (Cutoff, error) {
	if !t.Read() {
		return Cutoff{}, errUnread
	}
	return NewCutoff(now, t.Timing.Zone, t.Span, column.Kind, column.Digits)
}
