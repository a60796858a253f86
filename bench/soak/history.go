package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/ttlproxy/ttlproxy/sandbox"
)

const (
	historyTables     = 1000
	historyPartitions = 400 // of the first table
	historyDays       = 90
	historyLooks      = 15 // of which the median counts
)

// soakHistory fills the history of many policies, and measures how long it takes to look at them.
func (o options) soakHistory(ctx context.Context, flavour sandbox.Flavour, out io.Writer) error {
	args := []string{
		"--innodb-buffer-pool-size=2G", "--innodb-flush-log-at-trx-commit=0", "--sync-binlog=0", "--skip-log-bin",
		"--table-open-cache=4000",
	}
	if flavour == sandbox.MySQL {
		args = append(args, "--innodb-redo-log-capacity=1G", "--innodb-ddl-buffer-size=256M")
	} else {
		args = append(args, "--innodb-log-file-size=1G", "--innodb-sort-buffer-size=64M")
	}

	p, err := o.start(ctx, flavour, args, nil)
	if err != nil {
		return err
	}
	defer p.Close()

	h := &longHistory{
		manyTables: manyTables{n: historyTables, pid: p.proxy.PID(), most: o.most, out: out}, jobs: o.history,
	}
	h.pages.Transport = &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", p.page())
	}}
	if h.db, err = p.clients(); err != nil {
		return err
	}
	defer h.db.Close()

	if h.direct, err = p.direct(); err != nil {
		return err
	}
	defer h.direct.Close()

	if h.server, err = h.serverPID(ctx); err != nil {
		return err
	}

	fmt.Fprintf(out, "%s %s, %d jobs in the history of %d tables, one of them with %d partitions\n",
		flavour, p.server.Version, h.jobs, historyTables, historyPartitions)
	for _, step := range []func(context.Context) error{h.make, h.fill, h.look} {
		if err := step(ctx); err != nil {
			return err
		}
	}

	return p.proxy.Stop()
}

// longHistory is one such run.
type longHistory struct {
	manyTables
	direct *sql.DB // around the proxy
	jobs   int
	pages  http.Client
}

// make makes tables without rows, and a policy for each.
func (h *longHistory) make(ctx context.Context) error {
	for _, statement := range []string{"SET GLOBAL ttl_job_enable = OFF", "CREATE DATABASE " + tablesSchema} {
		if err := h.exec(ctx, statement); err != nil {
			return err
		}
	}
	return h.timed("tables and policies made", func() error {
		declare := func(i int) error {
			// No two look the same: tables that do, and are made at once, could have taken each
			// other's place.
			return h.exec(ctx, fmt.Sprintf("CREATE TABLE %[1]s.t%[2]d "+
				"(id BIGINT, made DATETIME NOT NULL, note VARCHAR(%[3]d), KEY (id)) "+
				"TTL = made + INTERVAL 30 DAY TTL_JOB_INTERVAL = '30d'%[4]s", tablesSchema, i, i+1, divided(i)))
		}
		if err := declare(0); err != nil { // which takes its time
			return err
		}

		var g errgroup.Group
		g.SetLimit(4)
		for i := 1; i < h.n; i++ {
			g.Go(func() error { return declare(i) })
		}

		if err := g.Wait(); err != nil {
			return err
		}

		armed, err := h.number(ctx, "SELECT COUNT(*) FROM ttlproxy.policy WHERE armed")
		if err == nil && armed != h.n {
			err = fmt.Errorf("%d of %d policies are armed", armed, h.n)
		}

		return err
	})
}

// divided is how the first table is partitioned: a day each, nearly all of them due.
func divided(table int) string {
	if table > 0 {
		return ""
	}
	parts := make([]string, historyPartitions)
	for i := range parts {
		parts[i] = fmt.Sprintf("PARTITION p%d VALUES LESS THAN (%d)", i, 700_000+i)
	}
	return " PARTITION BY RANGE (TO_DAYS(made)) (" + strings.Join(parts, ", ") + ")"
}

