package main

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/report"
	"github.com/ttlproxy/ttlproxy/proxy"
	"github.com/ttlproxy/ttlproxy/status"
)

// page is the status listener, or nothing if no address is given.
type page struct {
	server   *status.Server
	registry *prometheus.Registry
	log      *slog.Logger
	proxy    atomic.Pointer[proxy.Server] // once it listens
}

// newPage binds the address before anything else starts, so that health can be asked from the first
// moment.
func newPage(
	ctx context.Context, o *options, backends *proxy.Backends, registry *prometheus.Registry, log *slog.Logger,
) (*page, error) {
	p := &page{registry: registry, log: log}
	if o.Status == "" {
		return p, nil
	}

	token, err := o.statusToken()
	if err != nil {
		return nil, err
	}

	server, err := status.New(ctx, status.Config{
		Listen: o.Status, Token: token, Version: version(), Backends: seenBy(backends),
		Sessions: p.sessions,
		Checks:   []status.Check{{Name: "proxy", Run: p.proxyReady}},
	}, registry, log)
	if err != nil {
		return nil, err
	}

	p.server = server
	return p, nil
}

// statusToken is the one that is configured now.
func (o *options) statusToken() (token string, err error) {
	if o.Status == "" {
		return "", nil
	}
	if token, err = newSecret("status-token-file", o.StatusTokenFile, o.StatusToken).read(); err != nil {
		return "", err
	}
	return token, status.CheckToken(token)
}

// adopt has the page ask for another token.
func (p *page) adopt(token string) {
	if p.server != nil {
		p.server.SetToken(token)
	}
}

// serve serves the page from now on, and returns what ends it. It outlives ctx: while the proxy
// drains, /readyz should say so.
func (p *page) serve(ctx context.Context) (stop func() error) {
	if p.server == nil {
		return func() error { return nil }
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var g errgroup.Group
	g.Go(func() error { return p.server.Run(ctx) })
	return func() error {
		cancel()
		return g.Wait()
	}
}

// address is where it is; empty if nowhere.
func (p *page) address() string {
	if p.server == nil {
		return ""
	}
	return p.server.Addr().String()
}

// open shows what the catalog says, on the page and in the metrics.
func (p *page) open(store *catalog.Store, db *sql.DB) {
	p.registry.MustRegister(status.NewCollector(store, p.log))
	if p.server != nil {
		p.server.Open(store, db)
	}
}

// seenBy reports the servers as the proxy sees them.
func seenBy(b *proxy.Backends) func() []report.Backend {
	return func() []report.Backend {
		all := []report.Backend{}
		for _, h := range b.Health() {
			all = append(all, report.Backend{
				Address: h.Address, State: h.State.String(), Reason: h.Reason, Current: h.Current, Drained: h.Drained,
			})
		}
		return all
	}
}

// suffered is what the proxy's clients have suffered.
func (p *page) suffered() catalog.Suffered {
	all := catalog.Suffered{Latencies: map[int64]uint64{}}
	if s := p.proxy.Load(); s != nil {
		for took, n := range s.Latencies() {
			all.Latencies[took.Microseconds()] = n
		}
		all.LockErrors = s.LockErrors()
	}
	return all
}

// sessions are those of the proxy, once it listens.
func (p *page) sessions() []report.Session {
	list := []report.Session{}
	if s := p.proxy.Load(); s != nil {
		for _, v := range s.Sessions() {
			list = append(list, report.Session(v))
		}
	}
	return list
}

// errNotListening is why a proxy that still waits for its catalog is not ready.
var errNotListening = errors.New("waiting for the server and the catalog")

// proxyReady asks the proxy whether clients should be sent to it.
func (p *page) proxyReady(context.Context) error {
	if server := p.proxy.Load(); server != nil {
		return server.Ready()
	}
	return errNotListening
}
