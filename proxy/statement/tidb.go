package statement

import (
	"context"

	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/proxy"
)

// describeOther handles the description of a table which only has the name of one of TiDB's. The
// server describes it, and where it prints a statement, the clauses of the table belong to that.
func (a *admin) describeOther(ctx context.Context, x *proxy.Exchange, d *ddl.DescribeTiDB) (bool, error) {
	if d.Form != ddl.FormCreate || x.Preparing() {
		return false, nil
	}
	return true, a.showCreate(ctx, &ddl.ShowCreateTable{Table: d.Table})
}
