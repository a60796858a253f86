package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
)

// watch follows one way from the outside: how many rows the server has deleted, and how far its
// replica is behind.
type watch struct {
	deleted []sample
	lags    []time.Duration
}

// sample is how many rows the server had deleted at a moment.
type sample struct {
	at   time.Time
	rows int64
}

const (
	lookEvery = 100 * time.Millisecond
	beatEvery = 20 * time.Millisecond
	caughtUp  = 200 * time.Millisecond // so far behind may a replica be that is not behind
)

// watch begins and returns what ends it, once the replica has caught up.
func (b *bench) watch(ctx context.Context) (stop func() (*watch, error)) {
	ctx, cancel := context.WithCancel(ctx)
	w := &watch{}
	var g errgroup.Group
	g.Go(func() error { return w.count(ctx, b.looking()) })
	if b.replica != nil {
		g.Go(func() error { return w.follow(ctx, b) })
	}

	return func() (*watch, error) {
		cancel()
		return w, g.Wait()
	}
}

// count looks at what the server has deleted until ctx ends.
func (w *watch) count(ctx context.Context, db *sql.DB) error {
	for last := false; !last; {
		last = ctx.Err() != nil
		var name string
		var s sample
		err := db.QueryRowContext(context.WithoutCancel(ctx), "SHOW GLOBAL STATUS LIKE 'Handler_delete'").
			Scan(&name, &s.rows)
		if err != nil {
			return fmt.Errorf("watch the server: %w", err)
		}

		s.at = time.Now()
		w.deleted = append(w.deleted, s)

		pause(ctx, lookEvery)
	}
	return nil
}

// follow measures the lag until ctx has ended and the replica has caught up.
func (w *watch) follow(ctx context.Context, b *bench) error {
	for {
		lag, err := b.lag(context.WithoutCancel(ctx))
		if err != nil {
			return err
		}

		w.lags = append(w.lags, lag)
		if ctx.Err() != nil && lag < caughtUp {
			return nil
		}
		pause(context.WithoutCancel(ctx), beatEvery)
	}
}

// beats writes the time into a row that the replica receives, until ctx ends.
func (b *bench) beats(ctx context.Context) error {
	for ctx.Err() == nil {
		_, err := b.looking().ExecContext(context.WithoutCancel(ctx),
			fmt.Sprintf("REPLACE INTO %s.beat VALUES (1, %d)", schema, time.Now().UnixMicro()))
		if err != nil {
			return fmt.Errorf("heartbeat: %w", err)
		}
		pause(ctx, beatEvery)
	}
	return nil
}

// lag is how old the newest heartbeat is that the replica has, at most beatEvery too much.
func (b *bench) lag(ctx context.Context) (time.Duration, error) {
	var beat int64
	err := b.replica.QueryRowContext(ctx, "SELECT at FROM "+schema+".beat").Scan(&beat)
	if err != nil {
		return 0, fmt.Errorf("look at the replica: %w", err)
	}
	return time.Since(time.UnixMicro(beat)), nil
}

// level waits until the replica has everything.
func (b *bench) level(ctx context.Context) error {
	for b.replica != nil {
		lag, err := b.lag(ctx)
		if err == nil && lag < caughtUp {
			return nil
		}
		if err != nil && !errors.Is(err, sql.ErrNoRows) && ctx.Err() != nil {
			return err
		}
		pause(ctx, beatEvery)
	}
	return ctx.Err()
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// speeds are rows a second between two samples while the load was busy, or idle.
func (w *watch) speed(during func(time.Time) bool, until time.Time) float64 {
	var rows int64
	var took time.Duration
	for i, s := range w.deleted[1:] {
		before := w.deleted[i]
		if during(before.at) && during(s.at) && !s.at.After(until) {
			rows += s.rows - before.rows
			took += s.at.Sub(before.at)
		}
	}
	if took == 0 {
		return 0
	}
	return float64(rows) / took.Seconds()
}

// backWindow is over how much time a speed is taken that is called slow: between two gentle batches there are none.
const backWindow = 3 * lookEvery

// backOff is how long it took, at worst, until deletion had made way for good once the load had become busy again:
// until it went no more at over half of the run's full speed so far, that of its fastest time beside the idle load.
// Whatever has not become faster since the last busy time is slow already. Known only if the load became busy again;
// negative if deletion never made way.
func (w *watch) backOff(l *load, until time.Time) (worst time.Duration, known bool) {
	full := 0.0
	for n := time.Duration(2); l.step > 0; n += 2 {
		busy := l.began.Add(n * l.step)
		end := busy.Add(l.step)
		if end.After(until) {
			break
		}

		full = max(full, w.speed(func(t time.Time) bool { return t.After(busy.Add(-l.step)) && t.Before(busy) }, until))
		if full == 0 {
			continue
		}

		fast := w.lastAbove(full/2, busy, end)
		if fast.After(end.Add(-2 * lookEvery)) {
			return -1, true
		}
		worst, known = max(worst, fast.Sub(busy)), true
	}
	return worst, known
}

// lastAbove is the end of the last window between two moments in which rows were deleted faster than a speed; from if
// there is none.
func (w *watch) lastAbove(speed float64, from, to time.Time) time.Time {
	last := from
	for i, s := range w.deleted {
		for _, later := range w.deleted[i+1:] {
			took := later.at.Sub(s.at)
			if s.at.Before(from) || later.at.After(to) {
				break
			}
			if took < backWindow {
				continue
			}
			if float64(later.rows-s.rows) > speed*took.Seconds() {
				last = later.at
			}
			break
		}
	}
	return last
}
