package statement

import (
	"context"
	"errors"
	"fmt"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/report"
	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/proxy"
	"github.com/ttlproxy/ttlproxy/ttl/plan"
)

// approve answers APPROVE TTL JOB: this version of the policy may delete what the brake would hold,
// up to what was seen or is stated.
func (a *admin) approve(ctx context.Context, s *ddl.ApproveJob) (*reply, error) {
	ctx, cancel := context.WithTimeout(ctx, adminWait)
	defer cancel()

	p, err := a.allowed(ctx, s.Table)
	if err != nil {
		return nil, err
	}
	if s.Version != 0 && s.Version != p.Version {
		return nil, a.otherVersion(p, s.Version)
	}

	c := catalog.Consent{UpTo: s.UpTo, Seen: s.Seen, Reason: s.Reason}
	if s.UpTo == nil && s.Seen == nil {
		if c.Seen, err = plan.DueNow(ctx, a.q.h.config.DB, a.q.store, p); err != nil {
			return nil, err
		}
	}

	rows, err := a.q.store.Consent(ctx, a.q.session.account, p.ID, p.Version, c)
	if errors.Is(err, catalog.ErrPolicyChanged) {
		return nil, a.otherVersion(p, p.Version)
	}
	if errors.Is(err, catalog.ErrTableInDDL) {
		return nil, inCatalogTrouble(err)
	}
	if err != nil {
		return nil, err
	}

	return &reply{
		info:  fmt.Sprintf("Approved: version %d of the policy", p.Version),
		notes: []proxy.Note{approvalNote(p, rows)},
	}, nil
}

// otherVersion refuses to approve what the client cannot have seen.
func (*admin) otherVersion(p catalog.Policy, seen uint64) error {
	return refuse("The policy of %s is no longer in version %d: EXPLAIN TTL %s shows what it would delete now, "+
		"and its version", p.Table, seen, p.Table)
}

// approvalNote tells the client how much it has agreed to.
func approvalNote(p catalog.Policy, rows *uint64) proxy.Note {
	text := fmt.Sprintf("TTL of %s: %s", p.Table, report.Agreed(rows))
	return proxy.Note{Level: "Note", Code: ddl.CodeNote, Message: text}
}
