package main

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"os"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/integration/program"
	"github.com/ttlproxy/ttlproxy/sandbox"
)

const schema = "ttlproxy_bench"

// bench is the table and the connections of one server.
type bench struct {
	options
	cfg     *mysql.Config
	db      *sql.DB
	replica *sql.DB // nil without one
	version string
	log     *slog.Logger
	servers []*sandbox.Server
	proxied *program.Process // while a way runs that needs it
}

// newBench starts what is not running yet, and fills the table that every run is copied from.
func newBench(ctx context.Context, flavour sandbox.Flavour, o options) (b *bench, err error) {
	b = &bench{options: o, log: slog.New(slog.DiscardHandler)}
	if o.verbose {
		b.log = slog.New(slog.NewTextHandler(os.Stderr, nil))
	}
	defer func() {
		if err != nil {
			b.close(context.WithoutCancel(ctx))
		}
	}()

	if err := b.connect(ctx, flavour); err != nil {
		return nil, err
	}
	if err := b.db.QueryRowContext(ctx, "SELECT VERSION()").Scan(&b.version); err != nil {
		return nil, err
	}

	return b, b.template(ctx)
}

func (b *bench) exec(ctx context.Context, statements ...string) error {
	for _, s := range statements {
		if _, err := b.db.ExecContext(ctx, s); err != nil {
			return fmt.Errorf("%.80s: %w", s, err)
		}
	}
	return nil
}

// template fills the table that every run is copied from. Age and key are uncorrelated: every
// second row is expired.
func (b *bench) template(ctx context.Context) error {
	err := b.exec(ctx, "DROP DATABASE IF EXISTS "+schema, "CREATE DATABASE "+schema,
		"CREATE TABLE "+schema+".beat (id INT PRIMARY KEY, at BIGINT NOT NULL) ENGINE=InnoDB",
		"CREATE TABLE "+schema+
			".template (id BIGINT PRIMARY KEY AUTO_INCREMENT, made DATETIME NOT NULL, user_id INT NOT NULL, pad "+
			"VARCHAR(200) NOT NULL, KEY (user_id)) ENGINE=InnoDB",
		"INSERT INTO "+schema+".template VALUES (1, '2020-01-01', 1, REPEAT('x', 170))")
	for have := 1; err == nil && have < b.rows; have *= 2 {
		err = b.exec(ctx,
			fmt.Sprintf("INSERT INTO %s.template SELECT id + %d, IF((id + %d) %% 2, '2020-01-01', '2037-01-01') + "+
				"INTERVAL (id + %d) * 7919 %% 86400 SECOND, (id + %d) * 7919 %% 1000003, pad FROM %s.template WHERE "+
				"id <= %d",
				schema, have, have, have, have, schema, b.rows-have))
	}
	return err
}

// fill makes a fresh copy and lets the server come to rest: what it still had to write would slow
// down whoever is next.
func (b *bench) fill(ctx context.Context) error {
	err := b.exec(ctx, "DROP TABLE IF EXISTS "+schema+".t", "CREATE TABLE "+schema+".t LIKE "+schema+".template",
		"INSERT INTO "+schema+".t SELECT * FROM "+schema+".template", "ANALYZE TABLE "+schema+".t")
	if err != nil {
		return err
	}

	conn, err := b.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()

	for _, flush := range []string{"FLUSH TABLES " + schema + ".t FOR EXPORT", "UNLOCK TABLES"} {
		if _, err := conn.ExecContext(ctx, flush); err != nil {
			return fmt.Errorf("flush: %w", err)
		}
	}

	return nil
}

func (b *bench) left(ctx context.Context) (n int, err error) {
	err = b.db.QueryRowContext(ctx, "SELECT COUNT(*) FROM "+schema+".t WHERE made < NOW()").Scan(&n)
	return n, err
}

// clean checks that nothing is left of what has expired.
func (b *bench) clean(ctx context.Context) error {
	left, err := b.left(ctx)
	if left > 0 {
		err = fmt.Errorf("%d expired rows are left", left)
	}
	return err
}

func (b *bench) close(ctx context.Context) {
	if b.db != nil {
		_ = b.exec(ctx, "DROP DATABASE IF EXISTS "+schema, "DROP DATABASE IF EXISTS "+schema+"_catalog")
		_ = b.db.Close()
	}
	if b.replica != nil {
		_ = b.replica.Close()
	}
	for _, s := range b.servers {
		_ = s.Close()
	}
}
