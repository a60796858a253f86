package catalog

import (
	"sync"
	"sync/atomic"
)

// news tells the engine of this process what the process itself has recorded: a run that somebody
// asked for, an approval, a setting. So nobody who got an OK waits for the engine's next look at
// the catalog. What other processes record is seen by that look.
type news struct {
	recorded atomic.Uint64 // events, whether their transaction was committed or not

	mu        sync.Mutex
	listeners map[chan<- struct{}]bool
}

// Listen sends a signal to c after each change that this process has recorded, until stop is
// called. While c is full nothing is sent: one signal may stand for many changes.
func (s *Store) Listen(c chan<- struct{}) (stop func()) {
	n := &s.news
	n.mu.Lock()
	defer n.mu.Unlock()

	if n.listeners == nil {
		n.listeners = map[chan<- struct{}]bool{}
	}

	n.listeners[c] = true

	return func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		delete(n.listeners, c)
	}
}

// since tells the listeners if anything was recorded since there were that many events. Whoever
// recorded one calls it when everybody can see it.
func (n *news) since(before uint64) {
	if n.recorded.Load() == before {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for c := range n.listeners {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}
