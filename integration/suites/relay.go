package main

import (
	"context"
	"io"
	"net"
	"sync"
)

// relay copies bytes between its clients and a server, and does nothing else.
type relay struct {
	server   string
	listener net.Listener
}

func newRelay(ctx context.Context, server string) (*relay, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	return &relay{server: server, listener: l}, err
}

func (r *relay) address() string { return r.listener.Addr().String() }

// run serves until ctx ends.
func (r *relay) run(ctx context.Context) {
	context.AfterFunc(ctx, func() { r.listener.Close() })
	var sessions sync.WaitGroup
	defer sessions.Wait()
	for {
		c, err := r.listener.Accept()
		if err != nil {
			return
		}
		sessions.Go(func() { r.session(ctx, c) })
	}
}

func (r *relay) session(ctx context.Context, c net.Conn) {
	defer c.Close()

	var d net.Dialer
	s, err := d.DialContext(ctx, "tcp", r.server)
	if err != nil {
		return
	}
	defer s.Close()

	stop := context.AfterFunc(ctx, func() { c.Close(); s.Close() })
	defer stop()

	done := make(chan struct{}, 2)
	for _, pair := range [][2]net.Conn{{s, c}, {c, s}} {
		go func() {
			_, _ = io.Copy(pair[0], pair[1]) // either side may break off
			done <- struct{}{}
		}()
	}

	<-done
	c.Close()
	s.Close()
	<-done
}
