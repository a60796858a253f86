package statement

import (
	"context"
	"errors"
	"strconv"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/report"
	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/proxy"
	"github.com/ttlproxy/ttlproxy/proxy/wire"
	"github.com/ttlproxy/ttlproxy/ttl/plan"
)

// longList bounds lists that grow with time. LIMIT may ask for more, up to what fits in a packet of
// the server.
const (
	longList = 1000
	maxList  = 20_000
)

// show answers SHOW TTL.
func (a *admin) show(ctx context.Context, s *ddl.ShowTTL) (*reply, error) {
	if s.List == ddl.ListSessions {
		return a.sessions(s)
	}

	ctx, cancel := context.WithTimeout(ctx, adminWait)
	defer cancel()

	if s.List == ddl.ListPartitions {
		return a.partitions(ctx, s)
	}

	of := catalog.Table{Schema: s.Schema}
	if s.Table != nil {
		t, err := a.shownTable(*s.Table)
		if err != nil {
			return nil, err
		}
		of = t
	}

	only, judged := onlyThose(s)
	limit, err := a.loaded(s, judged)
	if err != nil {
		return nil, err
	}

	l, err := report.Load(ctx, a.q.store, s.List, catalog.Filter{Table: a.q.store.Stored(of), Limit: limit, Only: only})
	if err != nil {
		return nil, err
	}
	if err := a.censor(ctx, &l); err != nil {
		return nil, err
	}
	if s.List == ddl.ListStatus && a.q.h.config.Backends != nil {
		l.AddBackends(a.q.h.config.Backends())
	}

	return &reply{list: &l, filter: s.Filter, limit: mostLines(s)}, nil
}

// mostLines is how many lines of a list are shown; nil for all of them.
func mostLines(s *ddl.ShowTTL) *uint64 {
	switch {
	case s.Limit != nil:
		return s.Limit
	case grows(s.List):
		return new(uint64(longList))
	case s.List == ddl.ListSessions || s.List == ddl.ListPartitions:
		return new(uint64(maxList))
	}
	return nil
}

// loaded is how many lines of a list that grows are read. LIMIT counts what is left of them, so it bounds
// that only where nothing is left out afterwards, by the server or because the client may not see it.
func (a *admin) loaded(s *ddl.ShowTTL, judged bool) (int, error) {
	if !judged {
		return maxList, nil
	}
	if s.Table == nil && grows(s.List) {
		if all, err := a.q.readsAll(); !all || err != nil {
			return maxList, err
		}
	}
	if s.Limit == nil {
		return longList, nil
	}
	return int(min(max(*s.Limit, 1), maxList)), nil // of none, too, the columns are shown
}

// onlyThose are conditions that leave what the filter of a list does, for the catalog to judge: it
// reads no more of a long history than is shown. It is false where only the server can tell.
func onlyThose(s *ddl.ShowTTL) (only []catalog.Condition, judged bool) {
	if s.Filter == (ddl.Filter{}) {
		return nil, true
	}
	comparisons, whole := s.Filter.Comparisons()
	if !whole || s.List != ddl.ListHistory {
		return nil, false
	}
	return catalog.ConditionsOnHistory(comparisons)
}

// grows reports whether a list grows with time, and is bounded for that.
func grows(l ddl.List) bool {
	return l == ddl.ListHistory || l == ddl.ListErrors || l == ddl.ListEvents
}

// shownTable finds the table that a name means to the client, who may see it without the rights for
// SHOW CREATE TABLE.
func (a *admin) shownTable(name ddl.Name) (catalog.Table, error) {
	t, err := a.resolveTable(name)
	if refused, ok := errors.AsType[*wire.Error](err); !ok || refused.Code != ddl.CodeTableDenied {
		return t, err
	}
	t, _ = a.q.session.table(name)
	visible, asked := askAll(a.q.x,
		"SELECT 1 FROM information_schema.TABLES WHERE "+kept+" AND ("+anyOf([]catalog.Table{t})+")")
	if asked == nil && len(visible.Rows) == 0 {
		return t, err
	}
	return t, asked
}

// checkCondition lets the server judge the WHERE of a SHOW TTL by itself, so that its errors are
// not reported for the statement around it.
func checkCondition(x *proxy.Exchange, action ddl.Action) error {
	s, ok := action.(*ddl.ShowTTL)
	if !ok || s.Filter.Where == "" {
		return nil
	}
	none := report.Empty(s.List)
	_, err := x.Ask((&reply{list: &none, filter: s.Filter}).query(literalRows(&none)))
	if e, refused := errors.AsType[*wire.Error](err); refused && e.Code == ddl.CodeSyntax {
		return refusal(ddl.WrongCondition(s))
	}
	return err
}

// sessions answers SHOW TTL SESSIONS: the sessions of this proxy on the client's own server, those
// that the client sees in its process list. So without the right PROCESS everybody sees his own.
func (a *admin) sessions(s *ddl.ShowTTL) (*reply, error) {
	r, err := askAll(a.q.x, "SELECT ID FROM information_schema.PROCESSLIST")
	if err != nil {
		return nil, err
	}

	visible := make(map[uint32]bool, len(r.Rows))
	for _, row := range r.Rows {
		if id, err := strconv.ParseUint(string(row[0]), 10, 32); err == nil {
			visible[uint32(id)] = true
		}
	}

	var shown []report.Session
	for _, v := range a.q.x.Sessions() {
		if v.Backend == a.q.x.Backend() && visible[v.ID] {
			shown = append(shown, report.Session(v))
		}
	}

	l := report.Sessions(shown)
	return &reply{list: &l, filter: s.Filter, limit: mostLines(s)}, nil
}

// partitions answers SHOW TTL PARTITIONS, to whoever may see the table.
func (a *admin) partitions(ctx context.Context, s *ddl.ShowTTL) (*reply, error) {
	table, err := a.shownTable(*s.Table)
	if err != nil {
		return nil, err
	}

	p, err := a.declared(ctx, table)
	if err != nil {
		return nil, err
	}

	fates, err := plan.Fates(ctx, a.q.h.config.DB, a.q.store, p)
	if errors.Is(err, plan.ErrNoPartitions) {
		return nil, refuse("Table %s has no partitions; EXPLAIN FORMAT = JSON TTL shows how it could have them", table)
	}
	if err != nil {
		return nil, err
	}

	shown := make([]report.Partition, len(fates))
	for i, f := range fates {
		shown[i] = report.Partition{
			Name: f.Name, Bound: f.Below, Rows: f.Rows, Bytes: f.Bytes, DueAt: f.DueAt, Fate: f.Text,
		}
	}

	l := report.Partitions(table, shown)
	if err := a.censor(ctx, &l); err != nil {
		return nil, err
	}

	return &reply{list: &l, filter: s.Filter, limit: mostLines(s)}, nil
}
