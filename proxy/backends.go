package proxy

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// BackendsConfig says where the servers are and how to reach them.
type BackendsConfig struct {
	// Addresses are the servers, in order of preference: HOST:PORT or unix:PATH, followed by
	// ?proxy-protocol=v1 or v2 for one that is to be told the clients' addresses, and by ?drain=on
	// for one that is to have no sessions.
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
	CheckPassword Password // asked at each login; nil: none
	// FailBack is how long a backend that is preferred must have been as good as the one that takes
	// the new sessions before it takes them again; 0 means never by itself.
	FailBack time.Duration
	// Switch is what becomes of the sessions of a backend that new ones have left, or that is no
	// longer in the list; empty means SwitchDrain.
	Switch Switch

	// damping is how long after one move the next may come; tests shorten it.
	damping time.Duration
}

// Switch is what becomes of sessions that are not where new ones go any more.
type Switch string

// What can become of them.
const (
	SwitchDrain Switch = "drain" // they end: idle ones at once, others when they are idle, the rest after DrainTimeout
	SwitchKeep  Switch = "keep"  // they stay where they are
)

// Backends knows the servers, which of them are healthy, and which one takes new sessions: the
// first one that is healthy and writable, else the first healthy one, else whichever answers. It
// goes on taking them until another is better.
//
// Sessions stay where they are: a connection to a server cannot be moved to another. Connections of
// our own, which Configure made, follow the writer: they are cut when it changes, and their pool
// makes new ones.
type Backends struct {
	log   *slog.Logger
	dial  dialFunc
	moves atomic.Int64  // how often new sessions went to another backend
	leave chan struct{} // says that sessions have to follow

	mu      sync.Mutex
	changed chan struct{} // closed when the list is another
	config  BackendsConfig
	tls     *tls.Config
	list    []*backend
	current *backend  // the one that takes the new sessions
	moved   time.Time // when that was another last
}

// backend is one server. All but its address is guarded by the lock of Backends.
type backend struct {
	address
	health   Health
	drained  bool      // its operator has taken it out of service
	strayed  bool      // it got sessions while another one had the new ones
	proven   bool      // it was found writable, or a session has reached it
	since    time.Time // its rank is what it is
	tls      atomic.Pointer[tls.Config]
	dials    dials
	left     atomic.Int64          // the move by which new sessions went elsewhere, and its own have to
	failures int                   // successive checks that found it down
	examined chan struct{}         // closed when sessions know what became of a suspicion
	owned    map[net.Conn]struct{} // connections that follow the writer
	timeout  atomic.Int64          // its connect_timeout in nanoseconds, if it is known
	slips    atomic.Int64          // logins that it may have counted against our host
}

// patience is how long the server waits for a client that logs in, with something to spare.
func (k *backend) patience() time.Duration {
	const usual = 10 * time.Second
	return cmp.Or(time.Duration(k.timeout.Load()), usual) * 4 / 5
}

// slipsToCheck is how many logins may go wrong until the server is logged in to, which makes it
// forget them. It counts up to max_connect_errors, which is 100 unless somebody has changed it.
const slipsToCheck = 10

// slipped records that a server may have counted an error of our host.
func (b *Backends) slipped(ctx context.Context, k *backend) {
	n := k.slips.Add(1)
	b.mu.Lock()
	logsIn := b.config.CheckUser != ""
	b.mu.Unlock()
	if logsIn && n%slipsToCheck == 0 {
		b.look(ctx, k)
	}
}

// NewBackends reads the addresses and the files.
func NewBackends(c BackendsConfig, log *slog.Logger) (*Backends, error) {
	d := net.Dialer{KeepAliveConfig: keepAlive}
	loaded, err := c.load()
	if err != nil {
		return nil, err
	}
	b := &Backends{
		log: log, dial: d.DialContext, changed: make(chan struct{}),
		leave: make(chan struct{}, 1),
	}
	b.adopt(loaded)
	return b, nil
}

// loadedBackends are a configuration, the addresses in it and the contents of the files it names.
type loadedBackends struct {
	BackendsConfig

	tls  *tls.Config
	list []listedBackend
}

type listedBackend struct {
	address

	drained bool
}

// load checks the configuration and reads its files.
func (c BackendsConfig) load() (*loadedBackends, error) {
	c.DialTimeout = cmp.Or(c.DialTimeout, 10*time.Second)
	c.CheckInterval = cmp.Or(c.CheckInterval, 2*time.Second)
	c.CheckTimeout = cmp.Or(c.CheckTimeout, time.Second)
	c.damping = cmp.Or(c.damping, time.Minute)
	if len(c.Addresses) == 0 {
		return nil, errors.New("no backend: name one, HOST:PORT or unix:PATH")
	}
	if err := c.TLS.validate(); err != nil {
		return nil, err
	}

	config, err := c.TLS.load()
	if err != nil {
		return nil, err
	}

	l := &loadedBackends{BackendsConfig: c, tls: config}
	for _, s := range c.Addresses {
		a, drained, err := parseBackend(s)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(l.list, func(o listedBackend) bool { return o.String() == a.String() }) {
			return nil, fmt.Errorf("backend %s is listed twice", a)
		}
		l.list = append(l.list, listedBackend{a, drained})
	}
	return l, nil
}

