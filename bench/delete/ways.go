package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
	"golang.org/x/sync/errgroup"
)

// way is one way to delete the expired rows of the table.
type way struct {
	name, text string
	run        func(ctx context.Context, b *bench) (rows int, took time.Duration, err error)
	when       when
	through    bool // the application goes through the proxy
	program    bool // the proxy runs, with an engine
}

// when a way is measured.
type when int

const (
	always when = iota
	busyOnly
	quietOnly
	keyedOnly
)

var ways = []way{
	{name: "alone", text: "nothing is deleted", run: nothing, when: busyOnly},
	{
		name: "alone-through", text: "nothing is deleted, through the proxy", run: nothing,
		when: busyOnly, program: true, through: true,
	},
	{
		name: "engine", text: "ttlproxy's own: plan, barrier, identity check and checkpoint in every batch",
		run: engine, when: quietOnly,
	},
	{name: "unkeyed", text: "the same, without the foreign key", run: unkeyed, when: keyedOnly},
	{
		name: "census", text: "the same with TTL_PLAN = 'QUEUE': the rows that stay are written down",
		run: census, when: quietOnly,
	},
	{
		name: "ttlproxy", text: "default settings, the application beside it",
		run: proxied, when: busyOnly, program: true,
	},
	{
		name: "ttlproxy-through", text: "default settings, the application through it",
		run: proxied, when: busyOnly, program: true, through: true,
	},
	{
		name: "unthrottled", text: "ttlproxy, ttl_throttle_… off, the application beside it",
		run: unthrottled, when: busyOnly, program: true,
	},
	{name: "single", text: "one DELETE without bounds", run: single},
	{name: "pt-archiver", text: "pt-archiver --purge --bulk-delete --limit 1000 --commit-each", run: archiver},
	{name: "pt-max-lag", text: "pt-archiver, also --max-lag 1s", run: laggingArchiver, when: busyOnly},
	{name: "key-lists", text: "SELECT 500 keys, DELETE 100 by key, as TiDB does", run: keyLists},
	{
		name: "naive", text: "DELETE … LIMIT 1000 until nothing is left; stopped after 10 s",
		run: naive, when: quietOnly,
	},
}

// leftOut says why a way cannot be measured here.
type leftOut struct{ why string }

func (l *leftOut) Error() string { return l.why }

// nothing is what the others are compared with.
func nothing(ctx context.Context, b *bench) (int, time.Duration, error) {
	pause(ctx, b.alone)
	return 0, b.alone, ctx.Err()
}

func single(ctx context.Context, b *bench) (int, time.Duration, error) {
	took, err := timed(func() error { return b.exec(ctx, "DELETE FROM "+schema+".t WHERE "+b.where()) })
	return b.going, took, err
}

func naive(ctx context.Context, b *bench) (int, time.Duration, error) {
	if b.keyed() {
		return 0, 0, &leftOut{"it is slow enough without foreign keys"}
	}
	rows, began := 0, time.Now()
	for time.Since(began) < 10*time.Second {
		result, err := b.db.ExecContext(ctx, "DELETE FROM "+schema+".t WHERE made < NOW() LIMIT 1000")
		if err != nil {
			return 0, 0, err
		}

		n, err := result.RowsAffected()
		if err != nil || n == 0 {
			return rows, time.Since(began), err
		}

		rows += int(n)
	}

	return rows, time.Since(began), nil
}

// archiver runs pt-archiver where it is installed.
func archiver(ctx context.Context, b *bench) (int, time.Duration, error) {
	return b.archive(ctx)
}

// laggingArchiver lets it wait for the replica.
func laggingArchiver(ctx context.Context, b *bench) (int, time.Duration, error) {
	if b.replica == nil {
		return 0, 0, &leftOut{"there is no replica"}
	}
	replica := b.servers[len(b.servers)-1].Config("")
	rows, took, err := b.archive(ctx, "--max-lag", "1s", "--check-interval", "1s", "--check-slave-lag", dsn(replica))
	if left, failed := errors.AsType[*exec.ExitError](err); failed {
		return 0, 0, &leftOut{"pt-archiver cannot read this replica's lag: " + left.Error()}
	}
	return rows, took, err
}

// dsn is an account as Percona's tools take it.
func dsn(cfg *mysql.Config) string {
	host, port, _ := net.SplitHostPort(cfg.Addr) // which sandbox or the driver has put together
	text := fmt.Sprintf("h=%s,P=%s,u=%s", host, port, cfg.User)
	if cfg.Passwd != "" {
		text += ",p=" + cfg.Passwd
	}
	return text
}

func (b *bench) archive(ctx context.Context, options ...string) (int, time.Duration, error) {
	command := exec.CommandContext(ctx, "pt-archiver", append([]string{
		"--source", dsn(b.cfg) + ",D=" + schema + ",t=t", "--where", b.where(), "--purge", "--bulk-delete",
		"--limit", "1000", "--commit-each", "--no-check-charset", "--no-version-check",
	}, options...)...)
	var output []byte
	took, err := timed(func() (err error) {
		output, err = command.CombinedOutput()
		return err
	})
	if errors.Is(err, exec.ErrNotFound) {
		return 0, 0, &leftOut{"pt-archiver is not installed"}
	}
	if err != nil {
		return 0, 0, fmt.Errorf("%w: %s", err, output)
	}

	left, err := b.left(ctx)
	return b.going - left, took, err
}

// keyLists is TiDB's pair of statements, with as many workers as ttlproxy has, each on its part of
// the keys.
func keyLists(ctx context.Context, b *bench) (int, time.Duration, error) {
	took, err := timed(func() error {
		g, ctx := errgroup.WithContext(ctx)
		part := b.rows/b.workers + 1
		for w := range b.workers {
			g.Go(func() error { return b.listRange(ctx, w*part, (w+1)*part) })
		}
		return g.Wait()
	})
	return b.going, took, err
}

func (b *bench) listRange(ctx context.Context, at, end int) error {
	for {
		ids, err := b.ids(ctx, at, end)
		if err != nil || len(ids) == 0 {
			return err
		}

		for n := 0; n < len(ids); n += 100 {
			list := strings.Join(ids[n:min(n+100, len(ids))], ",")
			if err := b.exec(ctx, "DELETE FROM "+schema+".t WHERE id IN ("+list+") AND made < NOW()"); err != nil {
				return err
			}
		}

		if _, err := fmt.Sscan(ids[len(ids)-1], &at); err != nil {
			return err
		}
	}
}

func (b *bench) ids(ctx context.Context, at, end int) ([]string, error) {
	rows, err := b.db.QueryContext(ctx,
		fmt.Sprintf("SELECT id FROM %s.t FORCE INDEX (PRIMARY) WHERE id > %d AND id <= %d AND %s ORDER BY "+
			"id LIMIT 500", schema, at, end, b.where()))
	if err != nil {
		return nil, err
	}
	defer rows.Close()

	var ids []string
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}

	return ids, rows.Err()
}