// fill writes what jobs would have written in the last days, without running them.
func (h *longHistory) fill(ctx context.Context) error {
	conn, err := h.direct.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()

	exec := func(statement string, args ...any) error {
		if _, err := conn.ExecContext(ctx, statement, args...); err != nil {
			return fmt.Errorf("%.80s: %w", statement, err)
		}
		return nil
	}

	return h.timed("history filled", func() error {
		for _, statement := range []string{
			"USE ttlproxy",
			"SET time_zone = '+00:00'",
			"CREATE TABLE soak.digit (d INT)", "INSERT INTO soak.digit VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9)",
			fillNumber, fmt.Sprintf(fillPlace, historyPartitions, h.places()),
		} {
			if err := exec(statement); err != nil {
				return err
			}
		}

		keys, err := keysOf(ctx, conn, "job_history")
		if err != nil {
			return err
		}
		if err := exec("ALTER TABLE job_history " + keys.drop()); err != nil {
			return err
		}

		for from := 0; from < h.jobs; from += numbers {
			if err := exec(fillHistory, from, h.places(), h.jobs, historyDays); err != nil {
				return err
			}
		}

		for _, statement := range []string{
			"ALTER TABLE job_history " + keys.add(), fillSchedule, fillEnded, fillRuns,
		} {
			if err := exec(statement); err != nil {
				return err
			}
		}

		if err := exec("ANALYZE TABLE job_history, schedule, policy"); err != nil {
			return err
		}

		return h.exec(ctx, "SET GLOBAL ttl_job_enable = ON")
	})
}

// keys are the secondary indexes of a table. To build them at the end takes a fraction of the time
// that it takes to keep them up to date all the while.
type keys []struct{ name, columns string }

func keysOf(ctx context.Context, conn *sql.Conn, table string) (all keys, err error) {
	rows, err := conn.QueryContext(ctx, "SELECT index_name, GROUP_CONCAT(column_name ORDER BY seq_in_index)"+
		" FROM information_schema.statistics WHERE table_schema = DATABASE() AND table_name = ?"+
		" AND index_name <> 'PRIMARY' GROUP BY index_name", table)
	if err != nil {
		return nil, err
	}
	defer rows.Close()

	for rows.Next() {
		all = append(all, struct{ name, columns string }{})
		if err := rows.Scan(&all[len(all)-1].name, &all[len(all)-1].columns); err != nil {
			return nil, err
		}
	}

	return all, rows.Err()
}

func (k keys) drop() string {
	parts := make([]string, len(k))
	for i := range k {
		parts[i] = "DROP KEY " + k[i].name
	}
	return strings.Join(parts, ", ")
}

func (k keys) add() string {
	parts := make([]string, len(k))
	for i := range k {
		parts[i] = "ADD KEY " + k[i].name + " (" + k[i].columns + ")"
	}
	return strings.Join(parts, ", ")
}

func (h *longHistory) places() int { return historyPartitions + h.n - 1 }

// numbers is how many fillNumber makes.
const numbers = 100_000

// Jobs end at equal distances, of one table or partition after the other.
const (
	fillNumber = `CREATE TABLE soak.number (n INT PRIMARY KEY) AS
 SELECT a.d + 10*b.d + 100*c.d + 1000*e.d + 10000*f.d AS n
 FROM soak.digit a, soak.digit b, soak.digit c, soak.digit e, soak.digit f`
	// Formatted with the partitions of the first table, and the places that jobs end in.
	fillPlace = `CREATE TABLE soak.place
 (n INT PRIMARY KEY, policy BIGINT UNSIGNED, s VARCHAR(64), t VARCHAR(64), part VARCHAR(64)) AS
 SELECT n, p.id AS policy, p.schema_name AS s, p.table_name AS t, IF(n < %[1]d, CONCAT('p', n), '') AS part
 FROM soak.number JOIN policy p ON p.table_name = IF(n < %[1]d, 't0', CONCAT('t', n - %[1]d + 1)) WHERE n < %[2]d`
	fillHistory = `INSERT INTO job_history (job_id, policy_id, policy_version, schema_name, table_name, partition_name,
 state, reason, cutoff, since, run_at, trigger_kind, plan, plan_reason, tasks, tasks_finished,
 estimated_rows, examined, deleted, refreshed, failed, skipped, inflow, note, created_at, finished_at)
 SELECT j.id, p.policy, 1, p.s, p.t, p.part, 'finished', '',
 j.at - INTERVAL 30 DAY, j.since, j.at, 'schedule', 'index',
 'index made from the old end: less than 0.01 % of the rows are due', 1, 1,
 5, 10, 5, 0, 0, 0, 5, '', j.at, j.at + INTERVAL 1 SECOND
 FROM (SELECT b.id, UTC_TIMESTAMP(6) - INTERVAL FLOOR((b.jobs - b.id) / b.jobs * 86400 * b.days) SECOND AS at,
  UTC_TIMESTAMP(6) - INTERVAL FLOOR((b.jobs - b.id + b.places) / b.jobs * 86400 * b.days) SECOND AS since
  FROM (SELECT n + 1 + ? AS id, ? AS places, ? AS jobs, ? AS days FROM soak.number) b) j
 JOIN soak.place p ON p.n = (j.id - 1) % (SELECT COUNT(*) FROM soak.place)`
	fillSchedule = `INSERT IGNORE INTO schedule (policy_id, partition_name) SELECT policy, part FROM soak.place`
	fillEnded    = `UPDATE schedule s JOIN (
  SELECT policy_id, partition_name, MAX(job_id) AS id, MAX(created_at) AS at
  FROM job_history GROUP BY policy_id, partition_name
 ) h ON h.policy_id = s.policy_id AND h.partition_name = s.partition_name
 SET s.last_job_id = h.id, s.last_ended_id = h.id, s.last_version = 1, s.last_state = 'finished',
 s.last_started_at = h.at, s.last_finished_at = h.at, s.last_cutoff = h.at - INTERVAL 30 DAY, s.last_due_at = h.at,
 s.watermark = h.at, s.watermark_version = 1`
	fillRuns = `INSERT IGNORE INTO run (policy_id, run_at, deleted, finished, finished_at)
 SELECT policy_id, created_at, deleted, TRUE, finished_at FROM job_history
 WHERE finished_at > UTC_TIMESTAMP() - INTERVAL 1 DAY`
)

