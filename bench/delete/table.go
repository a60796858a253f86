package main

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"os"
	"time"

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
	eyes    *sql.DB // for what the benchmark itself looks at while a way runs; nil for db
	replica *sql.DB // nil without one
	version string
	going   int // rows that every way has to delete, of both tables
	jobs    int // of a run
	mariadb bool
	unkeyed bool
	log     *slog.Logger
	servers []*sandbox.Server
	proxied *program.Process // while a way runs that needs it
}

// newBench starts what is not running yet, and fills the table that every run is copied from.
func newBench(ctx context.Context, flavour sandbox.Flavour, o options) (b *bench, err error) {
	b = &bench{
		options: o, jobs: 1, mariadb: flavour == sandbox.MariaDB, log: slog.New(slog.DiscardHandler),
	}
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
	err := b.exec(ctx, "DROP TABLE IF EXISTS "+schema+".child", "DROP TABLE IF EXISTS "+schema+".t",
		"CREATE TABLE "+schema+".t LIKE "+schema+".template",
		"INSERT INTO "+schema+".t SELECT * FROM "+schema+".template", "ANALYZE TABLE "+schema+".t")
	if err != nil {
		return err
	}

	if err := b.point(ctx); err != nil {
		return err
	}

	return b.rest(ctx)
}

// rest waits until what was deleted before is purged, and the table is written.
func (b *bench) rest(ctx context.Context) error {
	history := "SELECT count FROM information_schema.innodb_metrics WHERE name = 'trx_rseg_history_len'"
	if b.mariadb {
		history = "SELECT variable_value FROM information_schema.global_status WHERE variable_name = " +
			"'innodb_history_list_length'"
	}
	for left, end := fewUndone+1, time.Now().Add(mostRest); left > fewUndone && time.Now().Before(end); {
		if err := b.db.QueryRowContext(ctx, history).Scan(&left); err != nil {
			return fmt.Errorf("read what is to be purged: %w", err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
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

// A server is at rest with so few transactions that are not purged; nobody waits for longer than that.
const (
	fewUndone = 100
	mostRest  = 5 * time.Minute
)

func (b *bench) left(ctx context.Context) (n int, err error) {
	err = b.db.QueryRowContext(ctx, "SELECT COUNT(*) FROM "+schema+".t WHERE "+b.where()).Scan(&n)
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
	if b.eyes != nil {
		_ = b.eyes.Close()
	}
	if b.db != nil {
		_ = b.exec(ctx, "DROP DATABASE IF EXISTS "+schema, "DROP DATABASE IF EXISTS "+schema+"_catalog",
			"DROP USER IF EXISTS "+engineAccount+", "+replicaAccount)
		_ = b.db.Close()
	}
	if b.replica != nil {
		_ = b.replica.Close()
	}
	for _, s := range b.servers {
		_ = s.Close()
	}
}
