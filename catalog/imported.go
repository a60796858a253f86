package catalog

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/ttlproxy/ttlproxy/catalog/setting"
	"github.com/ttlproxy/ttlproxy/catalog/tables"
)

// MySQL keeps the id of a tablespace, and the time of its table, when IMPORT TABLESPACE puts other rows in
// their place. What tells is the number that InnoDB gives the table anew: only its locks show it, so jobs
// read it when they begin (see Session.TableNumber in ttl/work).

// Numbers returns the numbers that the table of a policy and its partitions had when they were first read, by
// partition: none of what is remembered anew.
func (s *Store) Numbers(ctx context.Context, policy uint64) (map[string]uint64, error) {
	rows, err := s.db.QueryContext(ctx, s.sql(selectTableNumbers), policy)
	if err != nil {
		return nil, fmt.Errorf("read the numbers of tables: %w", err)
	}
	numbers := map[string]uint64{}
	_, err = collect(rows, func(r *sql.Rows) (partition string, err error) {
		var number uint64
		err = r.Scan(&partition, &number)
		numbers[partition] = number
		return partition, err
	})
	return numbers, err
}

// LearnNumber remembers the number of a table or partition, as long as it is the one with that id.
func (s *Store) LearnNumber(ctx context.Context, policy uint64, place tables.Identity, number uint64) error {
	if _, err := s.exec(ctx, s.db, learnTableNumber, number, policy, place.Partition, place.TableID); err != nil {
		return fmt.Errorf("remember the number of a table: %w", err)
	}
	return nil
}

// Imported makes a policy wait for approval because rows were brought into a table or partition of it, as
// after every other statement around the proxy after which it may have other rows. If it has another id meanwhile,
// it was rebuilt before its number was read: Recognize, at the next run, says what that means.
func (s *Store) Imported(ctx context.Context, actor string, p Policy, partition string) error {
	values, err := s.Values(ctx)
	if err != nil {
		return err
	}
	seen, known, c, err := s.lookAndCompare(ctx, p)
	if err != nil || c.How == tables.Stranger {
		return err
	}
	was, _ := known.At(partition)
	is, _ := seen.Incarnation.At(partition)
	if was.TableID != 0 && is.TableID != 0 && is.TableID != was.TableID {
		return nil
	}

	c = c.Imported(partition)
	if values[setting.Around] != setting.AroundFollow {
		return s.Disarm(ctx, actor, p.ID, p.Version, c.Why)
	}
	return s.follow(ctx, actor, p, seen, c)
}