// look measures everybody's looks.
func (h *longHistory) look(ctx context.Context) error {
	var errs []error
	var worst time.Duration
	var worstOf string
	measure := func(what string, every time.Duration, look func() error) {
		took := make([]time.Duration, 0, historyLooks)
		for range historyLooks + 1 {
			began := time.Now()
			if err := look(); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", what, err))
				return
			}

			took = append(took, time.Since(began))
			if err := pause(ctx, every); err != nil {
				return
			}
		}

		first := took[0] // which opens connections, and has nothing remembered
		took = took[1:]
		slices.Sort(took)
		median, late := took[len(took)/2], took[len(took)*95/100]
		fmt.Fprintf(h.out, "  %-60s %6.1f ms, p95 %.1f (%.1f to %.1f), the first %.1f\n",
			what, ms(median), ms(late), ms(took[0]), ms(took[len(took)-1]), ms(first))

		if median > worst {
			worst, worstOf = median, what
		}
		if h.most > 0 && median > h.most {
			errs = append(errs, fmt.Errorf("%s takes %v, at most %v are allowed", what, median, h.most))
		}
	}

	for _, path := range []string{
		"/metrics", "/api/v1/status", "/api/v1/history?limit=40&schema=soak&table=t0", "/api/v1/tables/soak/t0",
		"/api/v1/series?hours=6",
	} {
		measure(path, lookEvery, func() error { return h.get(ctx, path) })
	}
	for _, path := range []string{"/", "/api/v1/events?limit=40", "/api/v1/errors?limit=40"} {
		measure(path, showEvery, func() error { return h.get(ctx, path) })
	}

	for _, list := range []string{
		"TABLES", "JOBS", "TASKS", "HISTORY LIMIT 40", "HISTORY FOR soak.t0 LIMIT 40",
		"HISTORY FOR soak.t7 WHERE Rows_deleted > 5 LIMIT 1", "ERRORS", "NODES", "EVENTS LIMIT 40", "STATUS",
		"VARIABLES", "JOBS FOR soak.t7", "TABLES FOR soak.t0", "PARTITIONS FOR soak.t0", "THROTTLE",
		"SESSIONS",
	} {
		measure("SHOW TTL "+list, showEvery, func() error { return h.show(ctx, "SHOW TTL "+list) })
	}

	fmt.Fprintf(h.out, "  the worst: %s, %.1f ms\n", worstOf, ms(worst))
	return errors.Join(errs...)
}

const (
	// lookEvery is longer than one look at the catalog serves all pages and scrapes that show it.
	lookEvery = 1100 * time.Millisecond
	// showEvery lets the collectors of garbage end.
	showEvery = 100 * time.Millisecond
)

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// get reads a page to its end.
func (h *longHistory) get(ctx context.Context, path string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://page"+path, nil)
	if err != nil {
		return err
	}

	answer, err := h.pages.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()

	_, err = io.Copy(io.Discard, answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = errors.New(answer.Status)
	}

	return err
}

// show reads a list to its end.
func (h *longHistory) show(ctx context.Context, statement string) error {
	rows, err := h.db.QueryContext(ctx, statement)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
	}
	return rows.Err()
}
