package catalog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// ErrNoExpiryQueue says that nothing is written down of a table that a job wanted to go by.
var ErrNoExpiryQueue = errors.New("the expiry queue is gone")

// ExpiryQueue is where it is written down when the rows of a table, or of a partition, expire. Its
// entries are hints: they say where to look, never what to delete.
type ExpiryQueue struct {
	ID     uint64
	Shards int       // all entries are in shards below this one
	Census time.Time // when the last census began that came to its end; zero for none
}

// UseExpiryQueue returns the queue of a policy's table or partition, before a job is planned. If the
// table has another shape than the one that its entries were written for, the queue is a new one.
func (s *Store) UseExpiryQueue(
	ctx context.Context, policy uint64, partition, shape string, shards int,
) (ExpiryQueue, error) {
	q, err := s.readExpiryQueue(ctx, selectReadyQueue, policy, partition, shape, shards)
	if !errors.Is(err, ErrNoExpiryQueue) {
		return q, err
	}

	for _, step := range []struct {
		query string
		args  []any
	}{
		{retireOtherShapes, []any{policy, partition, shape}},
		{useExpiryQueue, []any{policy, partition, shape, shards}},
		{endCensus, []any{policy, partition}},
	} {
		if _, err := s.exec(ctx, s.db, step.query, step.args...); err != nil {
			return ExpiryQueue{}, fmt.Errorf("prepare the expiry queue: %w", err)
		}
	}
	return s.ExpiryQueue(ctx, policy, partition)
}

// ExpiryQueue returns the queue of a policy's table or partition.
func (s *Store) ExpiryQueue(ctx context.Context, policy uint64, partition string) (ExpiryQueue, error) {
	return s.readExpiryQueue(ctx, selectExpiryQueue, policy, partition)
}

func (s *Store) readExpiryQueue(ctx context.Context, query string, args ...any) (q ExpiryQueue, err error) {
	var census sql.Null[time.Time]
	err = s.db.QueryRowContext(ctx, s.sql(query), args...).Scan(&q.ID, &q.Shards, &census)
	switch {
	case isNoRows(err):
		return q, ErrNoExpiryQueue
	case err != nil:
		return q, fmt.Errorf("read the expiry queue: %w", err)
	}
	q.Census = census.V
	return q, nil
}

// BeginCensus notes which job reads the table into the queue. How it ended is read when the next job
// is planned.
func (s *Store) BeginCensus(ctx context.Context, queue, job uint64) error {
	if _, err := s.exec(ctx, s.db, beginCensus, job, queue); err != nil {
		return fmt.Errorf("note the census: %w", err)
	}
	return nil
}

// Census is when the oldest of the last whole censuses of a policy's table and partitions began; zero
// if one of them has had none.
func (s *Store) Census(ctx context.Context, policy uint64) (time.Time, error) {
	var never bool
	var at sql.Null[time.Time]
	if err := s.db.QueryRowContext(ctx, s.sql(selectCensus), policy).Scan(&never, &at); err != nil {
		return time.Time{}, fmt.Errorf("read the census: %w", err)
	}
	if never {
		return time.Time{}, nil
	}
	return at.V, nil
}

// roundsOfClearing bounds how long one call of ClearExpiryQueues lasts.
const roundsOfClearing = 10

// ClearExpiryQueues removes some of the entries that nobody needs any more: of policies that are gone,
// of tables that are others now, of queues that no job has used for a week.
func (s *Store) ClearExpiryQueues(ctx context.Context) error {
	var some bool
	if err := s.db.QueryRowContext(ctx, s.sql(selectAnyQueue)).Scan(&some); err != nil || !some {
		return err
	}
	if _, err := s.exec(ctx, s.db, retireExpiryQueues); err != nil {
		return fmt.Errorf("retire expiry queues: %w", err)
	}

	for range roundsOfClearing {
		var queue uint64
		err := s.db.QueryRowContext(ctx, s.sql(selectRetiredQueue)).Scan(&queue)
		if isNoRows(err) {
			return nil
		}

		var removed int64
		if err == nil {
			removed, err = s.exec(ctx, s.db, deleteExpiryEntries, queue)
		}
		if err == nil && removed == 0 {
			_, err = s.exec(ctx, s.db, deleteExpiryQueue, queue)
		}
		if err != nil {
			return fmt.Errorf("clear expiry queue %d: %w", queue, err)
		}
	}

	return nil
}
