package proxy

import (
	"context"
	"errors"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/proxy/wire"
)

// policyOf finds the policy of the table that a name means to the client.
func (a *admin) policyOf(ctx context.Context, x *exchange, name ddl.Name) (catalog.Policy, error) {
	t, err := resolve(x, name)
	if err != nil {
		return catalog.Policy{}, err
	}
	return a.declared(ctx, t)
}

// policyToStop does the same for statements that only stop something. They do not wait for a table that is locked,
// nor for one that is gone.
func (a *admin) policyToStop(ctx context.Context, x *exchange, name ddl.Name) (p catalog.Policy, err error) {
	var t catalog.Table
	err = briefly(x, func() error {
		t, err = resolve(x, name)
		return err
	})
	var unseen *wire.Error
	if !errors.As(err, &unseen) || unseen.Code != codeLockWait && unseen.Code != codeNoTable {
		if err != nil {
			return p, err
		}
		return a.declared(ctx, t)
	}
	if t, err = a.byName(x, name); err != nil {
		return p, err
	}
	if p, err = a.store.Policy(ctx, t); errors.Is(err, catalog.ErrNoPolicy) {
		return p, unseen
	}
	return p, err
}

// byName takes a name as it stands, without looking at the table.
func (a *admin) byName(x *exchange, name ddl.Name) (t catalog.Table, err error) {
	t = catalog.Table{Schema: name.Schema, Name: name.Table}
	if t.Schema == "" {
		t.Schema, err = currentSchema(x)
	}
	return t, err
}

// declared is the policy of a table.
func (a *admin) declared(ctx context.Context, t catalog.Table) (catalog.Policy, error) {
	p, err := a.store.Policy(ctx, t)
	if errors.Is(err, catalog.ErrNoPolicy) {
		return p, refuse("Table %s has no TTL", t)
	}
	return p, err
}
