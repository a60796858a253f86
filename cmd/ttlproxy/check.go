package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/checkup"
	"github.com/ttlproxy/ttlproxy/proxy"
)

// errFindings ends `ttlproxy check` with 1 when rows will not be deleted.
var errFindings = errors.New("rows will not be deleted until the errors above are fixed")

// check is `ttlproxy check`: the doctor.
func check(ctx context.Context, w world, o *options, _ []string) error {
	var findings []checkup.Finding
	err := o.withServer(slog.New(slog.DiscardHandler), func(backends *proxy.Backends, db *sql.DB) (err error) {
		findings, err = o.examine(ctx, backends, db)
		return o.advise(err)
	})

	failed, out := false, legible{w.stdout}
	for _, f := range findings {
		failed = failed || f.Level == checkup.Error
		fmt.Fprintf(out, "%-8s %-18s %s\n", f.Level, f.Name, f.Text)
		if f.Advice != "" {
			fmt.Fprintf(out, "%-27s → %s\n", "", f.Advice)
		}
	}

	if failed && err == nil {
		return errFindings
	}

	return err
}

// examine examines the servers one by one, the one that the engine would work on, and the tables.
func (o *options) examine(ctx context.Context, backends *proxy.Backends,
	db *sql.DB,
) (findings []checkup.Finding, err error) {
	members := o.members(backends)
	for _, m := range members {
		f := inspect(ctx, m)
		if len(members) > 1 || f.Level == checkup.OK {
			findings = append(findings, f)
		} // otherwise there is no other: the checkup runs into the same trouble, and that is the end
	}

	if f := examineStopFile(o.StopFile, ""); f != nil {
		findings = append(findings, *f)
	}

	found, err := checkup.Run(ctx, db, catalog.Config{Schema: o.Schema})
	findings = append(findings, found...)
	if err != nil {
		return findings, err
	}

	store, err := catalog.OpenExisting(ctx, db, catalog.Config{Schema: o.Schema})
	if err != nil {
		return findings, nil //nolint:nilerr // the checkup has said what is wrong with the catalog
	}

	found, err = diagnose(ctx, store)
	return append(findings, found...), err
}
