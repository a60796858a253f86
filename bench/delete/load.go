package main

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
)

// load is an application: its statements arrive by the clock, whether or not those before them have
// been answered, and by turns it is busy and idle. It changes, adds and reads rows that stay.
type load struct {
	db         *sql.DB
	rows       int
	busy, idle float64       // statements a second
	step       time.Duration // between two changes from busy to idle or back; 0 for never
	began      time.Time
}

// loadClients are how many statements run at a time; those that arrive meanwhile wait.
const loadClients = 32

// felt is one statement.
type felt struct {
	arrived time.Time // when it should have been sent
	took    time.Duration
	failed  bool
}

// busyAt reports whether the load is busy at a moment.
func (l *load) busyAt(t time.Time) bool { return l.step <= 0 || t.Sub(l.began)/l.step%2 == 0 }

// start begins and returns what ends it: everything that has arrived by then is waited for.
func (l *load) start(ctx context.Context) (stop func() ([]felt, error), err error) {
	conns := make([]*sql.Conn, loadClients)
	for i := range conns {
		if conns[i], err = l.db.Conn(ctx); err != nil {
			return nil, fmt.Errorf("the application: %w", err)
		}
	}

	ended := context.WithoutCancel(ctx)
	ctx, cancel := context.WithCancel(ctx)
	arrivals := make(chan time.Time, 1<<20)
	all := make([][]felt, len(conns))
	var g errgroup.Group
	l.began = time.Now()

	g.Go(func() error {
		defer close(arrivals)
		l.arrive(ctx, arrivals)
		return nil
	})

	for i, conn := range conns {
		g.Go(func() error {
			defer conn.Close()
			for arrived := range arrivals {
				_, err := conn.ExecContext(ended, l.statement())
				all[i] = append(all[i], felt{arrived, time.Since(arrived), err != nil})
			}
			return nil
		})
	}

	return func() ([]felt, error) {
		cancel()
		err := g.Wait()
		return slices.Concat(all...), err
	}, nil
}

// arrive says when each statement arrives, until ctx ends.
func (l *load) arrive(ctx context.Context, arrivals chan<- time.Time) {
	next := l.began
	for ctx.Err() == nil {
		time.Sleep(time.Until(next))
		arrivals <- next

		rate := l.busy
		if !l.busyAt(next) {
			rate = l.idle
		}
		next = next.Add(time.Duration(float64(time.Second) / max(rate, 1)))
	}
}

// statement is one of the application's: half of them change a row, a quarter adds one.
func (l *load) statement() string {
	stays := 2 * (1 + rand.IntN(max(l.rows/2, 1)))
	switch rand.IntN(4) {
	case 0:
		return "INSERT INTO " + schema + ".t (made, user_id, pad) VALUES ('2037-01-01', 7, REPEAT('y', 170))"
	case 1:
		return fmt.Sprintf("SELECT pad FROM %s.t WHERE id = %d", schema, stays)
	default:
		return fmt.Sprintf("UPDATE %s.t SET user_id = user_id + 1 WHERE id = %d", schema, stays)
	}
}
