package proxy

import (
	"context"
	"fmt"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/ddl"
)

// stopWait bounds the transaction that stops a policy: it waits for the batches that are being committed, which the catalog ends
// by force when they take too long.
const stopWait = 15 * time.Second

// pause answers PAUSE TTL. When it has answered, nothing more is deleted.
func (a *admin) pause(ctx context.Context, x *exchange, s *ddl.PauseTTL) (*reply, error) {
	ctx, cancel := context.WithTimeout(ctx, stopWait)
	defer cancel()
	until, err := a.until(ctx, x, s.Until)
	if err != nil {
		return nil, err
	}
	id, err := a.stopping(ctx, x, s.Table)
	if err != nil {
		return nil, err
	}
	if err := a.Store.Pause(ctx, a.account, id, "", until); err != nil {
		return nil, err
	}
	info := "Paused until RESUME TTL"
	if !until.IsZero() {
		info = "Paused until " + until.Format(time.DateTime) + " UTC"
	}
	return &reply{info: info}, nil
}

// resume answers RESUME TTL: whoever may pause may resume.
func (a *admin) resume(ctx context.Context, x *exchange, s *ddl.ResumeTTL) (*reply, error) {
	ctx, cancel := context.WithTimeout(ctx, stopWait)
	defer cancel()
	if s.Table != nil {
		p, err := a.allowed(ctx, x, *s.Table)
		if err != nil {
			return nil, err
		}
		return &reply{info: "Resumed"}, a.Store.Resume(ctx, a.account, p.ID)
	}
	id, err := a.stopping(ctx, x, nil)
	if err != nil {
		return nil, err
	}
	return &reply{info: "Resumed"}, a.Store.Resume(ctx, a.account, id)
}

// cancel answers CANCEL TTL JOB. When it has answered, the jobs delete nothing more.
func (a *admin) cancel(ctx context.Context, x *exchange, s *ddl.CancelJob) (*reply, error) {
	ctx, cancel := context.WithTimeout(ctx, stopWait)
	defer cancel()
	id, err := a.stopping(ctx, x, &s.Table)
	if err != nil {
		return nil, err
	}
	jobs, err := a.Store.Cancel(ctx, a.account, id)
	if err != nil {
		return nil, err
	}
	if len(jobs) == 0 {
		return &reply{info: "No job was running"}, nil
	}
	return &reply{affected: uint64(len(jobs)), info: fmt.Sprintf("Jobs cancelled: %d", len(jobs))}, nil
}

// approve answers APPROVE TTL JOB: this version of the policy may delete what the brake would hold.
func (a *admin) approve(ctx context.Context, x *exchange, s *ddl.ApproveJob) (*reply, error) {
	ctx, cancel := context.WithTimeout(ctx, adminWait)
	defer cancel()
	p, err := a.allowed(ctx, x, s.Table)
	if err != nil {
		return nil, err
	}
	if err := a.Store.Approve(ctx, a.account, p.ID, p.Version); err != nil {
		return nil, err
	}
	return &reply{info: fmt.Sprintf("Approved: version %d of the policy", p.Version)}, nil
}

// stopping finds what is to be stopped, everything for no name, and makes sure that the client may stop it.
func (a *admin) stopping(ctx context.Context, x *exchange, name *ddl.Name) (policy uint64, err error) {
	if name == nil {
		return catalog.PauseAll, a.maySet(x)
	}
	p, err := a.policyToStop(ctx, x, *name)
	if err != nil {
		return 0, err
	}
	return p.ID, a.mayStop(x, *name, p)
}

// allowed finds the policy of a table from which the client could delete the rows itself.
func (a *admin) allowed(ctx context.Context, x *exchange, name ddl.Name) (p catalog.Policy, err error) {
	if p, err = a.policyOf(ctx, x, name); err != nil {
		return p, err
	}
	return p, mayDelete(x, name.Text, p.Rule.Column)
}

// until reads the time of PAUSE … UNTIL as the session does: in its time zone, and a time of day is the next one.
func (a *admin) until(ctx context.Context, x *exchange, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	r, err := x.Ask("SELECT CONVERT_TZ(CAST(" + literal(text) + " AS DATETIME), @@session.time_zone, '+00:00')")
	if err != nil {
		return time.Time{}, err
	}
	if len(r.Rows) == 0 || r.Rows[0][0] == nil {
		return time.Time{}, refuse("Incorrect DATETIME value: '%s' in PAUSE TTL UNTIL", text)
	}
	at, err := time.Parse(time.DateTime, string(r.Rows[0][0]))
	if err != nil {
		return time.Time{}, err
	}
	now, err := a.Store.Clock(ctx)
	if err != nil {
		return time.Time{}, err
	}
	if !at.After(now) {
		return time.Time{}, refuse("PAUSE TTL UNTIL '%s' lies in the past", text)
	}
	return at, nil
}
