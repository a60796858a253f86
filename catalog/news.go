package catalog

import (
	"sync"
	"sync/atomic"
)

// news tells the engine of this process what the process itself has recorded: a run that somebody
// asked for, an approval, a setting. So nobody who got an OK waits for the engine's next look at
// the catalog. What other processes record is seen by that look.
type news struct {
	all, runs atomic.Uint64 // events, and those of them that ask for runs, whether they were committed or not

	mu        sync.Mutex
	listeners map[Listener]bool
}

// Listener gets signals. One may stand for many changes: while a channel is full nothing is sent.
type Listener struct {
	All  chan<- struct{} // after each change that this process has recorded
	Runs chan<- struct{} // and after each by which somebody asks for a run, and may wait for it
}

// Listen sends signals to c until stop is called.
func (s *Store) Listen(c Listener) (stop func()) {
	n := &s.news
	n.mu.Lock()
	defer n.mu.Unlock()

	if n.listeners == nil {
		n.listeners = map[Listener]bool{}
	}

	n.listeners[c] = true

	return func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		delete(n.listeners, c)
	}
}

// events are how many have been recorded.
type events struct{ all, runs uint64 }

func (n *news) recorded() events { return events{n.all.Load(), n.runs.Load()} }

// record notes an event.
func (n *news) record(kind EventKind) {
	n.all.Add(1)
	if kind == EventRun {
		n.runs.Add(1)
	}
}

// since tells the listeners if anything was recorded since there were that many events. Whoever
// recorded one calls it when everybody can see it.
func (n *news) since(before events) {
	now := n.recorded()
	if now.all == before.all {
		return
	}

	n.mu.Lock()
	defer n.mu.Unlock()
	for c := range n.listeners {
		signal(c.All)
		if now.runs != before.runs {
			signal(c.Runs)
		}
	}
}

func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
