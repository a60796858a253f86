package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
)

// What the application does meanwhile: it updates rows that stay, by their keys, with a pause after
// each.
const (
	foregroundClients = 4
	foregroundPause   = 5 * time.Millisecond
)

// foreground runs the application until stop is called, which returns how long each of its updates
// took.
func (b *bench) foreground(ctx context.Context) (stop func() ([]time.Duration, error)) {
	ctx, cancel := context.WithCancel(ctx)
	took := make([][]time.Duration, foregroundClients)
	var g errgroup.Group
	for client := range foregroundClients {
		g.Go(func() (err error) {
			took[client], err = b.update(ctx)
			return err
		})
	}

	return func() ([]time.Duration, error) {
		cancel()
		err := g.Wait()
		return slices.Concat(took...), err
	}
}

// update is one client of the application. The statement that is under way when ctx ends is waited
// for.
func (b *bench) update(ctx context.Context) (took []time.Duration, err error) {
	conn, err := b.db.Conn(context.WithoutCancel(ctx))
	if err != nil {
		return nil, err
	}
	defer conn.Close()

	for ctx.Err() == nil {
		began := time.Now()
		stays := 2 * (1 + rand.IntN(b.rows/2))
		if _, err := conn.ExecContext(context.WithoutCancel(ctx),
			fmt.Sprintf("UPDATE %s.t SET user_id = user_id + 1 WHERE id = %d", schema, stays)); err != nil {
			return nil, fmt.Errorf("the application: %w", err)
		}
		took = append(took, time.Since(began))
		time.Sleep(foregroundPause)
	}

	return took, nil
}

// latencies shows what users feel: the median, the slow ones, the slowest.
func latencies(took []time.Duration) string {
	if len(took) == 0 {
		return ""
	}
	slices.Sort(took)
	at := func(share float64) float64 {
		return took[min(int(share*float64(len(took))), len(took)-1)].Seconds() * 1e3
	}
	return fmt.Sprintf("%7.1f %7.1f %7.1f ms   ", at(0.5), at(0.99), at(1))
}
