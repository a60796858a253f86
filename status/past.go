package status

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/ttlproxy/ttlproxy/catalog"
)

// pastAge is for how long the samples of one range serve everybody. They change once a minute.
const pastAge = 5 * time.Second

// past is what was recorded in the last hours.
type past struct {
	now     time.Time // of the database
	samples []catalog.Sample
	inflows []catalog.Inflow
	at      time.Time
}

// past returns the records of so many hours, read less than pastAge ago.
func (v *viewer) past(ctx context.Context, hours int) (*past, error) {
	v.pastMu.Lock()
	defer v.pastMu.Unlock()
	if p := v.pasts[hours]; p != nil && time.Since(p.at) < pastAge {
		return p, nil
	}
	now, err := v.reads.Clock(ctx)
	if err != nil {
		return nil, err
	}
	p := &past{now: now, at: time.Now()}
	since := now.Add(-time.Duration(hours) * time.Hour)
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() (err error) { p.samples, err = v.reads.Samples(ctx, since); return err })
	g.Go(func() (err error) { p.inflows, err = v.reads.Inflows(ctx, since); return err })
	if err := g.Wait(); err != nil {
		return nil, err
	}
	v.pasts[hours] = p
	return p, nil
}
