package main

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/ttlproxy/ttlproxy/proxy"
)

// ways are the two ways to the server.
type ways struct {
	relay, proxy string // addresses
	stop         func() // ends both, and returns when they have ended
}

func openWays(ctx context.Context, server string) (*ways, error) {
	ctx, cancel := context.WithCancel(ctx)
	plain, err := newRelay(ctx, server)
	if err != nil {
		cancel()
		return nil, err
	}
	log := slog.New(slog.DiscardHandler)
	b, err := proxy.NewBackends(proxy.BackendsConfig{Addresses: []string{server}}, log)
	if err != nil {
		cancel()
		return nil, err
	}
	p, err := proxy.New(ctx, proxy.Config{Listen: []string{"127.0.0.1:0"}, DrainTimeout: time.Second}, b, log, proxy.NewMetrics(nil))
	if err != nil {
		cancel()
		return nil, err
	}
	var running sync.WaitGroup
	running.Go(func() { plain.run(ctx) })
	running.Go(func() { _ = p.Run(ctx) })
	return &ways{relay: plain.address(), proxy: p.Addr().String(), stop: func() {
		cancel()
		running.Wait()
	}}, nil
}
