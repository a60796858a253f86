package catalog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/ttlproxy/ttlproxy/ddl"
)

// Lineage says where this catalog has lived, and for how long. A copy of a data directory keeps
// every id and time inside the server, so nothing there reveals a clone; what other machines
// remember does.
type Lineage struct {
	Server     Server // the one we are on
	Known      bool   // trusted with this catalog
	CatalogID  string // drawn when the catalog was made, and again when a person trusts a server
	Generation uint64 // advanced by living nodes
	AdvancedAt time.Time
	Age        time.Duration // since then, by the server's clock
	Servers    []KnownServer
}

// KnownServer is a server the catalog has lived on, or has been seen on.
type KnownServer struct {
	Key     string
	Host    string
	Port    int
	Cluster string
	Version string
	Trusted bool
	By      string // account that trusted it, or how it came to be trusted
	FirstAt time.Time
	LastAt  time.Time
}

// Lineage returns where the catalog is and has been: what TRUST TTL SERVER shows.
func (s *Store) Lineage(ctx context.Context) (l Lineage, err error) {
	if l.Server, err = ReadServer(ctx, s.db); err != nil {
		return l, err
	}

	s.server.Store(&l.Server)
	if err := l.readGeneration(s.db.QueryRowContext(ctx, s.sql(selectGeneration))); err != nil {
		return l, fmt.Errorf("read generation: %w", err)
	}

	rows, err := s.db.QueryContext(ctx, s.sql(selectLineage))
	if err != nil {
		return l, fmt.Errorf("read lineage: %w", err)
	}

	l.Servers, err = collect(rows, func(r *sql.Rows) (k KnownServer, err error) {
		return k, r.Scan(&k.Key, &k.Host, &k.Port, &k.Cluster, &k.Version, &k.Trusted, &k.By, &k.FirstAt, &k.LastAt)
	})
	for _, k := range l.Servers {
		l.Known = l.Known || k.Trusted && k.Key == l.Server.Key()
	}

	return l, err
}

// glance is the part of Lineage by which a server is known again, with whether all policies are held.
func (s *Store) glance(ctx context.Context) (server string, l Lineage, held bool, err error) {
	row := s.db.QueryRowContext(ctx, s.sql(selectGlance))
	if err := l.readGeneration(row, &server, &l.Known, &held); err != nil {
		return server, l, held, fmt.Errorf("read where the catalog lives: %w", err)
	}
	return server, l, held, nil
}

// readGeneration reads what a catalog says of itself, wherever it is, after
// what comes first in the row.
func (l *Lineage) readGeneration(row *sql.Row, first ...any) error {
	var advanced sql.Null[time.Time]
	var age sql.Null[int64]
	err := row.Scan(append(first, &l.CatalogID, &l.Generation, &advanced, &age)...)
	l.AdvancedAt, l.Age = advanced.V, time.Duration(age.V)*time.Microsecond
	return err
}

// found names a catalog that has just been made: it begins its life on the server it was made on.
func (s *Store) found(ctx context.Context) error {
	return s.tx(ctx, "found catalog", func(tx *sql.Tx) error {
		n, err := s.exec(ctx, tx, foundGeneration)
		if err != nil || n == 0 {
			return err
		}
		return s.meet(ctx, tx, s.Server(), true, "the catalog was made here")
	})
}

// meet records a server.
func (s *Store) meet(ctx context.Context, on execer, v Server, trusted bool, by string) error {
	_, err := s.exec(ctx, on, upsertLineage,
		v.Key(), v.UUID, v.Host, v.Port, v.Cluster, v.Version, trusted, by, trusted)
	if err != nil {
		return fmt.Errorf("write lineage: %w", err)
	}
	return nil
}

// ErrOtherServer says that the catalog is not on the server that was meant.
var ErrOtherServer = errors.New("the catalog is on another server")

// Trust lets the policies of this catalog delete on the server with that key, which must be the one
// it is on now. The catalog gets a new identity, so that what proxies remember about its other copy
// does not hold it again.
func (s *Store) Trust(ctx context.Context, actor, server string) error {
	v, err := ReadServer(ctx, s.db)
	if err != nil {
		return err
	}
	if v.Key() != server {
		return fmt.Errorf("%w: '%s', not '%s'", ErrOtherServer, v.Key(), server)
	}

	err = s.tx(ctx, "trust server", func(tx *sql.Tx) error {
		if err := s.barAll(ctx, tx); err != nil {
			return err
		}
		if err := s.execAll(ctx, tx, nil, endHold, renewGeneration); err != nil {
			return err
		}
		if err := s.meet(ctx, tx, v, true, actor); err != nil {
			return err
		}

		return s.record(ctx, tx, Event{Kind: EventTrusted, Actor: actor, Text: v.Key()})
	})
	if err == nil {
		s.server.Store(&v)
	}

	return err
}

// Hold holds every policy until Trust, because this may not be the server the catalog belongs to.
func (s *Store) Hold(ctx context.Context, reason string) error {
	return s.tx(ctx, "hold", func(tx *sql.Tx) error {
		if err := s.barAll(ctx, tx); err != nil {
			return err
		}
		if _, err := s.exec(ctx, tx, setHold, reason); err != nil {
			return err
		}
		return s.record(ctx, tx, Event{Kind: EventHeld, Actor: "ttlproxy", Text: reason})
	})
}

// Introduce makes another server of the backend list known, so that a planned fail-over to it keeps
// policies armed, and with it the tables of policies. It has to hold this catalog already, as a
// replica or cluster member does; a server that does not is left alone.
func (s *Store) Introduce(ctx context.Context, member *sql.DB) error {
	v, err := ReadServer(ctx, member)
	if err != nil {
		return err
	}

	here, err := s.Lineage(ctx)
	if err != nil {
		return err
	}
	if !here.Known || v.Key() == here.Server.Key() {
		return nil
	}

	var there Lineage
	err = there.readGeneration(member.QueryRowContext(ctx, s.sql(selectGeneration)))
	if isServerError(err, ddl.CodeNoDatabase, ddl.CodeNoTable) || err == nil && there.CatalogID != here.CatalogID {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look at the catalog on %s: %w", v.Key(), err)
	}
	if err := s.meet(ctx, s.db, v, true, "seen beside "+here.Server.Key()); err != nil {
		return err
	}

	return s.introduceTables(ctx, member, v.Key())
}
