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
	"time"

	"github.com/ttlproxy/ttlproxy/proxy/wire"
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
	// CheckInterval is how often backends are checked if there are several; 0 means 2 seconds.
	CheckInterval time.Duration
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
	log *slog.Logger

	mu      sync.Mutex
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
	owned    map[net.Conn]struct{} // connections that follow the writer
}

// NewBackends reads the addresses and the files.
func NewBackends(c BackendsConfig, log *slog.Logger) (*Backends, error) {
	b := &Backends{log: log}
	return b, b.Reload(c)
}

// Reload adopts another configuration. What is known about a backend that is still in the list is
// kept.
func (b *Backends) Reload(c BackendsConfig) error {
	c.DialTimeout = cmp.Or(c.DialTimeout, 10*time.Second)
	c.CheckInterval = cmp.Or(c.CheckInterval, 2*time.Second)
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

// link is a connection to a backend.
type link struct {
	conn     net.Conn
	backend  *backend
	address  address
	tls      *tls.Config // for this backend
	mode     TLSMode
	greeting []byte // the payload of the first packet, if it was read
	seq      byte
}

// dial connects to the best backend that answers, on behalf of a client that came to listener, and
// reads its greeting: one that accepts connections and says nothing is as dead as one that does
// not.
func (b *Backends) dial(ctx context.Context, client, listener net.Addr) (link, error) {
	return b.first(ctx, func(ctx context.Context, l *link) (err error) {
		if l.conn, err = connect(ctx, l.address, client, listener); err != nil {
			return err
		}
		if l.greeting, l.seq, err = readGreeting(ctx, l.conn, l.address); err != nil {
			l.conn.Close()
		}
		return err
	})
}

// first tries the backends in order until one can be reached. Those that cannot are remembered.
func (b *Backends) first(ctx context.Context, reach func(context.Context, *link) error) (link, error) {
	b.mu.Lock()
	list, config, t := b.order(), b.config, b.tls
	b.mu.Unlock()
	var errs []error

	for _, k := range list {
		l := link{backend: k, address: k.address, mode: config.TLS.Mode, tls: forHost(t, k.address)}
		limited, cancel := context.WithTimeout(ctx, config.DialTimeout)
		err := reach(limited, &l)
		cancel()

		if err == nil {
			b.answered(k)
			return l, nil
		}
		if ctx.Err() != nil {
			return link{}, ctx.Err()
		}

		b.set(k, Health{State: Down, Reason: err.Error()})
		errs = append(errs, err)
	}

	return link{}, unreachable(list, errs)
}

// unreachable is what a client is told if no backend answers.
func unreachable(list []*backend, errs []error) error {
	if len(list) == 1 {
		return fmt.Errorf("cannot connect to MySQL server on '%s': %w", list[0], errs[0])
	}
	return fmt.Errorf("cannot connect to MySQL server, none of %d answers: %w", len(list), errors.Join(errs...))
}

// connect reaches one backend and sends the PROXY header, if it wants one: the server greets only
// after that.
func connect(ctx context.Context, a address, client, listener net.Addr) (net.Conn, error) {
	d := net.Dialer{KeepAliveConfig: keepAlive}
	c, err := d.DialContext(ctx, a.network, a.address)
	if err != nil {
		return nil, err
	}

	if a.header == 0 {
		return c, nil
	}
	if _, err := c.Write(a.header.header(client, listener)); err != nil {
		c.Close()
		return nil, fmt.Errorf("send the PROXY header to %s: %w", a, err)
	}

	return c, nil
}

// readGreeting reads the first packet, which may also be an error. Nothing has been negotiated yet,
// so anything else does not come from a server.
func readGreeting(ctx context.Context, c net.Conn, a address) (payload []byte, seq byte, err error) {
	stop := context.AfterFunc(ctx, func() { c.SetDeadline(past) }) //nolint:errcheck // the read fails then
	payload, seq, err = wire.ReadPacket(c, nil, loginLimit)
	if !stop() {
		err = errors.Join(err, ctx.Err())
	}
	if err == nil && (len(payload) == 0 || payload[0] != wire.AuthError && payload[0] != greetingVersion) {
		err = wire.ErrProtocol
	}
	if err != nil {
		return nil, 0, fmt.Errorf("greeting of %s: %w", a, err)
	}
	return payload, seq, nil
}

// greetingVersion is the first byte of a greeting.
const greetingVersion = 10
