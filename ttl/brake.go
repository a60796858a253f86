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
	if p.Approved() && now.Sub(last.LastStartedAt) < max(longStopped, 3*intervalOf(p)) {
		return ""
	}
	if p.Approved() && p.Approval.At.After(last.LastStartedAt) {
		return ""
	}
	if p.Approval.Required {
		return fmt.Sprintf("the table came from a dump: %s; APPROVE TTL JOB lets them go", dueText(e))
	}
	return tooMany(e, l)
}

// tooMany compares what is due with the limits of the brake.
func tooMany(e plan.Estimate, l limits) string {
	percent := int64(100 * e.Share())
	switch {
	case l.brakePercent >= 100:
		return ""
	case l.brakePercent == 0 && e.Expired > 0:
		return fmt.Sprintf("%s, and ttl_brake_percent is 0", dueText(e))
	case e.Expired > l.brakeMax:
		return fmt.Sprintf("%s, more than ttl_brake_max_rows = %d", dueText(e), l.brakeMax)
	case e.Expired > l.brakeRows && percent >= l.brakePercent:
		return fmt.Sprintf("%s, more than ttl_brake_rows = %d and ttl_brake_percent = %d", dueText(e), l.brakeRows, l.brakePercent)
	case e.Rows > 1000 && percent >= 90:
		return fmt.Sprintf("%s, nearly the whole table", dueText(e))
	default:
		return ""
	}
}

func dueText(e plan.Estimate) string {
	about := "about "
	if e.Exact {
		about = ""
	}
	return fmt.Sprintf("%s%d of %d rows (%.0f %%) are due", about, e.Expired, e.Rows, 100*e.Share())
}
