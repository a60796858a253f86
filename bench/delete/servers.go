package main

import (
	"context"
	"database/sql"
	"errors"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/sandbox"
)

// connect opens the server that a DSN names, or starts a private one, with a replica if one is
// wanted.
func (b *bench) connect(ctx context.Context, flavour sandbox.Flavour) (err error) {
	if dsn := *b.dsn[flavour]; dsn != "" {
		if b.cfg, err = mysql.ParseDSN(dsn); err != nil {
			return err
		}
		if b.options.replica {
			return errors.New("-replica is for servers that are started here")
		}
	} else if b.cfg, err = b.start(ctx, flavour); err != nil {
		return err
	}

	b.cfg = b.cfg.Clone()
	b.cfg.DBName = ""
	b.db, err = open(b.cfg)
	return err
}

func open(cfg *mysql.Config) (*sql.DB, error) {
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(connector), nil
}

// start starts a private server of a size that somebody would run. A redo log that is small for the
// buffer pool would measure how fast pages are flushed.
func (b *bench) start(ctx context.Context, flavour sandbox.Flavour) (*mysql.Config, error) {
	args := []string{"--innodb-buffer-pool-size=1G", "--innodb-log-file-size=1G"}
	if flavour == sandbox.MySQL {
		args[1] = "--innodb-redo-log-capacity=1G"
	}
	if b.durable {
		args = append(args, "--innodb-flush-log-at-trx-commit=1", "--sync-binlog=1")
	}

	replicas := 0
	if b.options.replica {
		replicas = 1
	}

	for i := range 1 + replicas {
		s, err := sandbox.Start(ctx, sandbox.Config{
			Flavour: flavour, Args: append(sandbox.Replicating(flavour, i+1), args...),
		})
		if err != nil {
			return nil, err
		}
		b.servers = append(b.servers, s)
	}

	if replicas > 0 {
		if err := b.servers[1].Follow(ctx, b.servers[0]); err != nil {
			return nil, err
		}
		var err error
		if b.replica, err = open(b.servers[1].Config("")); err != nil {
			return nil, err
		}
	}

	return b.servers[0].Config(""), nil
}
