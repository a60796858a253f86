package pace

import (
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

// Of returns the throttle of a policy that allows rows per second on this node.
func (t *TableRates) Of(policy uint64, rows int64) *Rates {
	t.mu.Lock()
	defer t.mu.Unlock()
	r, known := t.all[policy]
	if !known {
		r = NewRates(t.waited)
		r.deleted.name = ddl.OptionDeleteRate
		t.all[policy] = r
	}
	r.Set(0, rows, 0)
	return r
}
