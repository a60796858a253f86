package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/ttlproxy/ttlproxy/sandbox"
)

const (
	tablesSchema = "soak"
	tableRows    = 100 // in each table; half of them have expired
	tablesWait   = 30 * time.Minute
	atRest       = 20 * time.Second
	asked        = 21 // of the tables
	mostAsked    = 100 * time.Millisecond
)

// soakTables lets many tables be due at once: each must be cleaned, nothing else may go, and
// afterwards they must cost next to nothing.
func (o options) soakTables(ctx context.Context, flavour sandbox.Flavour, out io.Writer) error {
	p, err := o.start(ctx, flavour, []string{
		"--innodb-buffer-pool-size=256M", "--innodb-flush-log-at-trx-commit=0", "--sync-binlog=0",
	}, nil)
	if err != nil {
		return err
	}
	defer p.Close()

	t := &manyTables{n: o.tables, pid: p.proxy.PID(), most: o.most, out: out}
	if flavour == sandbox.MySQL {
		t.most *= 2 // which writes the catalog that much slower
	}
	if t.db, err = p.clients(); err != nil {
		return err
	}
	defer t.db.Close()

	if t.server, err = t.serverPID(ctx); err != nil {
		return err
	}

	fmt.Fprintf(out, "%s %s, %d tables of %d rows, half of them expired\n",
		flavour, p.server.Version, o.tables, tableRows)
	for _, step := range []func(context.Context) error{t.make, t.declare, t.run, t.check, t.rest, t.ask} {
		if err := step(ctx); err != nil {
			return err
		}
	}

	return p.proxy.Stop()
}

// manyTables is one such run, seen by a client of the proxy.
type manyTables struct {
	db  *sql.DB
	n   int
	pid int // of the proxy
	out io.Writer

	most   time.Duration // until the last job has started, or for a look at the history
	server int           // its process
}

// serverPID reads it where the server has written it down.
func (t *manyTables) serverPID(ctx context.Context) (pid int, err error) {
	var path string
	const question = "SELECT IF(LEFT(@@pid_file, 1) = '/', @@pid_file, CONCAT(@@datadir, @@pid_file))"
	if err := t.db.QueryRowContext(ctx, question).Scan(&path); err != nil {
		return 0, fmt.Errorf("find the server's process: %w", err)
	}
	text, err := os.ReadFile(path)
	if err == nil {
		_, err = fmt.Sscan(string(text), &pid)
	}
	return pid, err
}

func (t *manyTables) exec(ctx context.Context, statement string) error {
	if _, err := t.db.ExecContext(ctx, statement); err != nil {
		return fmt.Errorf("%.60s: %w", statement, err)
	}
	return nil
}

func (t *manyTables) number(ctx context.Context, query string) (n int, err error) {
	return n, t.db.QueryRowContext(ctx, query).Scan(&n)
}

func (t *manyTables) make(ctx context.Context) error {
	for _, statement := range []string{
		"SET GLOBAL ttl_job_enable = OFF", "CREATE DATABASE " + tablesSchema,
		"CREATE TABLE " + tablesSchema + ".seed (id INT PRIMARY KEY, created_at DATETIME NOT NULL)",
	} {
		if err := t.exec(ctx, statement); err != nil {
			return err
		}
	}

	for id := range tableRows {
		row := fmt.Sprintf("INSERT INTO "+tablesSchema+".seed VALUES (%d, NOW() - INTERVAL %d DAY)", id, 10*(id%2))
		if err := t.exec(ctx, row); err != nil {
			return err
		}
	}

	for i := range t.n {
		if err := t.exec(ctx, fmt.Sprintf("CREATE TABLE %[1]s.t%d LIKE %[1]s.seed", tablesSchema, i)); err != nil {
			return err
		}
		if err := t.exec(ctx, fmt.Sprintf("INSERT INTO %[1]s.t%d SELECT * FROM %[1]s.seed", tablesSchema,
			i)); err != nil {
			return err
		}
	}

	return nil
}

func (t *manyTables) declare(ctx context.Context) error {
	return t.timed("policies declared", func() error {
		for i := range t.n {
			policy := fmt.Sprintf("ALTER TABLE "+tablesSchema+".t%d TTL = created_at + INTERVAL 5 DAY", i)
			if err := t.exec(ctx, policy); err != nil {
				return err
			}
		}
		return nil
	})
}

