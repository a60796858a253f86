package main

import (
	"context"
	"database/sql"
	"io"
	"log/slog"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/proxy"
)

// export is `ttlproxy export`: all policies and settings as statements.
func export(ctx context.Context, w world, o *options, _ []string) error {
	return o.withCatalog(ctx, slog.New(slog.DiscardHandler),
		func(store *catalog.Store) error { return writePolicies(ctx, w.stdout, store) })
}

func writePolicies(ctx context.Context, out io.Writer, store *catalog.Store) error {
	text, err := store.Export(ctx)
	if err != nil {
		return err
	}
	_, err = io.WriteString(onTerminal(out), text)
	return err
}

// withCatalog opens an existing catalog, and creates none.
func (o *options) withCatalog(ctx context.Context, log *slog.Logger, use func(*catalog.Store) error) error {
	return o.withServer(log, func(_ *proxy.Backends, db *sql.DB) error {
		store, err := catalog.OpenExisting(ctx, db, catalog.Config{Schema: o.Schema})
		if err != nil {
			return o.advise(err)
		}
		return use(store)
	})
}

// withServer connects to the first server that can be reached, for as long as it is used.
func (o *options) withServer(log *slog.Logger, use func(*proxy.Backends, *sql.DB) error) error {
	backends, err := o.backends(log)
	if err != nil {
		return err
	}
	db, err := o.open(backends)
	if err != nil {
		return err
	}
	defer db.Close()
	return use(backends, db)
}
