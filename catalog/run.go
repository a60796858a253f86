package catalog

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// Run is one pass over a whole table, all its partitions together.
type Run struct {
	At         time.Time // when it began
	Deleted    uint64
	Finished   bool      // every partition came to its end
	FinishedAt time.Time // of the last partition
}

const (
	// runsRead bounds the jobs that are read for the last runs of a table, runsOfEach how many runs of a table with partitions that is.
	runsRead   = 1000
	runsOfEach = 25
)

// Runs returns the last ended runs of a policy, the latest first. Partitions is how many jobs a run has.
func (s *Store) Runs(ctx context.Context, policy uint64, partitions int) ([]Run, error) {
	rows, err := s.db.QueryContext(ctx, s.sql(selectRuns), policy, max(runsRead, runsOfEach*partitions))
	if err != nil {
		return nil, fmt.Errorf("read runs: %w", err)
	}
	return collect(rows, func(r *sql.Rows) (run Run, err error) {
		return run, r.Scan(&run.At, &run.Deleted, &run.Finished, &run.FinishedAt)
	})
}

// Consented is how many rows somebody has agreed to that no run has used yet, with the rows that runs have deleted since; false when
// nobody has. A consent is used up when a run has finished.
func (a Approval) Consented(runs []Run) (rows *uint64, given bool) {
	if a.At.IsZero() {
		return nil, false
	}
	left := a.Rows
	for _, r := range runs {
		if !r.FinishedAt.After(a.At) {
			continue
		}
		if r.Finished {
			return nil, false
		}
		if left != nil {
			rest := *left - min(r.Deleted, *left)
			left = &rest
		}
	}
	return left, true
}