// adopt puts another configuration in force. What is known about a backend that is still in the list
// is kept.
func (b *Backends) adopt(l *loadedBackends) {
	b.mu.Lock()
	defer b.mu.Unlock()

	list := make([]*backend, len(l.list))
	for i, of := range l.list {
		list[i] = b.keep(of.address)
		list[i].tls.Store(forBackend(l.tls, of.address))
	}

	if l.TLS != b.config.TLS { // what is of our own is encrypted as it is wanted now
		for _, k := range list {
			k.cutOwned()
		}
	}

	gone := b.list
	b.config, b.tls, b.list = l.BackendsConfig, l.tls, list
	for _, k := range gone {
		if !slices.ContainsFunc(list, func(o *backend) bool { return o.String() == k.String() }) {
			b.abandon(k)
		}
	}
	for i, k := range list {
		b.drain(k, l.list[i].drained)
	}
	close(b.changed)
	b.changed = make(chan struct{})
	b.followWriter()
}

// keep finds what is known about a backend, or begins with nothing. Sessions read an address
// without the lock, so it never changes: one that is to be reached in another way is another
// backend, in the same state.
func (b *Backends) keep(a address) *backend {
	k := &backend{address: a, since: time.Now(), owned: make(map[net.Conn]struct{})}
	for _, old := range b.list {
		if old.address == a {
			return old
		}
		if old.String() == a.String() {
			k.health, k.drained = old.health, old.drained
		}
	}
	return k
}

// drain takes a backend out of service, or back in. It is called with the lock held.
func (b *Backends) drain(k *backend, out bool) {
	if k.drained == out {
		return
	}

	b.log.Info("backend", slog.String("backend", k.String()), slog.Bool("drained", out))
	k.drained, k.since = out, time.Now()
	if out {
		k.cutOwned()
		b.abandon(k)
	}
}

// cutOwned cuts the connections that follow the writer: their pool makes others, to wherever it is.
// It is called with the lock held.
func (k *backend) cutOwned() {
	for c := range k.owned {
		c.Close()
	}
}

// rank orders backends for new sessions. It is called with the lock held.
func (k *backend) rank() int {
	if k.drained {
		return drainedRank
	}
	return k.health.State.rank()
}

// drainedRank is behind those of all states.
const drainedRank = 4

// declines reports whether the backend itself, or its operator, says that it is not for writing. It
// is called with the lock held.
func (k *backend) declines() bool { return k.drained || k.health.State == ReadOnly }

// set records what was found out about a backend.
func (b *Backends) set(k *backend, h Health) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if k.health.State != h.State {
		b.log.Info("backend", slog.String("backend", k.String()), slog.String("state", h.State.String()),
			slog.String("reason", h.Reason))
	}
	if k.health.State.rank() != h.State.rank() {
		k.since = time.Now()
	}
	k.health = h
	k.proven = k.proven || h.State == Writable
	b.followWriter()
}

// answered records that a backend could be reached.
func (b *Backends) answered(k *backend) {
	b.mu.Lock()
	down := k.health.State == Down
	k.proven = true
	k.strayed = k.strayed || k != b.current
	b.mu.Unlock()
	if down {
		b.set(k, Health{State: Unknown})
	}
}

// ready reports an error if no known backend could take a session.
func (b *Backends) ready() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch k := b.ranked()[0]; {
	case k.drained:
		return errAllDrained
	case k.health.State == Down:
		return fmt.Errorf("no backend answers: %s", k.health.Reason)
	default:
		return nil
	}
}

// files are the certificates of the leg to the backends.
func (b *Backends) files() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.config.TLS.files()
}

// reloadFiles reads the certificates again. It is called with the server's lock of reloading held.
func (b *Backends) reloadFiles() error {
	b.mu.Lock()
	c := b.config
	b.mu.Unlock()
	loaded, err := c.load()
	if err == nil {
		b.adopt(loaded)
	}
	return err
}

// Health is what is known about each backend, by its address, in order of preference.
func (b *Backends) Health() []Health {
	b.mu.Lock()
	defer b.mu.Unlock()
	list := make([]Health, len(b.list))
	for i, k := range b.list {
		list[i] = k.health
		list[i].Address, list[i].Current, list[i].Drained = k.String(), k == b.current && !k.drained, k.drained
	}
	return list
}
