package plan

import (
	"context"
	"fmt"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/tables"
)

// ReadAside prepares the statements on what a partition of a policy's table has become, by the rule as it is
// now: since the partition went, that may have got a longer interval, and somebody may have put rows there.
// why says why nobody can tell which of them have expired. It must be asked by the account that would drop it.
func ReadAside(
	ctx context.Context, q tables.Querier, p catalog.Policy, side catalog.Table, floor string, now time.Time,
) (s *Statements, why string, err error) {
	f, err := tables.ReadFacts(ctx, q, side.Schema, side.Name)
	if err != nil {
		return nil, "", err
	}
	c, found := f.Column(p.Rule.Column)
	if why = f.Unfit(); why == "" && !found {
		why = "it has no column " + p.Rule.Column
	}
	if why != "" {
		return nil, why, nil
	}

	cutoff, err := CutoffOf(p.Terms, c, now)
	if err != nil {
		return nil, "", err
	}
	if s, err = NewStatements(&f.Layout, "", p.Rule.Column, cutoff, floor, Staying{}); err != nil {
		return nil, "", fmt.Errorf("judge the rows of %s: %w", side, err)
	}
	return s, "", nil
}

// AnyStays asks whether any row of a table, which is named only once, may not go.
func (s *Statements) AnyStays() string {
	return "EXISTS (SELECT 1 FROM " + s.Target.Source() + " WHERE NOT (" + s.due() + "))"
}
