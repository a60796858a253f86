package work

import (
	"context"
	"log/slog"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/panics"
	"github.com/ttlproxy/ttlproxy/ttl/pace"
)

// Config is what the workers of a node share. Only BeforePacket may be nil.
type Config struct {
	Store    Store
	Log      *slog.Logger
	Metrics  *Metrics
	Sessions *Pool
	Tables   *Recognizer

	Queue *pace.Queue
	Gang  *pace.Gang
	Rates *pace.Rates
	Duty  *pace.Duty

	Node       func() uint64 // the id of this one
	Actor      func() string // how it signs
	Account    string        // the one that deletes
	Limits     func() *Limits
	ReadLimits func(context.Context) error // makes Limits the newest
	Stopped    func() string               // why nothing may be sent now
	Starting   func() bool                 // many jobs are being started: no task is taken up
	Finished   func(catalog.Job)           // called when a task is done: it may have been its job's last
	Lost       func()                      // called when a task turns out to be somebody else's

	BeforePacket func() // hook for tests: between choosing a batch and sending it
}

// Crew are the workers of a node.
type Crew struct {
	Config
	atWork     *atWork
	contested  *contested
	tableRates *pace.TableRates
	news       chan struct{} // there may be work
	seats      chan struct{} // taken by workers at work
}

// NewCrew prepares a crew, which begins with Run.
func NewCrew(cfg Config) *Crew {
	return &Crew{
		Config: cfg, atWork: newAtWork(), contested: newContested(), tableRates: pace.NewTableRates(cfg.Metrics.Waited),
		news: make(chan struct{}, 1), seats: make(chan struct{}, maxWorkers),
	}
}

// maxWorkers is the most that ttl_scan_worker_count allows.
const maxWorkers = 256

// Wake tells the crew that there may be work; once is enough.
func (c *Crew) Wake() {
	select {
	case c.news <- struct{}{}:
	default:
	}
}

// Run keeps as many workers at work as the settings say, while there is work.
func (c *Crew) Run(ctx context.Context) error {
	g, ctx := panics.WithContext(ctx)
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
			continue
		case <-c.news:
		}
		for len(c.seats) < c.wanted() && !c.Starting() {
			c.seats <- struct{}{}
			g.Go(func() error {
				defer func() { <-c.seats }()
				c.Work(ctx)
				return nil
			})
		}
	}

	return g.Wait()
}

// linger pauses as the worker that has a job, 0 for none, unless that is called to another one.
func (c *Crew) linger(ctx context.Context, job uint64, d time.Duration) error {
	return c.Queue.UnlessCalled(ctx, job, func(ctx context.Context) error {
		Wait(ctx, d)
		return nil
	})
}

// spare reports that more workers are at work than this node wants.
func (c *Crew) spare() bool { return len(c.seats) > c.wanted() }

// wanted is how many workers there should be: those that pay, or fewer while a signal holds them
// back.
func (c *Crew) wanted() int {
	if c.Duty.Share() < 1 {
		c.Gang.Forget()
	}
	return c.Duty.Workers(c.Gang.Wanted())
}
