package statement

import (
	"errors"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/report"
	"github.com/ttlproxy/ttlproxy/ddl"
)

// errNotOurs is not reached: whoever runs a statement has looked at its shape before.
var errNotOurs = errors.New("not a statement of ours")

// shapeOf says what a statement will be answered with, before it runs: which columns, or an OK. It
// is false for a statement that is not ours.
func shapeOf(action ddl.Action) (*reply, bool) {
	switch s := action.(type) {
	case *ddl.ShowTTL:
		l := report.Empty(s.List)
		return &reply{list: &l, filter: s.Filter, limit: mostLines(s)}, true
	case *ddl.ExplainTTL:
		l := emptyExplain(s.JSON)
		return &reply{list: &l}, true
	case *ddl.RunJob:
		l := report.Runs(catalog.Table{}, nil, nil)
		return &reply{list: &l}, true
	case *ddl.TrustServer:
		l := report.Lineage(catalog.Lineage{}, catalog.GlobalPause{})
		return &reply{list: &l}, true
	case *ddl.DescribeTiDB:
		l := report.DescribeTiDB(s.Table.Table, s.Form)
		return &reply{list: &l, filter: s.Filter}, true
	case *ddl.CancelJob, *ddl.PauseTTL, *ddl.ResumeTTL, *ddl.ApproveJob, *ddl.RestorePartition:
		return &reply{}, true
	default:
		return nil, false
	}
}
