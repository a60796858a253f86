package main

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/proxy"
)

// uninstallOptions are what only the uninstall command takes.
func uninstallOptions() []option {
	on := []string{"uninstall"}
	return []option{
		{
			name: "dry-run", group: "Uninstall", on: on, from: fromFlag,
			bind: func(o *options) value { return flagOnly{onOff{&o.DryRun}} },
			text: "Print what would be dropped, and drop nothing.",
		},
		{
			name: "yes", group: "Uninstall", on: on, from: fromFlag,
			bind: func(o *options) value { return flagOnly{onOff{&o.Yes}} },
			text: "Do not ask. Needed where there is no terminal to ask on.",
		},
	}
}

// uninstall is `ttlproxy uninstall`: it prints the policies, and what it leaves to others, then
// drops what ttlproxy created.
func uninstall(ctx context.Context, w world, o *options, _ []string) error {
	return o.withServer(slog.New(slog.DiscardHandler), func(_ *proxy.Backends, db *sql.DB) error {
		store, err := catalog.OpenToRemove(ctx, db, catalog.Config{Schema: o.Schema})
		if err != nil {
			return o.advise(err)
		}
		removal, err := store.Uninstall(ctx)
		if err != nil {
			return err
		}
		if err := writeLastWords(ctx, w.stdout, store, removal); err != nil {
			return err
		}

		switch {
		case o.DryRun:
			writeRemoval(w.stdout, "-- These would be run:", removal)
			return nil
		case !o.Yes && !isTerminal(w.stdin):
			return usagef("there is no terminal to ask on: --yes removes the catalog in schema %s, --dry-run shows how",
				o.Schema)
		case !o.Yes:
			writeRemoval(w.stderr, "These will be run:", removal)
			if !confirmed(w, "Remove the catalog?") {
				return usagef("nothing was removed")
			}
		}

		if err := removal.Run(ctx); err != nil {
			return o.advise(err)
		}

		writeFarewell(w.stdout, o.Schema, removal)
		return nil
	})
}

// writeLastWords prints what only the catalog knows, before anything of it is dropped. Of one that
// is damaged there may be no policies to print: somebody may have begun to remove it.
func writeLastWords(ctx context.Context, out io.Writer, store *catalog.Store, r *catalog.Removal) error {
	err := writePolicies(ctx, out, store)
	if errors.Is(err, catalog.ErrDamagedCatalog) {
		_, err = fmt.Fprintf(out, "-- There are no policies to print: %s\n", cellText(err.Error()))
	}
	if err != nil {
		return err
	}

	fmt.Fprintln(out, "-- Beside the catalog, nothing was made on the server but the account:")
	fmt.Fprintf(out, "-- DROP USER %s;\n", r.Account)
	writeLeftovers(out, r)
	return nil
}

// writeLeftovers prints what was made on the server and stays there.
func writeLeftovers(out io.Writer, r *catalog.Removal) {
	if len(r.Views) > 0 {
		fmt.Fprintln(out, "-- and, in the name of whoever asked for them by TTL_VIEW, the views:")
	}
	for _, v := range r.Views {
		fmt.Fprintf(out, "-- DROP VIEW %s;\n", cellText(v.String()))
	}
	if len(r.Asides) > 0 {
		fmt.Fprintln(out, "-- and what is kept of partitions (TTL_PARTITION = 'EXCHANGE'):")
	}
	for _, t := range r.Asides {
		fmt.Fprintf(out, "-- DROP TABLE %s;\n", cellText(t.String()))
	}
	if len(r.MaybeAsides) > 0 {
		fmt.Fprintln(out, "-- and, if it is there, what nobody has noted that partitions have become:")
	}
	for _, t := range r.MaybeAsides {
		fmt.Fprintf(out, "-- DROP TABLE IF EXISTS %s;\n", cellText(t.String()))
	}
}

// confirmed asks a question on the terminal. No answer is a no. What is printed may go into a file,
// so the question does not.
func confirmed(w world, question string) bool {
	fmt.Fprintf(w.stderr, "%s [y/N] ", question)
	answer, _ := bufio.NewReader(w.stdin).ReadString('\n')
	return strings.HasPrefix(strings.ToLower(strings.TrimSpace(answer)), "y")
}

// writeRemoval lists the statements, as comments: what is printed around them restores the
// policies.
func writeRemoval(out io.Writer, heading string, r *catalog.Removal) {
	out = onTerminal(out)
	fmt.Fprintln(out, heading)
	for _, q := range r.Statements() {
		fmt.Fprintf(out, "-- %s;\n", q)
	}
	if r.Kept != "" {
		fmt.Fprintf(out, "-- The schema stays: %s.\n", cellText(r.Kept))
	}
}

func writeFarewell(out io.Writer, schema string, r *catalog.Removal) {
	if r.Kept == "" {
		fmt.Fprintf(out, "-- Schema %s is dropped.\n", schema)
		return
	}
	fmt.Fprintf(out, "-- The catalog is dropped. Schema %s stays: %s.\n", schema, cellText(r.Kept))
}
