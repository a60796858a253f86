package ttl

import (
	"fmt"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/ttl/plan"
)

// longStopped is how long a policy may rest before its backlog is taken for a surprise again.
const longStopped = 7 * 24 * time.Hour

// braked says why a job must wait for approval; empty when it need not. A version that was approved, or passed once,
// is not asked again unless its table has not been cleaned for long.
func braked(now time.Time, p catalog.Policy, last catalog.Schedule, e plan.Estimate, l limits) string {
	timing, _ := catalog.TimingOf(p) // without an error, or the policy would not be due
	if p.Approved() && now.Sub(last.LastStartedAt) < max(longStopped, 3*timing.Interval) {
		return ""
	}
	if p.Approved() && p.Approval.At.After(last.LastStartedAt) {
		return ""
	}
	if p.Approval.Required {
		return fmt.Sprintf("%s: %s; APPROVE TTL JOB lets them go", p.Approval.Reason, e.Due())
	}
	return l.brake.Holds(e)
}
