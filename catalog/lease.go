package catalog

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// ErrLeaseHeld says that another node leads, ErrLeaseLost that this one no longer does.
var (
	ErrLeaseHeld = errors.New("lease is held by another node")
	ErrLeaseLost = errors.New("lease is lost")
)

// Lease is the right to do something alone for a while. Its fence grows with every new holder.
type Lease struct {
	Name    string
	Node    uint64
	Fence   uint64
	Expires time.Time // by the backend's clock
}

// Leases returns those that are held now.
func (s *Store) Leases(ctx context.Context) ([]Lease, error) {
	rows, err := s.db.QueryContext(ctx, s.sql(selectLeases))
	if err != nil {
		return nil, fmt.Errorf("list leases: %w", err)
	}
	return collect(rows, func(r *sql.Rows) (l Lease, err error) {
		return l, r.Scan(&l.Name, &l.Node, &l.Fence, &l.Expires)
	})
}

// Acquire takes a free or expired lease for ttl, or renews it for the node that has it.
func (s *Store) Acquire(ctx context.Context, name string, node uint64, ttl time.Duration) (Lease, error) {
	l := Lease{Name: name, Node: node}
	err := s.tx(ctx, "acquire lease "+name, func(tx *sql.Tx) error {
		if _, err := s.exec(ctx, tx, createLease, name); err != nil {
			return err
		}

		n, err := s.exec(ctx, tx, acquireLease, node, node, ttl.Microseconds(), name, node)
		if err != nil {
			return err
		}
		if n == 0 {
			return ErrLeaseHeld
		}

		return tx.QueryRowContext(ctx, s.sql(selectLease), name).Scan(&l.Fence, &l.Expires)
	})

	return l, err
}

// Renew extends a lease this node still has.
func (s *Store) Renew(ctx context.Context, l Lease, ttl time.Duration) error {
	done, err := s.alone(ctx, "renew lease "+l.Name, renewLease, ttl.Microseconds(), l.Name, l.Node, l.Fence)
	if err != nil {
		return err
	}
	if n, err := done.RowsAffected(); err != nil || n == 0 {
		return cmp.Or(err, ErrLeaseLost)
	}
	return nil
}

// Release gives a lease back. One that is lost already needs no giving back.
func (s *Store) Release(ctx context.Context, l Lease) error {
	if _, err := s.exec(ctx, s.db, releaseLease, l.Name, l.Node, l.Fence); err != nil {
		return fmt.Errorf("release lease %s: %w", l.Name, err)
	}
	return nil
}
