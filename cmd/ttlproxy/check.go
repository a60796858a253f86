package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/checkup"
)

// errFindings ends `ttlproxy check` with 1 when rows will not be deleted.
var errFindings = errors.New("rows will not be deleted until the errors above are mended")

// check is `ttlproxy check`: the doctor.
func check(ctx context.Context, w world, o *options, _ []string) error {
	backends, err := o.backends(slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	db, err := o.open(backends)
	if err != nil {
		return err
	}
	defer db.Close()
	var findings []checkup.Finding
	members := backends.Members(o.login(backends))
	for _, m := range members {
		f := inspect(ctx, m)
		if len(members) > 1 || f.Level == checkup.OK {
			findings = append(findings, f)
		} // else there is no other: Checkup meets the same trouble, and that is the end
	}
	found, err := checkup.Run(ctx, db, catalog.Config{Schema: o.Schema})
	findings = append(findings, found...)
	if store, closed := catalog.OpenExisting(ctx, db, catalog.Config{Schema: o.Schema}); closed == nil && err == nil {
		found, err = diagnose(ctx, store)
		findings = append(findings, found...)
	}
	failed := false
	for _, f := range findings {
		failed = failed || f.Level == checkup.Error
		fmt.Fprintf(w.stdout, "%-8s %-18s %s\n", f.Level, f.Name, f.Text)
		if f.Advice != "" {
			fmt.Fprintf(w.stdout, "%-27s → %s\n", "", f.Advice)
		}
	}
	if err != nil {
		return o.advise(err)
	}
	if failed {
		return errFindings
	}
	return nil
}
