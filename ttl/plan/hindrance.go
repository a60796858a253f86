package plan

import (
	"context"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/tables"
)

// Hindrances say why a policy's rule does nothing of what it asks for partitions: none goes whole, or none is
// made ahead. It must be asked by the account that would do it.
func Hindrances(ctx context.Context, q tables.Querier, from FateSource, p catalog.Policy) (all []string, err error) {
	o := p.Terms.Options
	if o.Partition == "" && o.Ahead == 0 {
		return nil, nil
	}

	f, err := tables.ReadFacts(ctx, q, p.Table.Schema, p.Table.Name)
	if err != nil {
		return nil, err
	}
	if len(f.Partitions) == 0 {
		return []string{"the table has no partitions: all rows go one by one; EXPLAIN TTL " + p.Table.String() +
			" has a statement that divides it"}, nil
	}
	now, err := from.Clock(ctx)
	if err != nil {
		return nil, err
	}
	stay, _, err := ReadStaying(ctx, q, p.Terms, &f.Layout, f.Children)
	if err != nil {
		return nil, err
	}

	whole, err := ReadWhole(ctx, q, from, p, f, stay, now)
	if err != nil {
		return nil, err
	}
	if whole.all != "" {
		all = append(all, "no partition goes whole: "+whole.all)
	}
	if o.Ahead != 0 {
		_, why, err := ReadAhead(ctx, q, from, p, f, now)
		if err != nil {
			return nil, err
		}
		if why != "" {
			all = append(all, "no partitions are made ahead: "+why)
		}
	}
	return all, nil
}
