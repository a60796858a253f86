package plan

import (
	"context"
	"slices"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/tables"
)

// agreeWait bounds the counting for somebody who approves.
const agreeWait = 2 * time.Second

// Agreeable is what somebody who approves a policy wants to know from the catalog; *catalog.Store is one.
type Agreeable interface {
	Source
	Jobs(ctx context.Context) ([]catalog.Job, error)
}

// DueNow is how many rows are due under a policy that a person is about to approve. It is nil if a job waits, which has
// counted them, and if that cannot be found out quickly: then the next run is judged by what it finds.
func DueNow(ctx context.Context, q tables.Querier, from Agreeable, p catalog.Policy) (*uint64, error) {
	jobs, err := from.Jobs(ctx)
	if err != nil {
		return nil, err
	}

	waits := func(j catalog.Job) bool { return j.PolicyID == p.ID && j.State == catalog.JobNeedsApproval }
	if slices.ContainsFunc(jobs, waits) {
		return nil, nil //nolint:nilnil // the job has counted them
	}

	ctx, cancel := context.WithTimeout(ctx, agreeWait)
	defer cancel()

	preview, err := Glance(ctx, q, from, p.Table, p.Rule)
	if err != nil {
		return nil, nil //nolint:nilnil // as many as the next run finds
	}

	due := uint64(max(preview.Due, 0))
	return &due, nil
}
