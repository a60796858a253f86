package main

import (
	"context"
	"io"
	"log/slog"

	"github.com/ttlproxy/ttlproxy/catalog"
)

// export is `ttlproxy export`: all policies and settings as statements.
func export(ctx context.Context, w world, o *options, _ []string) error {
	return o.withCatalog(ctx, func(store *catalog.Store) error { return writePolicies(ctx, w.stdout, store) })
}

func writePolicies(ctx context.Context, out io.Writer, store *catalog.Store) error {
	text, err := store.Export(ctx)
	if err != nil {
		return err
	}
	_, err = io.WriteString(out, text)
	return err
}

// withCatalog opens the catalog that is there, and makes none.
func (o *options) withCatalog(ctx context.Context, use func(*catalog.Store) error) error {
	backends, err := o.backends(slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	db, err := o.open(backends)
	if err != nil {
		return err
	}
	defer db.Close()
	store, err := catalog.OpenExisting(ctx, db, catalog.Config{Schema: o.Schema})
	if err != nil {
		return o.advise(err)
	}
	return use(store)
}
