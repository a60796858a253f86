package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"golang.org/x/sync/errgroup"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/panics"
	"github.com/ttlproxy/ttlproxy/proxy"
	"github.com/ttlproxy/ttlproxy/proxy/statement"
	"github.com/ttlproxy/ttlproxy/status"
	"github.com/ttlproxy/ttlproxy/ttl"
	"github.com/ttlproxy/ttlproxy/ttl/signal"
)

// serve is `ttlproxy serve`.
func serve(ctx context.Context, w world, o *options, _ []string) error {
	o.level.Set(levelOf(o.LogLevel))
	log := newLogger(w.stderr, o.LogFormat, o.level)
	sockets, err := inheritedSockets(w.getenv)
	if err != nil {
		return err
	}

	o.Proxy.Sockets, o.supervisor, o.reloads = sockets, newSupervisor(w.getenv, log), true
	return runServices(ctx, o, log, nil)
}

// runServices waits for the server, then runs the proxy and the engine until ctx ends or one of
// them fails. It calls ready, if given, with the addresses that it listens on.
func runServices(ctx context.Context, o *options, log *slog.Logger, ready func(at listening)) error {
	backends, err := o.backends(log)
	if err != nil {
		return err
	}
	if err := o.Proxy.Validate(); err != nil {
		return usagef("%v", err)
	}

	db, err := o.open(backends)
	if err != nil {
		return err
	}
	defer db.Close()

	log.InfoContext(ctx, "ttlproxy starts", slog.String("version", version()), slog.Int("pid", os.Getpid()))
	defer context.AfterFunc(ctx, func() {
		o.supervisor.tell(ctx, stateStopping)
		log.InfoContext(ctx, "stopping: sessions may finish what they are doing; a second signal ends everything "+
			"at once")
	})()

	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), backends)

	page, err := newPage(ctx, o, backends, registry, log)
	if err != nil {
		return err
	}

	stopPage := page.serve(ctx)
	r := &running{options: o, log: log, backends: backends, db: db, registry: registry, page: page}
	if err := errors.Join(r.run(ctx, ready), stopPage()); err != nil {
		return err
	}

	log.InfoContext(ctx, "stopped")
	return nil
}

// listening is where clients and people can connect to, with the ports that the system has chosen.
type listening struct{ clients, page string }

// running is what the parts of the running program share.
type running struct {
	*options
	log      *slog.Logger
	backends *proxy.Backends
	db       *sql.DB
	registry *prometheus.Registry
	page     *page
}

// run runs the proxy, and everything else as soon as the catalog is open, until ctx ends or a part
// fails. Traffic does not wait for the catalog: until it is open, only statements about TTL fail,
// with the reason.
func (r *running) run(ctx context.Context, ready func(at listening)) error {
	door := newDoor()
	r.Proxy.Handler = statement.New(statement.Config{
		Catalog: door.catalog, DB: r.db, Backends: seenBy(r.backends),
	}, r.log)
	server, err := proxy.New(ctx, r.Proxy, r.backends, r.log, proxy.NewMetrics(r.registry))
	if err != nil {
		return err
	}

	r.registry.MustRegister(server)
	r.supervisor.tell(ctx, stateReady)
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return r.supervisor.run(ctx) })
	g.Go(func() error { return r.backends.Run(ctx) })
	g.Go(func() error { return server.Run(ctx) })
	if r.reloads {
		reloads := &reloader{
			options: r.options, server: server, page: r.page, metrics: newReloadMetrics(r.registry), log: r.log,
		}
		g.Go(func() error { return reloads.run(ctx) })
	}
	r.page.proxy.Store(server)
	g.Go(func() error {
		store, err := door.open(ctx, r.db, r.options, r.log, catalog.NewMetrics(r.registry))
		if err != nil || store == nil {
			return err
		}

		r.page.open(store, r.db)
		if ready != nil {
			ready(listening{clients: server.Addr().String(), page: r.page.address()})
		}
		if !r.Engine {
			return store.Attend(ctx, thisNode(server.Addr().String()), r.page.suffered, r.log)
		}

		return r.delete(ctx, store, server.Addr().String())
	})

	return g.Wait()
}

// delete runs the engine on the server that the catalog belongs to. A bug there ends no connection of a client: when
// the engine has panicked, a new one begins in its place, after a rest.
func (r *running) delete(ctx context.Context, store *catalog.Store, address string) error {
	witness, err := catalog.NewWitness(store, r.StateDir, r.log)
	if err != nil {
		return err
	}
	if !witness.Await(ctx) {
		return nil
	}

	mounts, _ := os.ReadFile("/proc/self/mountinfo") // nowhere but on Linux
	if f := examineStopFile(r.StopFile, string(mounts)); f != nil {
		r.log.WarnContext(ctx, "the stop file may go unseen", slog.String("why", f.Text), slog.String("do", f.Advice))
	}

	panicked := newPanicMetric(r.registry)
	tell := func(e *panics.Error, rest time.Duration) {
		panicked.Inc()
		e.Log(r.log, "in the engine: it begins anew", slog.Duration("in", rest))
	}
	return panics.Keep(ctx, tell, func(ctx context.Context) error { return r.runEngine(ctx, store, witness, address) })
}

// runEngine runs an engine with what looks after it, and records what it does for the charts.
func (r *running) runEngine(
	ctx context.Context, store *catalog.Store, witness *catalog.Witness, address string,
) error {
	own := prometheus.NewRegistry() // without what has to be asked of the catalog
	metrics := ttl.NewMetrics(own)
	r.registry.MustRegister(own)
	defer r.registry.Unregister(own)

	engine, err := ttl.New(ttl.Config{
		Backend: r.login(r.backends), Node: thisNode(address), StopFile: r.StopFile, Admit: witness.Admit,
		Checks:  signal.Checks{URL: r.ThrottleURL, Query: r.ThrottleQuery},
		Replica: r.replicaLogin(r.backends), Suffered: r.page.suffered,
	}, store, r.log, metrics)
	if err != nil {
		return err
	}

	g, ctx := panics.WithContext(ctx)
	g.Go(func() error { return witness.Run(ctx) })
	g.Go(func() error { return engine.Run(ctx) })
	g.Go(func() error { return r.introduceMembers(ctx, store) })
	g.Go(func() error { return status.NewRecorder(store, own, engine.Node, r.log).Run(ctx) })

	return g.Wait()
}

// newPanicMetric counts what no engine lives to tell.
func newPanicMetric(registry prometheus.Registerer) prometheus.Counter {
	m := prometheus.NewCounter(prometheus.CounterOpts{
		Name: "ttlproxy_engine_panics_total",
		Help: "Times that this node's engine ended because of a bug in it, and began anew.",
	})
	registry.MustRegister(m)
	return m
}

// thisNode is how this process is listed in SHOW TTL NODES.
func thisNode(address string) catalog.Node {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return catalog.Node{Name: fmt.Sprintf("%s:%d", host, os.Getpid()), Address: address, Version: version()}
}
