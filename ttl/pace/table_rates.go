package pace

import (
	"context"
	"sync"
	"time"

	"github.com/ttlproxy/ttlproxy/ddl"
)

// TableRates holds the limit of each table that has one (TTL_DELETE_RATE), shared by this node's
// workers.
type TableRates struct {
	mu     sync.Mutex
	all    map[uint64]*Rates
	waited func(signal string, d time.Duration)
}

// NewTableRates returns the rates of tables; waited is called with each pause.
func NewTableRates(waited func(signal string, d time.Duration)) *TableRates {
	return &TableRates{all: map[uint64]*Rates{}, waited: waited}
}

// Of returns the throttle of a policy that allows rows per second on this node, which may be others
// from one moment to the next.
func (t *TableRates) Of(policy uint64, rows func() float64) Throttle {
	t.mu.Lock()
	defer t.mu.Unlock()
	r, known := t.all[policy]
	if !known {
		r = NewRates(t.waited)
		t.all[policy] = r
	}

	c := &clocked{r, rows}
	c.adopt()
	return c
}

// clocked is rates that follow the clock.
type clocked struct {
	*Rates
	rows func() float64
}

func (c *clocked) adopt() { c.Set(0, Limit{ddl.OptionDeleteRate, c.rows()}, 0) }

// MaySend waits at the speed of the moment.
func (c *clocked) MaySend(ctx context.Context) error {
	c.adopt()
	return c.Rates.MaySend(ctx)
}

// MayDelete waits at the speed of the moment.
func (c *clocked) MayDelete(ctx context.Context, rows int64) error {
	c.adopt()
	return c.Rates.MayDelete(ctx, rows)
}

// Rows are those of the speed of the moment.
func (c *clocked) Rows() (scanned, deleted int) {
	c.adopt()
	return c.Rates.Rows()
}
