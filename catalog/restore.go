package catalog

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/ddl"
)

// Comeback is a partition that a DDL brings back into its table, by exchange with the table that it
// has become (RESTORE TTL PARTITION).
type Comeback struct {
	Partition string `json:"partition"`
	Side      Table  `json:"side"`
	SideID    uint64 `json:"side_id"` // InnoDB's, which goes with the rows
	Server    string `json:"server"`  // whose id that is
	Rows      uint64 `json:"rows"`    // as they were counted
}

// ComesBack is what a DDL is to say that it brings in.
func (d Departure) ComesBack() *Comeback {
	return &Comeback{Partition: d.Partition, Side: d.Side, SideID: d.SideID, Server: d.Server, Rows: d.Due}
}

// arrival is what became of a comeback.
type arrival struct {
	unknown  bool   // another server was looked at
	back     bool   // the partition has the id that the side table had
	leftover uint64 // InnoDB's id of the table that has its name now; 0 for none
}

// arrived finds out whether a partition has come back. Its rows have taken InnoDB's id along.
func (s *Store) arrived(ctx context.Context, c Comeback, seen tables.Seen) (a arrival, err error) {
	if seen.Server != c.Server {
		return arrival{unknown: true}, nil
	}
	a.back = c.SideID != 0 && slices.ContainsFunc(seen.Incarnation, func(i tables.Identity) bool {
		return strings.EqualFold(i.Partition, c.Partition) && i.TableID == c.SideID
	})
	if a.back {
		a.leftover, err = s.idOf(ctx, c.Side, "")
	}
	return a, err
}

// writeArrival notes that a partition has come back.
func (s *Store) writeArrival(ctx context.Context, tx *sql.Tx, e ending) error {
	g := e.policy.Stage
	if g.Restores == nil || !g.arrival.back {
		return nil
	}
	if _, err := s.exec(ctx, tx, restoreKept, g.arrival.leftover, e.policy.ID, g.Restores.Partition,
		g.Restores.SideID); err != nil {
		return err
	}
	now := e.policy
	now.Version, now.Table = now.Version+1, e.table
	text := fmt.Sprintf("partition %s has come back, with %s of %s", g.Restores.Partition, countRows(g.Restores.Rows),
		g.Restores.Side)
	return s.record(ctx, tx, now.event(EventPartition, g.Account, text))
}

// DropLeftovers drops the empty tables against which partitions were exchanged when they came back: by
// their ids, and only as long as they are empty. What has a row is kept until a person has looked.
func (s *Store) DropLeftovers(ctx context.Context) error {
	all, err := s.departures(ctx, s.db, selectLeftovers)
	for _, d := range all {
		if failed := s.dropLeftover(ctx, d); failed != nil {
			err = errors.Join(err, fmt.Errorf("drop what is left of partition %s: %w", d.Partition, failed))
		}
	}
	return err
}

func (s *Store) dropLeftover(ctx context.Context, d Departure) error {
	id, err := s.idOf(ctx, d.Side, "")
	if err != nil {
		return err
	}

	rows, there := uint64(0), id != 0 && id == d.SideID
	if there && d.State == DepartureKept {
		return nil
	}
	if there {
		guard := fmt.Sprintf("%s = %d", s.InnoDBID(d.Side), d.SideID)
		if rows, err = s.DropEmpty(ctx, d, guard); err != nil {
			return err
		}
	}
	if rows == 0 {
		_, err = s.exec(ctx, s.db, settleLeftover, d.Policy, d.Partition, d.SideID)
		return err
	}

	return s.tx(ctx, "keep "+d.Side.String(), func(tx *sql.Tx) error {
		n, err := s.exec(ctx, tx, keepLeftover, rows, d.Policy, d.Partition, d.SideID)
		if err != nil || n == 0 {
			return err
		}
		err = s.recordFor(ctx, tx, d.Policy, EventPartition, "engine", fmt.Sprintf("%s came into partition %s while "+
			"it was restored: %s has them until somebody puts them back, and drops it", countRows(rows), d.Partition,
			d.Side))
		if errors.Is(err, ErrNoPolicy) {
			return nil
		}
		return err
	})
}

// DropEmpty drops a table that was made for a partition, or came out of its exchange, while it is locked together
// with the departures: if the guard holds, as SQL, and it has no rows; it returns how many it has. If this process is
// frozen in between, the server ends the session, and with it the locks, after a second: then the DROP is lost.
func (s *Store) DropEmpty(ctx context.Context, d Departure, guard string) (rows uint64, err error) {
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	defer func() { _ = conn.Raw(func(any) error { return driver.ErrBadConn }) }() // it has locks and short limits

	for _, q := range []string{
		"SET SESSION lock_wait_timeout = 1, wait_timeout = 1",
		"LOCK TABLES " + d.Side.String() + " WRITE, " + s.Name("departure") + " WRITE",
	} {
		if _, err := conn.ExecContext(ctx, q); err != nil {
			return 0, err
		}
	}

	var same bool
	if err := conn.QueryRowContext(ctx, "SELECT COALESCE("+guard+", FALSE)").Scan(&same); err != nil {
		return 0, err
	}
	if same {
		if err := conn.QueryRowContext(ctx, "SELECT COUNT(*) FROM "+d.Side.String()).Scan(&rows); err != nil {
			return 0, err
		}
	}
	if !same || rows > 0 {
		return rows, nil
	}
	drop := fmt.Sprintf("/* ttlproxy job=%d policy=%d */ DROP TABLE %s", d.Job, d.Policy, d.Side)
	_, err = conn.ExecContext(ctx, drop)
	if isServerError(err, ddl.CodeNoTable) {
		err = nil
	}
	return 0, err
}

func countRows(n uint64) string {
	if n == 1 {
		return "1 row"
	}
	return fmt.Sprintf("%d rows", n)
}
