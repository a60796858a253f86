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
// read it when they begin, and workers with each task (see Session.TableNumber in ttl/work).

// Numbers are those of a policy's table and its partitions on one server, as they were first read.
type Numbers map[numbered]uint64

// numbered is what has a number: whatever takes a partition's place has another id.
type numbered struct {
	partition string
	id        uint64
}

// Of is the number of a table or partition; 0 if nobody has read it.
func (n Numbers) Of(i tables.Identity) uint64 { return n[numbered{i.Partition, i.TableID}] }

// Numbers returns what numbers are known of a policy's table on a server.
func (s *Store) Numbers(ctx context.Context, policy uint64, server string) (Numbers, error) {
	return s.numbers(ctx, s.db, policy, server)
}

func (s *Store) numbers(ctx context.Context, on execer, policy uint64, server string) (Numbers, error) {
	rows, err := on.QueryContext(ctx, s.sql(selectTableNumbers), policy, server)
	if err != nil {
		return nil, fmt.Errorf("read the numbers of tables: %w", err)
	}
	numbers := Numbers{}
	_, err = collect(rows, func(r *sql.Rows) (of numbered, err error) {
		var number uint64
		err = r.Scan(&of.partition, &of.id, &number)
		numbers[of] = number
		return of, err
	})
	return numbers, err
}

// LearnNumber remembers the number of a table or partition, as long as it is the one with that id.
func (s *Store) LearnNumber(
	ctx context.Context, policy uint64, server string, place tables.Identity, number uint64,
) error {
	if _, err := s.exec(ctx, s.db, learnTableNumber, number, policy, place.Partition, server,
		place.TableID); err != nil {
		return fmt.Errorf("remember the number of a table: %w", err)
	}
	return nil
}

// forgetNumbers lets the next job read them anew: it has been noticed that rows came in.
func (s *Store) forgetNumbers(ctx context.Context, on execer, policy uint64) error {
	if _, err := s.exec(ctx, on, forgetTableNumbers, policy); err != nil {
		return fmt.Errorf("forget the numbers of tables: %w", err)
	}
	return nil
}

// Imported makes a policy wait for approval because rows were brought into a table or partition of it, as
// after every other statement around the proxy after which it may have other rows. If it has another id than the place
// whose number was known, it was rebuilt before its number was read, or another one has its name: Recognize says what
// that means, and may have said it already.
func (s *Store) Imported(ctx context.Context, actor string, p Policy, place tables.Identity) error {
	values, err := s.Values(ctx)
	if err != nil {
		return err
	}
	seen, _, c, err := s.lookAndCompare(ctx, p)
	if err != nil || c.How == tables.Stranger {
		return err
	}
	is, there := seen.Incarnation.At(place.Partition)
	if !there || is.TableID != 0 && is.TableID != place.TableID {
		return nil
	}

	c = c.Imported(place.Partition)
	if values[setting.Around] == setting.AroundFollow {
		err = s.follow(ctx, actor, p, seen, c)
	} else {
		err = s.Disarm(ctx, actor, p.ID, p.Version, c.Why)
	}
	if err != nil {
		return err
	}
	return s.forgetNumbers(ctx, s.db, p.ID)
}
