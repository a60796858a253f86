package statement

import (
	"context"
	"fmt"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/report"
	"github.com/ttlproxy/ttlproxy/ddl"
)

// stopWait bounds the transaction that stops a policy: it waits for the batches that are being
// committed, which the catalog kills if they take too long.
const stopWait = 15 * time.Second

// pause answers PAUSE TTL. When it has answered, nothing more is deleted.
func (a *admin) pause(ctx context.Context, s *ddl.PauseTTL) (*reply, error) {
	ctx, cancel := context.WithTimeout(ctx, stopWait)
	defer cancel()

	until, err := a.until(ctx, s.Until)
	if err != nil {
		return nil, err
	}

	id, err := a.stopping(ctx, s.Table)
	if err != nil {
		return nil, err
	}
	if err := a.q.store.Pause(ctx, a.q.session.account, id, "", until); err != nil {
		return nil, err
	}

	what, end := "everything", "RESUME TTL"
	if s.Table != nil {
		table, _ := a.q.session.table(*s.Table)
		what, end = table.String(), "RESUME TTL FOR "+table.String()
	}
	if !until.IsZero() {
		end = catalog.Moment(until)
	}

	return &reply{info: "Paused: " + what + ", until " + end}, nil
}

// resume answers RESUME TTL: whoever may pause may resume.
func (a *admin) resume(ctx context.Context, s *ddl.ResumeTTL) (*reply, error) {
	ctx, cancel := context.WithTimeout(ctx, stopWait)
	defer cancel()

	id := catalog.PauseAll
	if s.Table != nil {
		p, err := a.allowed(ctx, *s.Table)
		if err != nil {
			return nil, err
		}
		id = p.ID
	} else if err := a.maySet(); err != nil {
		return nil, err
	}

	if err := a.q.store.Resume(ctx, a.q.session.account, id); err != nil {
		return nil, err
	}

	why, err := a.stillHeld(ctx, id)
	switch {
	case err != nil:
		return &reply{info: "Resumed; what else may hold it cannot be seen: " + words(err)}, nil
	case why != "":
		return &reply{info: "Resumed, but still " + why}, nil
	}
	return &reply{info: "Resumed"}, nil
}

// stillHeld says why nothing is deleted under a policy, or under any, although it is no longer
// paused; empty if something is.
func (a *admin) stillHeld(ctx context.Context, policy uint64) (string, error) {
	s, err := report.ReadOf(ctx, a.q.store, policy)
	if err != nil {
		return "", err
	}
	if halt := s.Halt(); policy == catalog.PauseAll && halt.Why != "" {
		return halt.Verdict().String(), nil
	}
	if v, found := s.Holding(policy); found {
		return v.String(), nil
	}
	return "", nil
}

// cancel answers CANCEL TTL JOB. When it has answered, the jobs delete nothing more.
func (a *admin) cancel(ctx context.Context, s *ddl.CancelJob) (*reply, error) {
	ctx, cancel := context.WithTimeout(ctx, stopWait)
	defer cancel()

	id, err := a.stopping(ctx, &s.Table)
	if err != nil {
		return nil, err
	}

	jobs, err := a.q.store.Cancel(ctx, a.q.session.account, id)
	if err != nil {
		return nil, err
	}
	if len(jobs) == 0 {
		return &reply{info: "No job was running"}, nil
	}

	return &reply{affected: uint64(len(jobs)), info: fmt.Sprintf("Jobs cancelled: %d", len(jobs))}, nil
}

// stopping finds what to stop, which is everything if there is no name, and makes sure that the
// client may stop it.
func (a *admin) stopping(ctx context.Context, name *ddl.Name) (policy uint64, err error) {
	if name == nil {
		return catalog.PauseAll, a.maySet()
	}
	p, err := a.policyToStop(ctx, *name)
	if err != nil {
		return 0, err
	}
	return p.ID, a.mayStop(*name, p)
}

// allowed finds the policy of a table from which the client could delete the rows itself.
func (a *admin) allowed(ctx context.Context, name ddl.Name) (p catalog.Policy, err error) {
	if p, err = a.policyOf(ctx, name); err != nil {
		return p, err
	}
	return p, a.q.mayDelete(name, p.Rule.Column)
}
