package proxy

import (
	"context"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/report"
	"github.com/ttlproxy/ttlproxy/ddl"
)

// longList bounds lists that grow with time. LIMIT may ask for more, up to what fits in a packet of the server.
const (
	longList = 1000
	maxList  = 20_000
)

// show answers SHOW TTL.
func (a *admin) show(ctx context.Context, x *exchange, s *ddl.ShowTTL) (*reply, error) {
	ctx, cancel := context.WithTimeout(ctx, adminWait)
	defer cancel()
	of := catalog.Table{Schema: s.Schema}
	if s.Table != nil {
		t, err := a.resolveTable(x, *s.Table)
		if err != nil {
			return nil, err
		}
		of = t
	}
	limit := longList
	if s.Limit > 0 {
		limit = int(min(s.Limit, maxList))
	}
	l, err := report.Load(ctx, a.Store, s.List, catalog.Filter{Table: of, Limit: limit})
	if err != nil {
		return nil, err
	}
	if err := a.censor(ctx, x, &l); err != nil {
		return nil, err
	}
	return &reply{list: &l, filter: s.Filter, limit: s.Limit}, nil
}
