package statement

import (
	"context"

	"github.com/ttlproxy/ttlproxy/ddl"
)

// describeOther handles the description of a table that only has the name of one of TiDB's. The
// server describes it, and if it prints a statement, the clauses of the table are added to that.
func (a *admin) describeOther(ctx context.Context, d *ddl.DescribeTiDB) (bool, error) {
	if d.Form != ddl.FormCreate || a.q.x.Preparing() {
		return false, nil
	}
	return true, a.q.showCreate(ctx, &ddl.ShowCreateTable{Table: d.Table})
}
