package ttl

import (
	"context"
	"errors"
	"fmt"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/ttl/work"
)

// tablePause says why this table must wait although its policy is armed and its foreign keys allow
// deletion; empty when it need not.
func tablePause(ctx context.Context, q tables.Querier, p catalog.Policy, f *tables.Facts) (string, error) {
	if unfit := f.Unfit(); unfit != "" {
		return unfit, nil
	}

	c, found := f.Column(p.Rule.Column)
	if !found || !c.Kind.Temporal() {
		return "", fmt.Errorf("column %s of %s: %w", p.Rule.Column, p.Table, errColumn)
	}
	if why := f.SessionDependence(p.Rule.Column); why != "" {
		return ddl.ReaderDependent(p.Rule.Column, why).Message, nil
	}

	return work.ZonePause(ctx, q, p.Rule, c.Kind)
}

// errColumn means that the TTL column is gone or no longer a date.
var errColumn = errors.New("not there, or not a DATE, DATETIME or TIMESTAMP any more")
