package main

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"strings"
	"time"

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

	b.proxied, err = program.Launch(b.proxy, dir, program.Config{
		Args: []string{
			"--backend=" + b.cfg.Addr, "--engine-user=" + b.cfg.User, "--catalog-schema=" + schema + "_catalog",
		},
		Env: []string{"TTLPROXY_ENGINE_PASSWORD=" + b.cfg.Passwd},
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

// clients log in through the program.
func (b *bench) clients() (*sql.DB, error) {
	cfg := b.cfg.Clone()
	cfg.Net, cfg.Addr = "tcp", b.proxied.Addr
	return open(cfg)
}

// proxied declares a policy through the program, with the settings that it has, and waits until it
// has been carried out.
func proxied(ctx context.Context, b *bench) (int, time.Duration, error) {
	return b.declared(ctx)
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

	for _, s := range append(before, "SET GLOBAL ttl_brake_percent = 100") {
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
