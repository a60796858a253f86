package catalog

import (
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// EndedJob is a job of the history. Successive ones that found nothing, or began soon one after the
// other, are kept as the last of them, with the rows of all.
type EndedJob struct {
	Job
	FinishedAt time.Time
	Runs       uint64    // jobs that it stands for: this one, and some just before it
	FirstAt    time.Time // when the first of them began
}

// Worked is how long these jobs have run, without the time between them.
func (j *EndedJob) Worked() time.Duration {
	began := cmp.Or(j.FirstAt, j.CreatedAt)
	return max(0, j.FinishedAt.Sub(began)-j.Waited)
}

// Filter narrows a list. Empty fields mean all; a limit of 0 means 1000.
type Filter struct {
	Table Table
	Limit int
	Only  []Condition // all of which jobs of the history must meet
}

func (f Filter) args() []any {
	if f.Limit <= 0 {
		f.Limit = 1000
	}
	return []any{f.Table.Schema, f.Table.Schema, f.Table.Name, f.Table.Name, f.Limit}
}

// History returns ended jobs, the latest first.
func (s *Store) History(ctx context.Context, f Filter) ([]EndedJob, error) {
	args := f.args()
	query, of, limit := selectHistory, args[:4], args[4]
	if f.Table.Schema != "" && f.Table.Name != "" {
		query, of = selectTableHistory, []any{f.Table.Schema, f.Table.Name}
	}

	var only strings.Builder
	for _, c := range f.Only {
		only.WriteString(" AND " + c.sql)
		of = append(of, c.value)
	}

	return s.history(ctx, fmt.Sprintf(query, only.String()), append(of, limit)...)
}

// EndedJob returns a job of the history, or a later one that stands for it; ErrNoJob when there is
// none.
func (s *Store) EndedJob(ctx context.Context, job Job) (EndedJob, error) {
	all, err := s.history(ctx, selectEndedJob, job.ID)
	if err == nil && len(all) == 0 {
		all, err = s.history(ctx, selectFoldedJob, job.ID, job.ID, job.PolicyID, job.Partition)
	}
	if err == nil && len(all) == 0 {
		err = ErrNoJob
	}
	if err != nil {
		return EndedJob{}, err
	}
	return all[0], nil
}

func (s *Store) history(ctx context.Context, query string, args ...any) ([]EndedJob, error) {
	rows, err := s.db.QueryContext(ctx, s.sql(query), args...)
	if err != nil {
		return nil, fmt.Errorf("read history: %w", err)
	}
	return collect(rows, scanEndedJob)
}

func scanEndedJob(r *sql.Rows) (j EndedJob, err error) {
	var estimated, inflow, nulls, odd sql.Null[uint64]
	var oldest, first sql.Null[time.Time]
	var waited int64
	err = r.Scan(&j.ID, &j.PolicyID, &j.Version, &j.Table.Schema, &j.Table.Name, &j.Partition, &j.State, &j.Reason,
		&j.Cutoff,
		&j.Trigger, &j.TriggeredBy, &j.Plan, &j.PlanReason, &estimated, &inflow, &oldest, &nulls, &odd, &j.Note,
		&j.CreatedAt, &j.FinishedAt, &waited, &j.Runs, &first, &j.Tasks, &j.TasksFinished,
		&j.Counts.Examined, &j.Counts.Deleted, &j.Counts.Refreshed, &j.Counts.Failed, &j.Counts.Skipped)
	j.StateAt, j.OldestExpiry, j.FirstAt = j.FinishedAt, oldest.V, first.V
	j.Waited = time.Duration(waited) * time.Microsecond

	if !first.Valid {
		j.FirstAt = j.CreatedAt
	}

	j.EstimatedRows, j.Inflow, j.NullRows, j.OddRows = pointer(estimated), pointer(inflow), pointer(nulls), pointer(odd)
	return j, err
}

// RowError is a row that could not be deleted.
type RowError struct {
	PolicyID  uint64
	Table     Table
	Partition string
	Key       string // as JSON
	Number    int    // MySQL error number
	Reason    string
	Attempts  uint64
	FirstAt   time.Time
	LastAt    time.Time
	NextTryAt time.Time
	ExpiredAt time.Time // zero when that is not known
}

// The wait before a row is tried again doubles with each attempt. A job that was started by hand
// does not wait.
const (
	rowRetryFirst = time.Hour
	rowRetryLast  = 7 * 24 * time.Hour
)

// RecordRowError records a row that could not be deleted and says when to try again.
func (s *Store) RecordRowError(ctx context.Context, e RowError) error {
	return s.tx(ctx, "record row error", func(tx *sql.Tx) error {
		hash := keyHash(e.Key)
		var attempts int
		err := tx.QueryRowContext(ctx, s.sql(selectRowErrorAttempts), e.PolicyID, e.Partition, hash).Scan(&attempts)
		if err != nil && !isNoRows(err) {
			return err
		}
		next := min(rowRetryFirst<<min(attempts, 16), rowRetryLast)
		_, err = s.exec(ctx, tx, upsertRowError,
			e.PolicyID, e.Partition, hash, e.Key, e.Number, e.Reason, nullTime(e.ExpiredAt), next.Microseconds())
		return err
	})
}

// ForgetRowErrors removes the records of rows that are gone now, or no longer due.
func (s *Store) ForgetRowErrors(ctx context.Context, policy uint64, partition string, keys []string) error {
	for some := range slices.Chunk(keys, 500) {
		args := []any{policy, partition}
		for _, key := range some {
			args = append(args, keyHash(key))
		}
		if _, err := s.exec(ctx, s.db, deleteRowErrors+"(?"+strings.Repeat(", ?", len(some)-1)+")",
			args...); err != nil {
			return fmt.Errorf("forget row errors: %w", err)
		}
	}
	return nil
}

// RowErrors returns the rows that could not be deleted, the latest first.
func (s *Store) RowErrors(ctx context.Context, f Filter) ([]RowError, error) {
	return s.rowErrors(ctx, selectRowErrors, f.args()...)
}

// RestingRows returns the keys of some of the rows that could not be deleted and whose next try has
// not come, and when they expired.
func (s *Store) RestingRows(
	ctx context.Context, policy uint64, partition string, most int,
) (map[string]time.Time, error) {
	return s.rowsAtRest(ctx, selectRestingRows, policy, partition, most)
}

// RestingAmong is RestingRows for these keys only; or for all of them that could not be deleted at
// some time.
func (s *Store) RestingAmong(
	ctx context.Context, policy uint64, partition string, keys []string, all bool,
) (map[string]time.Time, error) {
	among := map[string]time.Time{}
	for some := range slices.Chunk(keys, 500) {
		args := []any{policy, partition, all}
		for _, key := range some {
			args = append(args, keyHash(key))
		}
		query := fmt.Sprintf(selectRestingAmong, "?"+strings.Repeat(", ?", len(some)-1))
		found, err := s.rowsAtRest(ctx, query, args...)
		if err != nil {
			return nil, err
		}
		maps.Copy(among, found)
	}
	return among, nil
}

func (s *Store) rowsAtRest(ctx context.Context, query string, args ...any) (map[string]time.Time, error) {
	rows, err := s.db.QueryContext(ctx, s.sql(query), args...)
	if err != nil {
		return nil, fmt.Errorf("read rows at rest: %w", err)
	}

	found := map[string]time.Time{}
	_, err = collect(rows, func(r *sql.Rows) (key string, err error) {
		var expired sql.Null[time.Time]
		err = r.Scan(&key, &expired)
		found[key] = expired.V
		return key, err
	})
	return found, err
}

// RowsNotTried returns the keys of rows that could not be deleted and have not been tried since a
// moment.
func (s *Store) RowsNotTried(ctx context.Context, policy uint64, partition string, since time.Time) ([]string, error) {
	return s.rowKeys(ctx, selectRowsNotTried, policy, partition, since)
}

func (s *Store) rowKeys(ctx context.Context, query string, args ...any) ([]string, error) {
	rows, err := s.db.QueryContext(ctx, s.sql(query), args...)
	if err != nil {
		return nil, fmt.Errorf("read keys of row errors: %w", err)
	}
	return collect(rows, func(r *sql.Rows) (key string, err error) { return key, r.Scan(&key) })
}

func (s *Store) rowErrors(ctx context.Context, query string, args ...any) ([]RowError, error) {
	rows, err := s.db.QueryContext(ctx, s.sql(query), args...)
	if err != nil {
		return nil, fmt.Errorf("read row errors: %w", err)
	}
	return collect(rows, func(r *sql.Rows) (e RowError, err error) {
		return e, r.Scan(&e.PolicyID, &e.Table.Schema, &e.Table.Name, &e.Partition, &e.Key, &e.Number, &e.Reason,
			&e.Attempts, &e.FirstAt, &e.LastAt, &e.NextTryAt)
	})
}

// keyHash makes keys of any length fit a unique index.
func keyHash(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:])
}
