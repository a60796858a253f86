package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"golang.org/x/sync/errgroup"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/proxy"
	"github.com/ttlproxy/ttlproxy/ttl"
)

// serve is `ttlproxy serve`.
func serve(ctx context.Context, w world, o *options, _ []string) error {
	o.level.Set(levelOf(o.LogLevel))
	return runServices(ctx, o, newLogger(w.stderr, o.LogFormat, o.level), nil)
}

// runServices waits for the server, then runs the proxy and the engine until ctx ends or one of them fails. It calls
// ready, if given, with the address that clients can connect to.
func runServices(ctx context.Context, o *options, log *slog.Logger, ready func(address string)) error {
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
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))

	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return backends.Run(ctx) })
	g.Go(func() error {
		store, err := awaitCatalog(ctx, db, o, log)
		if err != nil || store == nil {
			return err
		}
		o.Proxy.Statements = proxy.Statements{Store: store, DB: db}
		server, err := proxy.New(ctx, o.Proxy, backends, log, proxy.NewMetrics(registry))
		if err != nil {
			return err
		}
		g.Go(func() error { return server.Run(ctx) })
		g.Go(func() error { return watchConfig(ctx, o, backends, server, log) })
		if ready != nil {
			ready(server.Addr().String())
		}
		if !o.Engine {
			return nil
		}
		witness, err := catalog.NewWitness(store, o.StateDir, log)
		if err != nil {
			return err
		}
		if !witness.Await(ctx) {
			return nil
		}
		g.Go(func() error { return witness.Run(ctx) })
		engine, err := ttl.New(ttl.Config{
			Backend: o.login(backends), Node: thisNode(server.Addr().String()), StopFile: o.StopFile, Admit: witness.Admit,
		}, store, log, ttl.NewMetrics(registry))
		if err != nil {
			return err
		}
		return engine.Run(ctx)
	})
	return g.Wait()
}

// thisNode is how this process is listed in SHOW TTL NODES.
func thisNode(address string) catalog.Node {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return catalog.Node{Name: fmt.Sprintf("%s:%d", host, os.Getpid()), Address: address, Version: version()}
}
