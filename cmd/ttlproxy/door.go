package main

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/ddl"
)

// door leads to the catalog: closed at first, with the reason for those who knock, then open.
type door struct {
	tried  chan struct{} // closed when the first attempt to open it has ended
	store  atomic.Pointer[catalog.Store]
	reason atomic.Pointer[error]
}

var errOpening = errors.New("the catalog is being opened")

func newDoor() *door {
	d := &door{tried: make(chan struct{})}
	d.reason.Store(&errOpening)
	d.store.Store(catalog.Closed(func() error { return *d.reason.Load() }))
	return d
}

// catalog is where clients' statements knock. Right after the start they wait for a moment, until
// the first attempt has ended.
func (d *door) catalog() *catalog.Store {
	const patience = 2 * time.Second
	select {
	case <-d.tried:
	case <-time.After(patience):
	}
	return d.store.Load()
}

// open tries until the catalog is open, and returns nil if ctx ends before. Whatever keeps it
// closed, such as an unreachable server or a damaged schema, is logged once and reported to clients
// that send TTL statements; somebody may fix it. Only a refused login, or a schema that is somebody
// else's, at the very start is an error: then an option is wrong.
func (d *door) open(ctx context.Context, db *sql.DB, o *options, log *slog.Logger,
	metrics *catalog.Metrics,
) (*catalog.Store, error) {
	const interval = time.Second
	first := sync.OnceFunc(func() { close(d.tried) })
	defer first()

	for logged := ""; ; {
		store, err := catalog.Open(ctx, db, catalog.Config{Schema: o.Schema, Version: version(), Metrics: metrics})
		if err == nil {
			d.store.Store(store)
			log.InfoContext(ctx, "the catalog is open", slog.String("schema", o.Schema))
			return store, nil
		}

		if ctx.Err() != nil {
			return nil, nil //nolint:nilnil // asked to stop while trying: nothing failed
		}

		// A schema in which somebody keeps something else was named by mistake, unless a catalog is
		// already in it: then clients need us.
		misplaced := errors.Is(err, catalog.ErrSharedSchema) && errors.Is(err, catalog.ErrNoCatalog)
		if logged == "" && (refused(err) || misplaced) {
			return nil, o.advise(err)
		}

		err = o.advise(err)
		d.reason.Store(&err)
		first()
		if err.Error() != logged {
			logged = err.Error()
			log.ErrorContext(ctx,
				"no rows are deleted and TTL statements fail until the catalog can be opened; everything else passes",
				slog.Any("err", err))
		}

		select {
		case <-ctx.Done():
			return nil, nil //nolint:nilnil // asked to stop while waiting
		case <-time.After(interval):
		}
	}
}

// refused reports whether the server does not let the account in.
func refused(err error) bool {
	answer, ok := errors.AsType[*mysql.MySQLError](err)
	return ok && (answer.Number == ddl.CodeAccessDenied || answer.Number == ddl.CodeNoPassword)
}
