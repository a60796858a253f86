package main

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"strings"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/setting"
	"github.com/ttlproxy/ttlproxy/integration/program"
)

// launch starts the program in front of the server, with a new catalog, and returns what ends it.
func (b *bench) launch(ctx context.Context) (stop func() error, err error) {
	if err := b.exec(ctx, "DROP DATABASE IF EXISTS "+schema+"_catalog"); err != nil {
		return nil, err
	}

	dir, err := os.MkdirTemp("", "ttlproxy-bench-")
	if err != nil {
		return nil, err
	}

	args := []string{
		"--backend=" + b.cfg.Addr, "--engine-user=" + engineAccount, "--catalog-schema=" + schema + "_catalog",
	}
	if b.replica != nil {
		args = append(args, "--replica-user="+replicaAccount)
	}
	b.proxied, err = program.Launch(b.proxy, dir, program.Config{
		Args: args, Env: []string{"TTLPROXY_ENGINE_PASSWORD=" + engineAccount},
	})
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}

	return func() error {
		err := b.proxied.Stop()
		if b.verbose {
			_, _ = os.Stderr.WriteString(b.proxied.Log())
		}
		b.proxied = nil
		return errors.Join(err, os.RemoveAll(dir))
	}, nil
}

// The program's accounts are not the application's: that one counts as everybody else.
const (
	engineAccount  = schema + "_engine"
	replicaAccount = schema + "_lag"
)

// accounts makes the program's accounts with the rights that it asks for.
func (b *bench) accounts(ctx context.Context) error {
	a := catalog.ServiceAccount{User: engineAccount, Password: engineAccount, Catalog: schema + "_catalog"}
	var all []string
	for _, g := range a.Grants(strings.Contains(b.version, "MariaDB")) {
		all = append(all, g.SQL)
	}
	if b.replica != nil {
		all = append(all, "CREATE USER IF NOT EXISTS "+replicaAccount,
			"GRANT SELECT ON "+schema+"_catalog.* TO "+replicaAccount)
	}
	return b.exec(ctx, all...)
}

// openEyes has what the benchmark looks at counted as the program's: it looks more often than the idle application
// does anything, and would be taken for one that is at work.
func (b *bench) openEyes(ctx context.Context) (err error) {
	if err := b.accounts(ctx); err != nil {
		return err
	}
	if err := b.exec(ctx, "GRANT SELECT, INSERT, DELETE ON "+schema+".* TO "+engineAccount); err != nil {
		return err
	}
	cfg := b.cfg.Clone()
	cfg.User, cfg.Passwd = engineAccount, engineAccount
	b.eyes, err = open(cfg)
	return err
}

// looking is by what the benchmark looks at the server while a way runs.
func (b *bench) looking() *sql.DB {
	if b.eyes != nil {
		return b.eyes
	}
	return b.db
}

// clients log in through the program.
func (b *bench) clients() (*sql.DB, error) {
	cfg := b.cfg.Clone()
	cfg.Net, cfg.Addr = "tcp", b.proxied.Addr
	return open(cfg)
}

// proxied declares a policy through the program, with the settings that it has, and waits until it
// has been carried out.
func proxied(ctx context.Context, b *bench) (int, time.Duration, error) {
	var before []string
	if b.set != "" {
		before = append(before, "SET GLOBAL "+b.set)
	}
	return b.declared(ctx, before...)
}

// unthrottled does it with everything off that holds the engine back.
func unthrottled(ctx context.Context, b *bench) (int, time.Duration, error) {
	var off []string
	for _, s := range setting.All() {
		switch {
		case !strings.HasPrefix(s.Name, "ttl_throttle"):
		case s.Kind == setting.KindBool:
			off = append(off, "SET GLOBAL "+s.Name+" = OFF")
		case s.Kind == setting.KindInt && s.Min == 0:
			off = append(off, "SET GLOBAL "+s.Name+" = 0")
		}
	}
	return b.declared(ctx, off...)
}

func (b *bench) declared(ctx context.Context, before ...string) (int, time.Duration, error) {
	db, err := b.clients()
	if err != nil {
		return 0, 0, err
	}
	defer db.Close()

	before = append(before, "SET GLOBAL ttl_brake_percent = 100")
	if b.replica != nil {
		before = append(before, "SET GLOBAL ttl_throttle_replicas = '"+b.servers[len(b.servers)-1].Config("").Addr+"'")
	}
	for _, s := range before {
		if _, err := db.ExecContext(ctx, s); err != nil {
			return 0, 0, err
		}
	}

	took, err := timed(func() error {
		_, err := db.ExecContext(ctx, "ALTER TABLE "+schema+".t TTL = made + INTERVAL 1 DAY TTL_TIME_ZONE = 'UTC'")
		if err != nil {
			return err
		}
		return b.finished(ctx)
	})
	return b.rows / 2, took, errors.Join(err, b.clean(ctx))
}
