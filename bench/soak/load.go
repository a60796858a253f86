package main

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-sql-driver/mysql"
	"golang.org/x/sync/errgroup"
)

// load is the clients.
type load struct {
	address string
	account *mysql.Config

	mu       sync.Mutex
	sessions []driver.Conn
}

// open logs in, eight at a time, and uses each session once.
func (l *load) open(ctx context.Context, n int) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(8)
	for range n {
		g.Go(func() error {
			c, err := l.session(ctx)
			if err != nil {
				return err
			}
			return ask(ctx, c, "SELECT REPEAT('x', 20000)")
		})
	}
	return g.Wait()
}

// session logs in once.
func (l *load) session(ctx context.Context) (driver.Conn, error) {
	config := l.account.Clone()
	config.Net, config.Addr = "tcp", l.address
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return nil, err
	}

	c, err := connector.Connect(ctx)
	if err != nil {
		return nil, fmt.Errorf("log in: %w", err)
	}

	l.mu.Lock()
	l.sessions = append(l.sessions, c)
	l.mu.Unlock()
	return c, nil
}

// work keeps n more sessions busy for some time, and returns how many statements they ran.
func (l *load) work(ctx context.Context, n int, length time.Duration) (int64, error) {
	until := time.Now().Add(length)
	var statements atomic.Int64
	g, ctx := errgroup.WithContext(ctx)
	for range n {
		g.Go(func() error {
			c, err := l.session(ctx)
			for err == nil && time.Now().Before(until) {
				err = ask(ctx, c, "SELECT REPEAT('x', 200)")
				statements.Add(1)
			}
			return err
		})
	}

	err := g.Wait()
	return statements.Load(), err
}

// ask runs a query and reads its one row.
func ask(ctx context.Context, c driver.Conn, query string) error {
	rows, err := c.(driver.QueryerContext).QueryContext(ctx, query, nil)
	if err != nil {
		return err
	}
	return errors.Join(rows.Next(make([]driver.Value, 1)), rows.Close())
}

// close logs everybody out.
func (l *load) close() error {
	var errs []error
	for _, c := range l.sessions {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}
