package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/ttlproxy/ttlproxy/sandbox"
)

const (
	lockedRuns = 10
	lockedLook = 20 * time.Millisecond // between two looks at what is left
)

// soakLocked lets an application hold two rows of a table all of whose rows have expired, here and
// there, and measures how long all others take to go.
func (o options) soakLocked(ctx context.Context, flavour sandbox.Flavour, out io.Writer) error {
	p, err := o.start(ctx, flavour, []string{"--innodb-buffer-pool-size=256M"}, nil)
	if err != nil {
		return err
	}
	defer p.Close()

	l := &lockedRows{rows: o.locked, most: o.most, out: out}
	if l.db, err = p.clients(); err != nil {
		return err
	}
	defer l.db.Close()

	fmt.Fprintf(out, "%s %s, %d expired rows of which the application holds two, %d runs each\n",
		flavour, p.server.Version, l.rows, lockedRuns)
	if err := l.prepare(ctx); err != nil {
		return err
	}

	for _, held := range [][2]int{
		{l.rows / 2, l.rows/2 + 1},
		{l.rows * 3 / 10, l.rows * 7 / 10},
		{1, l.rows},
	} {
		if err := l.measure(ctx, held); err != nil {
			return fmt.Errorf("rows %d and %d are held: %w", held[0], held[1], err)
		}
	}

	return p.proxy.Stop()
}

// lockedRows is one such run, seen by clients of the proxy.
type lockedRows struct {
	db   *sql.DB
	rows int
	most time.Duration
	out  io.Writer
}

func (l *lockedRows) exec(ctx context.Context, statements ...string) error {
	for _, s := range statements {
		if _, err := l.db.ExecContext(ctx, s); err != nil {
			return fmt.Errorf("%.80s: %w", s, err)
		}
	}
	return nil
}

func (l *lockedRows) number(ctx context.Context, query string) (n int, err error) {
	return n, l.db.QueryRowContext(ctx, query).Scan(&n)
}

// prepare fills the table that every run is copied from. That all of it goes surprises nobody here.
func (l *lockedRows) prepare(ctx context.Context) error {
	seed := tablesSchema + ".seed"
	err := l.exec(ctx, "SET GLOBAL ttl_brake_percent = 100", "SET GLOBAL ttl_brake_factor = 0",
		"CREATE DATABASE "+tablesSchema,
		"CREATE TABLE "+seed+" (id INT PRIMARY KEY, made DATETIME NOT NULL, pad VARCHAR(200) NOT NULL)",
		"INSERT INTO "+seed+" VALUES (1, '2020-01-01', REPEAT('x', 170))")
	for have := 1; err == nil && have < l.rows; have *= 2 {
		err = l.exec(ctx, fmt.Sprintf("INSERT INTO %[1]s SELECT id + %[2]d, made, pad FROM %[1]s WHERE id <= %[3]d",
			seed, have, l.rows-have))
	}
	return err
}

// measure tells how long it takes until only the held rows are left.
func (l *lockedRows) measure(ctx context.Context, held [2]int) error {
	var took []time.Duration
	for range lockedRuns {
		one, err := l.once(ctx, held)
		if err != nil {
			return err
		}
		took = append(took, one)
	}

	median, worst := spread(took)
	fmt.Fprintf(l.out, "  %d and %d: median %.2f s, worst %.2f s\n",
		held[0], held[1], median.Seconds(), worst.Seconds())
	if l.most > 0 && worst > l.most {
		return fmt.Errorf("all others were gone after %v, %v are allowed", worst, l.most)
	}

	return nil
}

// spread is the median of some times, and the longest.
func spread(took []time.Duration) (median, worst time.Duration) {
	slices.Sort(took)
	return took[len(took)/2], took[len(took)-1]
}

// once recreates the table, with a policy that nobody knows yet, and asks for a job.
func (l *lockedRows) once(ctx context.Context, held [2]int) (time.Duration, error) {
	table := tablesSchema + ".t"
	err := l.exec(ctx, "DROP TABLE IF EXISTS "+table,
		"CREATE TABLE "+table+" (id INT PRIMARY KEY, made DATETIME NOT NULL, pad VARCHAR(200) NOT NULL) "+
			"TTL = made + INTERVAL 30 DAY TTL_JOB_INTERVAL = '30d'",
		"RUN TTL JOB FOR "+table+" WAIT", // the first one, which found nothing
		"INSERT INTO "+table+" SELECT * FROM "+tablesSchema+".seed", "ANALYZE TABLE "+table)
	if err != nil {
		return 0, err
	}

	application, err := l.db.BeginTx(ctx, nil)
	if err != nil {
		return 0, err
	}
	_, err = application.ExecContext(ctx, fmt.Sprintf("SELECT id FROM %s WHERE id IN (%d, %d) FOR UPDATE",
		table, held[0], held[1]))

	began := time.Now()
	if err == nil {
		err = l.exec(ctx, "RUN TTL JOB FOR "+table)
	}
	if err == nil {
		err = l.alone(ctx, table)
	}
	took := time.Since(began)

	return took, errors.Join(err, l.ended(ctx), application.Rollback())
}

// alone waits until only the two held rows are there.
func (l *lockedRows) alone(ctx context.Context, table string) error {
	left := fmt.Sprintf("SELECT COUNT(*) FROM (SELECT 1 FROM %s LIMIT 3) some", table)
	for {
		n, err := l.number(ctx, left)
		switch {
		case err != nil:
			return err
		case n < 2:
			return errors.New("held rows are gone")
		case n == 2:
			return nil
		}
		if err := pause(ctx, lockedLook); err != nil {
			return err
		}
	}
}

// ended waits until the job is over.
func (l *lockedRows) ended(ctx context.Context) error {
	for {
		n, err := l.number(ctx, "SELECT COUNT(*) FROM ttlproxy.job")
		if err != nil || n == 0 {
			return err
		}
		if err := pause(ctx, lockedLook); err != nil {
			return err
		}
	}
}
