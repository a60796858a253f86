package ttl

import (
	"context"

	"golang.org/x/sync/errgroup"
)

// crew keeps as many workers as the settings say, and wakes them when there is work.
func (e *Engine) crew(ctx context.Context, work <-chan struct{}) error {
	g, ctx := errgroup.WithContext(ctx)
	seats := make(chan struct{}, maxWorkers) // taken by workers at work
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
			continue
		case <-work:
		}
		for len(seats) < e.gang.Wanted() && !e.rush.on.Load() {
			seats <- struct{}{}
			g.Go(func() error {
				defer func() { <-seats }()
				e.kit.work(ctx, seats)
				return nil
			})
		}
	}

	return g.Wait()
}

// maxWorkers is the most that ttl_scan_worker_count allows.
const maxWorkers = 256
