package main

import (
	"context"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"golang.org/x/sync/errgroup"

	"github.com/ttlproxy/ttlproxy/proxy"
)

// serve is `ttlproxy serve`.
func serve(ctx context.Context, w world, o *options, _ []string) error {
	return runServices(ctx, o, newLogger(w.stderr, o.LogFormat, o.LogLevel), nil)
}

// runServices runs the proxy, the engine and the status page until ctx ends or one of them fails. It calls ready once
// clients can connect.
func runServices(ctx context.Context, o *options, log *slog.Logger, ready func(*proxy.Server)) error {
	backends, err := o.backends(log)
	if err != nil {
		return err
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	db, err := o.open(backends)
	if err != nil {
		return err
	}
	defer db.Close()
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return backends.Run(ctx) })
	g.Go(func() error {
		store, err := awaitCatalog(ctx, db, o, log)
		if err != nil || store == nil {
			return err
		}
		server, err := proxy.New(ctx, o.Proxy, backends, log, proxy.NewMetrics(registry))
		if err != nil {
			return err
		}
		if ready != nil {
			ready(server)
		}
		return server.Run(ctx)
	})
	return g.Wait()
}