// run lets the jobs go and waits until each table has had its own.
func (t *manyTables) run(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, tablesWait)
	defer cancel()
	var began time.Time
	if err := t.timed("jobs run", func() error { return t.jobs(ctx, &began) }); err != nil {
		return err
	}
	var first, last float64
	err := t.db.QueryRowContext(ctx, "SELECT TIMESTAMPDIFF(MICROSECOND, ?, MIN(created_at)) / 1e6, "+
		"TIMESTAMPDIFF(MICROSECOND, ?, MAX(created_at)) / 1e6 FROM ttlproxy.job_history", began, began).Scan(&first,
		&last)
	fmt.Fprintf(t.out, "    the first started after %.2f s, the last after %.2f s\n", first, last)
	if t.most > 0 && last > t.most.Seconds() {
		err = errors.Join(err, fmt.Errorf("the last job started after %.2f s, %v are allowed", last, t.most))
	}
	return err
}

func (t *manyTables) jobs(ctx context.Context, began *time.Time) error {
	if err := t.db.QueryRowContext(ctx, "SELECT UTC_TIMESTAMP(6)").Scan(began); err != nil {
		return err
	}
	if err := t.exec(ctx, "SET GLOBAL ttl_job_enable = ON"); err != nil {
		return err
	}

	for {
		ended, err := t.number(ctx, "SELECT COUNT(*) FROM ttlproxy.job_history WHERE state = 'finished'")
		if err != nil || ended >= t.n {
			return err
		}
		if err := pause(ctx, time.Second); err != nil {
			return fmt.Errorf("%d of %d jobs have finished: %w", ended, t.n, err)
		}
	}
}

// check counts what is left.
func (t *manyTables) check(ctx context.Context) error {
	for i := range t.n {
		left, err := t.number(ctx,
			fmt.Sprintf("SELECT COUNT(*) * 1000 + COALESCE(SUM(id %% 2), 0) FROM %s.t%d", tablesSchema, i))
		if err != nil {
			return err
		}
		if left != tableRows/2*1000 {
			return fmt.Errorf("table t%d has %d rows left, %d of them expired, and should have %d and none",
				i, left/1000, left%1000, tableRows/2)
		}
	}
	return nil
}

// rest measures what the tables cost while none is due.
func (t *manyTables) rest(ctx context.Context) error {
	return t.timed("at rest", func() error { return pause(ctx, atRest) })
}

// ask measures how long a person waits for a job of a small table.
func (t *manyTables) ask(ctx context.Context) error {
	took := make([]time.Duration, 0, asked)
	for i := range asked {
		began := time.Now()
		if err := t.exec(ctx, fmt.Sprintf("RUN TTL JOB FOR "+tablesSchema+".t%d WAIT", i)); err != nil {
			return err
		}
		took = append(took, time.Since(began))
	}
	median, worst := spread(took)
	fmt.Fprintf(t.out, "  RUN TTL JOB FOR a table WAIT: median %.0f ms, worst %.0f ms of %d\n",
		ms(median), ms(worst), asked)
	if t.most > 0 && median > mostAsked {
		return fmt.Errorf("half of RUN TTL JOB … WAIT takes longer than %v", mostAsked)
	}
	return nil
}

// timed reports how long something took, the CPU time of proxy and server, and the proxy's memory.
func (t *manyTables) timed(what string, do func() error) error {
	began := time.Now()
	before, err := measure(t.pid)
	if err != nil {
		return err
	}

	serverBefore, err := cpuTime(t.server)
	if err != nil {
		return err
	}
	if err := do(); err != nil {
		return err
	}

	after, err := measure(t.pid)
	if err != nil {
		return err
	}

	serverAfter, err := cpuTime(t.server)
	fmt.Fprintf(t.out, "  %s: %v; proxy: %v of CPU time, %d MiB; server: %v of CPU time\n",
		what, time.Since(began).Round(10*time.Millisecond), after.cpu-before.cpu, after.rss>>10,
		serverAfter-serverBefore)
	return err
}
