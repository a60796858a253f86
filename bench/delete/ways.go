package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

// way is one way to delete the expired rows of the table.
type way struct {
	name, text string
	run        func(ctx context.Context, b *bench) (rows int, took time.Duration, err error)
	busyOnly   bool // makes sense beside an application only
}

var ways = []way{
	{"nothing", "the application alone, for 2 s", nothing, true},
	{"ttlproxy", "the engine: plan, barrier, identity check and checkpoint in every batch", engine, false},
	{"single", "one DELETE without bounds", single, false},
	{"pt-archiver", "pt-archiver --purge --bulk-delete --limit 1000 --commit-each", archiver, false},
	{"key-lists", "SELECT 500 keys, DELETE 100 by key, as TiDB does", keyLists, false},
	{"naive", "DELETE … LIMIT 1000 until nothing is left; stopped after 10 s", naive, false},
}

// nothing is what the others are compared with.
func nothing(ctx context.Context, _ *bench) (int, time.Duration, error) {
	select {
	case <-ctx.Done():
	case <-time.After(2 * time.Second):
	}
	return 0, time.Second, ctx.Err()
}

func single(ctx context.Context, b *bench) (int, time.Duration, error) {
	took, err := timed(func() error { return b.exec(ctx, "DELETE FROM "+schema+".t WHERE made < NOW()") })
	return b.rows / 2, took, err
}

func naive(ctx context.Context, b *bench) (int, time.Duration, error) {
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
	host, port, err := net.SplitHostPort(b.cfg.Addr)
	if err != nil {
		return 0, 0, err
	}

	dsn := fmt.Sprintf("h=%s,P=%s,u=%s,D=%s,t=t", host, port, b.cfg.User, schema)
	if b.cfg.Passwd != "" {
		dsn += ",p=" + b.cfg.Passwd
	}

	command := exec.CommandContext(ctx, "pt-archiver", "--source", dsn, "--where", "made < NOW()", "--purge",
		"--bulk-delete", "--limit", "1000", "--commit-each", "--no-check-charset", "--no-version-check")
	var output []byte
	took, err := timed(func() (err error) {
		output, err = command.CombinedOutput()
		return err
	})
	if errors.Is(err, exec.ErrNotFound) {
		return 0, time.Second, nil
	}
	if err != nil {
		return 0, 0, fmt.Errorf("%w: %s", err, output)
	}

	left, err := b.left(ctx)
	return b.rows/2 - left, took, err
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
	return b.rows / 2, took, err
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
		fmt.Sprintf("SELECT id FROM %s.t FORCE INDEX (PRIMARY) WHERE id > %d AND id <= %d AND made < NOW() ORDER BY "+
			"id LIMIT 500", schema, at, end))
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
