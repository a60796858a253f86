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
	l, err := a.list(ctx, s, of)
	if err != nil {
		return nil, err
	}
	l.Keep(func(r report.Row) bool { return matches(of, r.Table) })
	if err := a.censor(ctx, x, &l); err != nil {
		return nil, err
	}
	return &reply{list: &l, filter: s.Filter, limit: s.Limit}, nil
}

// matches reports whether a row about t belongs to a list narrowed to what of names.
func matches(of, t catalog.Table) bool {
	return (of.Schema == "" || of.Schema == t.Schema) && (of.Name == "" || of.Name == t.Name)
}

// list reads a list, still with what this client may not see.
func (a *admin) list(ctx context.Context, s *ddl.ShowTTL, of catalog.Table) (report.List, error) {
	limit := longList
	if s.Limit > 0 {
		limit = int(min(s.Limit, maxList))
	}
	switch s.List {
	case ddl.ListHistory:
		ended, err := a.Store.History(ctx, catalog.Filter{Table: of, Limit: limit})
		return report.History(ended), err
	case ddl.ListErrors:
		rows, err := a.Store.RowErrors(ctx, 0, limit)
		return report.Errors(rows), err
	case ddl.ListEvents:
		events, err := a.Store.Events(ctx, catalog.Filter{Table: of, Limit: limit})
		return report.Events(events), err
	case ddl.ListVariables:
		values, err := a.Store.Values(ctx)
		return report.Variables(values), err
	default:
		return a.snapshotList(ctx, s.List)
	}
}

// snapshotList reads one of the lists about now.
func (a *admin) snapshotList(ctx context.Context, list ddl.List) (report.List, error) {
	s, err := report.Read(ctx, a.Store)
	if err != nil {
		return report.List{}, err
	}
	switch list {
	case ddl.ListTables:
		return report.Tables(s), nil
	case ddl.ListJobs:
		return report.Jobs(s), nil
	case ddl.ListStatus:
		lineage, err := a.Store.Lineage(ctx)
		return report.Status(s, lineage), err
	default:
	}
	tasks, err := a.Store.Tasks(ctx)
	if list == ddl.ListNodes {
		return report.Nodes(s, tasks), err
	}
	return report.Tasks(s, tasks), err
}
