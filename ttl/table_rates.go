package ttl

import (
	"sync"
	"time"

	"github.com/ttlproxy/ttlproxy/ddl"
)

// tableRates holds the limit of each table that has one (TTL_DELETE_RATE), shared by this node's
// workers.
type tableRates struct {
	mu     sync.Mutex
	all    map[uint64]*rates
	waited func(signal string, d time.Duration)
}

func newTableRates(waited func(signal string, d time.Duration)) *tableRates {
	return &tableRates{all: map[uint64]*rates{}, waited: waited}
}

// of returns the throttle of a policy that allows rows per second on this node.
func (t *tableRates) of(policy uint64, rows int64) *rates {
	t.mu.Lock()
	defer t.mu.Unlock()
	r, known := t.all[policy]
	if !known {
		r = newRates(t.waited)
		r.deleted.name = ddl.OptionDeleteRate
		t.all[policy] = r
	}
	r.limit(0, rows, 0)
	return r
}
