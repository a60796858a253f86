package ttl

import (
	"context"
	"slices"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/ttl/plan"
	"github.com/ttlproxy/ttlproxy/ttl/work"
)

// forgetMended drops rows from SHOW TTL ERRORS that are gone when a job has finished, or no longer
// due.
func (t *ticker) forgetMended(ctx context.Context, job catalog.Job) error {
	old, err := t.store.RowsNotTried(ctx, job.PolicyID, job.Partition, job.CreatedAt)
	if err != nil || len(old) == 0 {
		return err
	}
	there, err := t.stillDue(ctx, job, old)
	if err != nil {
		return err
	}
	mended := slices.DeleteFunc(old, func(key string) bool { return there[key] })
	return t.store.ForgetRowErrors(ctx, job.PolicyID, job.Partition, mended)
}

// work.StillDue asks the table which of the rows still exist and have expired.
func (t *ticker) stillDue(ctx context.Context, job catalog.Job, texts []string) (map[string]bool, error) {
	if err := t.session.Ready(ctx); err != nil {
		return nil, err
	}

	p, err := t.store.PolicyByID(ctx, job.PolicyID)
	if err != nil {
		return nil, err
	}

	layout, err := tables.ReadLayout(ctx, t.session, job.Table.Schema, job.Table.Name)
	if err != nil {
		return nil, err
	}

	statements := plan.StatementsOf(layout, job.Partition, p.Rule.Column, job.CutoffLiteral, job.FloorLiteral,
		plan.Staying{})
	return work.StillDue(ctx, t.session, statements, texts)
}
