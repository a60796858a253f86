package proxy

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"sync"
	"time"
)

// BackendsConfig says where the servers are and how to reach them.
type BackendsConfig struct {
	// Addresses are the servers, in order of preference: HOST:PORT or unix:PATH, followed by
	// ?proxy-protocol=v1 or v2 for one that is to be told the clients' addresses.
	Addresses []string
	// TLS is for the leg to the backends.
	TLS BackendTLS
	// DialTimeout bounds the time to reach a backend and to hear its greeting; 0 means 10 seconds.
	DialTimeout time.Duration
	// CheckInterval is how often each backend is checked; 0 means 2 seconds.
	CheckInterval time.Duration
	// CheckTimeout bounds one check; 0 means 1 second. A session that has waited half as long for a
	// backend has it checked.
	CheckTimeout time.Duration
	// CheckUser and CheckPassword are an account that asks each backend whether it is writable.
	// Without it a backend is healthy if it greets, and counts as writable.
	CheckUser     string
	CheckPassword func() (string, error) // asked at each login; nil: none
}

// Backends knows the servers, which of them are healthy, and which one takes new sessions: the
// first one that is healthy and writable, else the first healthy one, else whichever answers.
//
// Sessions stay where they are: a connection to a server cannot be moved to another. Connections of
// our own, which Configure made, follow the writer: they are cut when it changes, and their pool
// makes new ones.
type Backends struct {
	log  *slog.Logger
	dial dialFunc

	mu      sync.Mutex
	changed chan struct{} // closed when the list is another
	config  BackendsConfig
	tls     *tls.Config
	list    []*backend
	current *backend // the one that was chosen last
}

// backend is one server. All but its address is guarded by the lock of Backends.
type backend struct {
	address
	health   Health
	failures int                   // successive checks that found it down
	examined chan struct{}         // closed when sessions know what became of a suspicion
	owned    map[net.Conn]struct{} // connections that follow the writer
}

// NewBackends reads the addresses and the files.
func NewBackends(c BackendsConfig, log *slog.Logger) (*Backends, error) {
	d := net.Dialer{KeepAliveConfig: keepAlive}
	b := &Backends{log: log, dial: d.DialContext, changed: make(chan struct{})}
	return b, b.Reload(c)
}

// Reload adopts another configuration. What is known about a backend that is still in the list is
// kept.
func (b *Backends) Reload(c BackendsConfig) error {
	c.DialTimeout = cmp.Or(c.DialTimeout, 10*time.Second)
	c.CheckInterval = cmp.Or(c.CheckInterval, 2*time.Second)
	c.CheckTimeout = cmp.Or(c.CheckTimeout, time.Second)
	if len(c.Addresses) == 0 {
		return errors.New("no backend: name one, HOST:PORT or unix:PATH")
	}
	if err := c.TLS.validate(); err != nil {
		return err
	}

	config, err := c.TLS.load()
	if err != nil {
		return err
	}

	var list []*backend
	b.mu.Lock()
	defer b.mu.Unlock()

	for _, s := range c.Addresses {
		a, err := parseBackend(s)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(list, func(o *backend) bool { return o.String() == a.String() }) {
			return fmt.Errorf("backend %s is listed twice", a)
		}

		list = append(list, b.keep(a))
	}

	b.config, b.tls, b.list = c, config, list
	close(b.changed)
	b.changed = make(chan struct{})
	b.followWriter()
	return nil
}

// keep finds what is known about a backend, or begins with nothing. Sessions read an address
// without the lock, so it never changes: one that is to be reached in another way is another
// backend, in the same state.
func (b *Backends) keep(a address) *backend {
	k := &backend{address: a, owned: make(map[net.Conn]struct{})}
	for _, old := range b.list {
		if old.address == a {
			return old
		}
		if old.String() == a.String() {
			k.health = old.health
		}
	}
	return k
}

// order is the list in the order in which sessions should try it: writable ones first, then healthy
// ones, then the rest. What is not known yet counts as good.
func (b *Backends) order() []*backend {
	list := slices.Clone(b.list)
	slices.SortStableFunc(list,
		func(x, y *backend) int { return cmp.Compare(x.health.State.rank(), y.health.State.rank()) })
	return list
}

// followWriter notices when another backend takes the new sessions. It is called with the lock held.
func (b *Backends) followWriter() {
	chosen := b.order()[0]
	if b.current == chosen {
		return
	}
	if old := b.current; old != nil {
		b.log.Warn("new sessions go to another backend", slog.String("from", old.String()),
			slog.String("to", chosen.String()), slog.String("reason", old.health.Reason))
		for c := range old.owned {
			c.Close() // its pool makes another one, to the new writer
		}
	}
	b.current = chosen
}

// set records what was found out about a backend.
func (b *Backends) set(k *backend, h Health) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if k.health.State != h.State {
		b.log.Info("backend", slog.String("backend", k.String()), slog.String("state", h.State.String()),
			slog.String("reason", h.Reason))
	}
	k.health = h
	b.followWriter()
}

// answered records that a backend could be reached.
func (b *Backends) answered(k *backend) {
	b.mu.Lock()
	down := k.health.State == Down
	b.mu.Unlock()
	if down {
		b.set(k, Health{State: Unknown})
	}
}

// ready reports an error if no known backend could take a session.
func (b *Backends) ready() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if h := b.order()[0].health; h.State == Down {
		return fmt.Errorf("no backend answers: %s", h.Reason)
	}
	return nil
}

// files are the certificates of the leg to the backends.
func (b *Backends) files() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.config.TLS.files()
}

// reloadFiles reads the certificates again.
func (b *Backends) reloadFiles() error {
	b.mu.Lock()
	c := b.config
	b.mu.Unlock()
	return b.Reload(c)
}

// Health is what is known about each backend, by its address, in order of preference.
func (b *Backends) Health() []Health {
	b.mu.Lock()
	defer b.mu.Unlock()
	list := make([]Health, len(b.list))
	for i, k := range b.list {
		list[i] = k.health
		list[i].Address, list[i].Current = k.String(), k == b.current
	}
	return list
}
