package ttl

import (
	"context"
	"log/slog"

	"golang.org/x/sync/errgroup"

	"github.com/ttlproxy/ttlproxy/ttl/pace"
)

// crewConfig is what the workers of a node share.
type crewConfig struct {
	store    workerStore
	log      *slog.Logger
	metrics  *workMetrics
	sessions *pool
	tables   *recognizer

	queue *pace.Queue
	gang  *pace.Gang
	rates *pace.Rates

	node       func() uint64 // its id
	actor      func() string // how it signs
	account    string        // on the server
	limits     func() *workLimits
	readLimits func(context.Context) error
	stopped    func() string // why nothing may be sent now
	starting   func() bool   // many jobs are being started: no task is taken up
	finished   func()        // called when a task is done: it may have been its job's last
	lost       func()        // called when a task turns out to be somebody else's

	beforePacket func() // see Config
}

// crew are the workers of a node.
type crew struct {
	crewConfig
	contested  *contested
	tableRates *pace.TableRates
	news       chan struct{} // there may be work
	seats      chan struct{} // taken by workers at work
}

func newCrew(cfg crewConfig) *crew {
	return &crew{
		crewConfig: cfg, contested: newContested(), tableRates: pace.NewTableRates(cfg.metrics.wait),
		news: make(chan struct{}, 1), seats: make(chan struct{}, maxWorkers),
	}
}

// maxWorkers is the most that ttl_scan_worker_count allows.
const maxWorkers = 256

// wake tells the crew that there may be work; once is enough.
func (c *crew) wake() {
	select {
	case c.news <- struct{}{}:
	default:
	}
}

// run keeps as many workers at work as the settings say, while there is work.
func (c *crew) run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
			continue
		case <-c.news:
		}
		for len(c.seats) < c.gang.Wanted() && !c.starting() {
			c.seats <- struct{}{}
			g.Go(func() error {
				defer func() { <-c.seats }()
				c.work(ctx)
				return nil
			})
		}
	}

	return g.Wait()
}

// spare reports that more workers are at work than this node wants.
func (c *crew) spare() bool { return len(c.seats) > c.gang.Wanted() }
