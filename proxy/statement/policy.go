package statement

import (
	"context"
	"errors"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/proxy/wire"
)

// policyOf finds the policy of the table that a name means to the client.
func (a *admin) policyOf(ctx context.Context, name ddl.Name) (catalog.Policy, error) {
	t, err := a.resolveTable(name)
	if err != nil {
		return catalog.Policy{}, err
	}
	return a.declared(ctx, t)
}

// policyToStop does the same for statements that only stop something. They do not wait for a locked
// table, nor need it still exist, and those who may stop everything need not see it.
func (a *admin) policyToStop(ctx context.Context, name ddl.Name) (p catalog.Policy, err error) {
	var t catalog.Table
	err = briefly(a.q.x, func() error {
		t, err = a.resolveTable(name)
		return err
	})
	var unseen *wire.Error
	if !errors.As(err, &unseen) || unseen.Code != ddl.CodeLockWait && unseen.Code != ddl.CodeNoTable &&
		unseen.Code != ddl.CodeTableDenied {
		if err != nil {
			return p, err
		}
		return a.declared(ctx, t)
	}

	t, _ = a.q.session.table(name)
	if p, err = a.q.store.Policy(ctx, t); errors.Is(err, catalog.ErrNoPolicy) {
		return p, unseen
	}
	if err == nil && unseen.Code == ddl.CodeTableDenied && a.q.session.account != p.Owner && a.maySet() != nil {
		return p, unseen // as for a table without a policy
	}

	return p, err
}

// declared is the policy of a table.
func (a *admin) declared(ctx context.Context, t catalog.Table) (catalog.Policy, error) {
	p, err := a.q.store.Policy(ctx, t)
	if errors.Is(err, catalog.ErrNoPolicy) {
		return p, refuse("Table %s has no TTL", t)
	}
	return p, err
}

// resolveTable finds the table that a name means in the client's session. It is an error if the
// client may not see it, if it is not a table, or if a temporary table hides it.
func (a *admin) resolveTable(name ddl.Name) (catalog.Table, error) {
	what, err := a.q.shown(name)
	if err != nil {
		return catalog.Table{}, err
	}

	t, _ := a.q.session.table(name)
	switch what {
	case baseTable:
		return t, nil
	case temporary:
		return t, refusal(ddl.TemporaryTable())
	default:
		return t, refusal(ddl.WrongObject(t.Schema, t.Name))
	}
}
