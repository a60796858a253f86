package wire

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/ttlproxy/ttlproxy/proxy"
)

// through runs a proxy in front of a server and returns its address.
func through(t *testing.T, server string, change ...func(*proxy.Config)) string {
	t.Helper()
	c := proxy.Config{Listen: []string{"127.0.0.1:0"}, DrainTimeout: time.Second}
	for _, f := range change {
		f(&c)
	}

	ctx, cancel := context.WithCancel(context.Background())
	log := slog.New(slog.DiscardHandler)
	b, err := proxy.NewBackends(proxy.BackendsConfig{Addresses: []string{server}}, log)
	if err != nil {
		cancel()
		t.Fatal(err)
	}

	p, err := proxy.New(ctx, c, b, log, proxy.NewMetrics(nil))
	if err != nil {
		cancel()
		t.Fatal(err)
	}

	ended := make(chan struct{})
	go func() {
		defer close(ended)
		p.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	return p.Addr().String()
}
