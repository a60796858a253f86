package proxy

import (
	"cmp"
	"context"
	"io"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/ttlproxy/ttlproxy/proxy/wire/wiretest"
)

// edge is a proxy under test, with what its tests need to look into.
type edge struct {
	*Server
	address string
	logged  *lines
	start   func()
	stop    func()
}

// startEdge runs a proxy in front of backends.
func startEdge(t *testing.T, b BackendsConfig, c Config) *edge {
	t.Helper()
	return startEdgeWith(t, b, c, handlerFunc(pass))
}

// startEdgeWith does the same with any handler.
func startEdgeWith(t *testing.T, b BackendsConfig, c Config, h Handler) *edge {
	t.Helper()
	e := newEdgeWith(t, b, c, h)
	e.start()
	return e
}

// scriptedWord is for how long a proxy waits for scripted servers to close: most wait for the proxy.
const scriptedWord = 20 * time.Millisecond

// newEdge is a proxy that does not run yet.
func newEdge(t *testing.T, b BackendsConfig, c Config) *edge {
	t.Helper()
	return newEdgeWith(t, b, c, handlerFunc(pass))
}

func newEdgeWith(t *testing.T, b BackendsConfig, c Config, h Handler) *edge {
	t.Helper()
	if len(c.Listen) == 0 {
		c.Listen = []string{wiretest.OwnAddress()}
	}

	w, logged := wiretest.NewLog(t), &lines{}
	log := slog.New(slog.NewTextHandler(io.MultiWriter(w, logged), nil))
	backends, err := NewBackends(b, log)
	if err != nil {
		t.Fatal(err)
	}

	c.Handler = h
	c.lastWord = cmp.Or(c.lastWord, scriptedWord)
	s, err := New(t.Context(), c, backends, log, NewMetrics(nil))
	if err != nil {
		t.Fatal(err)
	}

	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{}, 2)
	e := &edge{Server: s, address: s.Addr().String(), logged: logged}
	e.start = func() {
		go func() { s.Run(ctx); ended <- struct{}{} }()
		go func() { backends.Run(ctx); ended <- struct{}{} }()
	}
	e.stop = sync.OnceFunc(func() {
		cancel()
		for range cap(ended) {
			select {
			case <-ended:
			case <-time.After(20 * time.Second):
				t.Error("the proxy did not end")
				return
			}
		}
	})

	t.Cleanup(func() {
		e.stop()
		w.End()
	})
	return e
}
