package catalog

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Run is one pass over a whole table, all its partitions together.
type Run struct {
	At         time.Time // when it began
	Deleted    uint64
	Finished   bool      // every partition came to its end
	FinishedAt time.Time // of the last partition
	Exactly    bool      // a person has allowed it a number of rows, and not one more
}

// runsRead bounds the runs that are read; few of them found nothing.
const runsRead = 1000

// Runs returns the last runs of a policy, the latest first. Of several in a row that found nothing
// those in between are left out.
func (s *Store) Runs(ctx context.Context, policy uint64) ([]Run, error) {
	rows, err := s.db.QueryContext(ctx, s.sql(selectRuns), policy, runsRead)
	if err != nil {
		return nil, fmt.Errorf("read runs: %w", err)
	}
	return collect(rows, func(r *sql.Rows) (run Run, err error) {
		return run, r.Scan(&run.At, &run.Deleted, &run.Finished, &run.FinishedAt, &run.Exactly)
	})
}

const (
	// sameLine is how soon after each other jobs begin that are one line of the history.
	sameLine = 30 * time.Second
	// lineSpan is the time of which one line tells.
	lineSpan = time.Minute
)

// fold keeps tables whose jobs start every second from filling the catalog. The line of a job that
// has just ended and found nothing absorbs the one before, if that found nothing either; the line of
// the job before the last absorbs the one before it, if little time passed between the two. The last
// is kept as it was. Whoever ends a job has locked its policy's schedule, so that no two do this at
// once.
func (s *Store) fold(ctx context.Context, tx *sql.Tx, job uint64, end JobState) error {
	if err := s.foldLines(ctx, tx, job); err != nil || end != JobFinished {
		return err
	}
	if n, err := s.exec(ctx, tx, foldHistory, job); err != nil {
		return err
	} else if n > 0 {
		if err := s.step(ctx, tx, deleteFolded, job, job); err != nil {
			return err
		}
	}
	return s.foldRuns(ctx, tx, job)
}

// foldLines lets the line of the job before the one that has just ended take in the line before it.
func (s *Store) foldLines(ctx context.Context, tx *sql.Tx, job uint64) error {
	var line, before uint64
	var together sql.Null[bool]
	soon, span := sameLine.Microseconds(), lineSpan.Microseconds()
	err := tx.QueryRowContext(ctx, s.sql(selectLinesBefore), soon, span, soon, job).Scan(&line, &before, &together)
	if isNoRows(err) || err == nil && !together.V {
		return nil
	}
	if err != nil {
		return err
	}

	if err := s.step(ctx, tx, mergeLines, before, line); err != nil {
		return err
	}
	return s.step(ctx, tx, deleteLine, before)
}

// foldRuns forgets the run before the last one where it, that one, and the one before it found
// nothing: of such a row of runs the first and the last remain, so that the time is known that
// passed before each run which found something. The job's own run has not ended yet, maybe.
func (s *Store) foldRuns(ctx context.Context, tx *sql.Tx, job uint64) error {
	type run struct {
		policy uint64
		at     time.Time
		empty  bool
	}

	rows, err := tx.QueryContext(ctx, s.sql(selectRunsBefore), job)
	if err != nil {
		return err
	}

	last, err := collect(rows, func(r *sql.Rows) (x run, err error) { return x, r.Scan(&x.policy, &x.at, &x.empty) })
	if err != nil || len(last) < 3 || !last[0].empty || !last[1].empty || !last[2].empty {
		return err
	}

	return s.step(ctx, tx, deleteRun, last[1].policy, last[1].at)
}

// LooksTold is the longest time between two looks at a table that are told of.
const LooksTold = 30 * time.Second

// Looked tells that nothing was due in the tables of policies at a moment, although no run was made:
// what had expired before another moment is gone.
func (s *Store) Looked(ctx context.Context, at, due time.Time, policies []uint64) error {
	ids := make([]string, len(policies))
	for i, id := range policies {
		ids[i] = strconv.FormatUint(id, 10)
	}
	if _, err := s.exec(ctx, s.db, fmt.Sprintf(tellLooked, strings.Join(ids, ", ")), at, due); err != nil {
		return fmt.Errorf("write that nothing was due: %w", err)
	}
	return nil
}

// Consented is how many rows somebody has agreed to that no run has used yet, with the rows that
// runs have deleted since; false when nobody has. A consent is used up when a run has finished.
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
