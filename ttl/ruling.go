package ttl

import (
	"fmt"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/ttl/plan"
)

// ruling is what the brake says of a run, and the figure behind it.
type ruling struct {
	plan.Ruling
	usual *uint64 // rows; nil when no run has told
}

// afterwards is the ruling on a run that begins paused and asks when it resumes: until then it may
// delete nothing.
func (r ruling) afterwards() ruling {
	if r.Why != "" {
		r.Bound = new(uint64)
	}
	return r
}

// braked judges a run before it starts. What a person has agreed to is allowed, as long as no run
// has used it up.
func braked(now time.Time, p catalog.Policy, runs []catalog.Run, e plan.Estimate, l limits) ruling {
	r := plan.Run{Estimate: e, Usual: plan.UsualOf(runs, now, p.Terms.Timing.Interval), Known: p.Approved()}
	out := ruling{Ruling: l.brake.Of(p.Terms.Options).Judge(r), usual: r.Usual.Figure()}

	switch rows, given := p.Approval.Consented(runs); {
	case p.Approval.Required:
		out.Why = fmt.Sprintf("%s: %s", p.Approval.Reason, r.Due())
	case given && p.Approved():
		out.Ruling = out.Consented(r, rows, p.Approval.Exactly)
	}

	if out.Why != "" {
		out.Why = asking(out.Why, p, e)
	}

	return out
}

// asking adds what to type to why a run waits.
func asking(why string, p catalog.Policy, e plan.Estimate) string {
	return why + "; " + catalog.ApprovalOf(p.Table, p.Version, uint64(max(e.Expired, 0))) + " lets them go"
}
