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
	r := plan.Run{Estimate: e, Usual: plan.UsualFor(p, runs, now), Known: p.Approved()}
	out := ruling{Ruling: l.brake.Of(p.Terms.Options).Judge(r)}
	if r.Usual.Runs > 0 {
		usual := uint64(r.Usual.Rows())
		out.usual = &usual
	}

	switch rows, given := p.Approval.Consented(runs); {
	case p.Approval.Required:
		out.Why = fmt.Sprintf("%s: %s", p.Approval.Reason, e.Due())
	case given && p.Approved():
		out.Ruling = out.Consented(e, rows, p.Approval.Exactly)
	}

	if out.Why != "" {
		out.Why += fmt.Sprintf("; APPROVE TTL JOB FOR %s VERSION %d lets them go", p.Table, p.Version)
	}

	return out
}
