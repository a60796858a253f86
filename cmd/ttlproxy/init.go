package main

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/proxy/wire"
)

// initialize is `ttlproxy init`: it prints the statements that create the service account, and
// creates the catalog once that account exists.
func initialize(ctx context.Context, w world, o *options, schemas []string) error {
	if o.EngineUser == "" {
		o.EngineUser = "ttlproxy"
	}

	backends, err := o.backends(slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}

	greeted, err := greeting(ctx, o.login(backends))
	if err != nil {
		return fmt.Errorf("ask the server what it is: %w", err)
	}

	account := o.account(schemas)
	account.Password = "" // it is a reminder in what is printed, and never a secret
	mariadb := strings.Contains(greeted.Version, "MariaDB")
	fmt.Fprintf(w.stdout, "-- For %s. Run these as an administrator:\n\n%s\n", greeted.Version,
		catalog.GrantScript(account.Grants(mariadb)))
	whole := strings.TrimSpace(catalog.GrantScript(account.PartitionGrants(mariadb)))
	fmt.Fprintf(w.stdout, "-- %s\n\n", strings.ReplaceAll(whole, "\n", "\n-- "))
	if o.EnginePassword == "" {
		fmt.Fprintln(w.stdout, "-- Then run `ttlproxy init` again with --engine-password-file to create the catalog.")
		return nil
	}

	db, err := o.open(backends)
	if err != nil {
		return err
	}
	defer db.Close()

	store, err := catalog.Open(ctx, db, catalog.Config{Schema: o.Schema, Version: version()})
	if refused(err) {
		fmt.Fprintf(w.stdout,
			"-- The server does not let %s in yet. After these statements, run `ttlproxy init` again to create "+
				"the catalog.\n", o.EngineUser)
		return nil
	}
	if err != nil {
		return o.advise(err)
	}

	fmt.Fprintf(w.stdout, "-- The catalog is in schema %s of %s. `ttlproxy check` says whether anything is missing.\n",
		store.Schema(), store.Server().Key())
	return nil
}

// greeting asks a server for its greeting, which needs no login.
func greeting(ctx context.Context, c *mysql.Config) (g wire.Greeting, err error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()

	conn, err := c.DialFunc(ctx, c.Net, c.Addr)
	if err != nil {
		return g, err
	}
	defer conn.Close()

	if deadline, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(deadline); err != nil {
			return g, err
		}
	}

	payload, _, err := wire.ReadPacket(conn, nil, 1<<16)
	if err != nil {
		return g, err
	}

	err = g.Decode(payload)
	g.Version = strings.TrimPrefix(g.Version, "5.5.5-") // MariaDB says so to clients that expect MySQL
	return g, err
}
