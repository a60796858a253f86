package statement

import (
	"context"
	"errors"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/report"
	"github.com/ttlproxy/ttlproxy/ddl"
)

// trust answers TRUST TTL SERVER with what was found; if a name is given, it first trusts that
// server. A person has to look first, and what was looked at must still be what is trusted: a
// fail-over may come in between.
func (a *admin) trust(ctx context.Context, s *ddl.TrustServer) (*reply, error) {
	ctx, cancel := context.WithTimeout(ctx, stopWait)
	defer cancel()

	if err := a.maySet(); err != nil {
		return nil, err
	}

	if s.Server != "" {
		err := a.q.store.Trust(ctx, a.q.session.account, s.Server)
		if errors.Is(err, catalog.ErrOtherServer) {
			return nil, refuse("Nothing was trusted: %v", err)
		}
		if err != nil {
			return nil, err
		}
	}

	found, err := a.q.store.Lineage(ctx)
	if err != nil {
		return nil, err
	}

	pause, err := a.q.store.GlobalPause(ctx)
	if err != nil {
		return nil, err
	}

	l := report.Lineage(found, pause)
	return &reply{list: &l}, nil
}
