package proxy

import (
	"context"
	"errors"
	"net"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/proxy/wire/wiretest"
)

// dialing puts a function in the place of the dialer's, which it is given.
func (e *edge) dialing(f func(ctx context.Context, dial dialFunc, network, address string) (net.Conn, error)) {
	d := net.Dialer{}
	e.backends.dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		return f(ctx, d.DialContext, network, address)
	}
}

// What goes wrong on this machine is told to the client and changes nothing: the next server would
// be the wrong one.
func TestLocalTroubleDeclaresNoServerDead(t *testing.T) {
	t.Parallel()
	trouble := make(chan error)
	b, err := NewBackends(BackendsConfig{Addresses: []string{"one:3306", "two:3306"}}, testLog())
	if err != nil {
		t.Fatal(err)
	}

	b.dial = func(_ context.Context, network, _ string) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Net: network, Err: os.NewSyscallError("connect", <-trouble)}
	}
	errnos := append(slices.Clone(localErrors), syscall.EMFILE)
	for i := range 1000 {
		want := errnos[i%len(errnos)]
		go func() { trouble <- want }()
		if _, err := b.toGreet(t.Context(), nil, nil); !errors.Is(err, want) {
			t.Fatalf("got %v, want %v", err, want)
		}
	}

	for i, h := range b.Health() {
		if h.State != Unknown || h.Current != (i == 0) {
			t.Errorf("health is %+v", h)
		}
	}
}

// A name server that does not answer says nothing about the server.
func TestNameServersAreNotServers(t *testing.T) {
	t.Parallel()
	if !local(&net.DNSError{IsTimeout: true}) || !local(&net.DNSError{IsTemporary: true}) ||
		local(&net.DNSError{IsNotFound: true}) || local(syscall.ECONNREFUSED) || local(syscall.EHOSTUNREACH) {
		t.Error("errors are blamed on the wrong side")
	}
}

// A process that was given no time to look has seen nothing.
func TestLateLookIsNotSound(t *testing.T) {
	t.Parallel()
	b, err := NewBackends(BackendsConfig{Addresses: []string{"one:3306"}, CheckTimeout: time.Millisecond}, testLog())
	if err != nil {
		t.Fatal(err)
	}

	b.dial = func(ctx context.Context, _, _ string) (net.Conn, error) {
		<-ctx.Done()
		rest(context.Background(), 20*time.Millisecond)
		return nil, ctx.Err()
	}
	for range 3 {
		b.check(t.Context(), b.list[0])
	}
	if h := b.Health()[0]; h.State != Unknown {
		t.Errorf("health is %+v", h)
	}
}

// A black hole takes everything and answers nothing. New sessions are on the next server soon, also
// those that were waiting already.
func TestSessionsLeaveABlackHole(t *testing.T) {
	t.Parallel()
	const sessions, bar = 100, 15 * time.Second // nobody else looks for an hour
	first, next := silentServer(t), silentServer(t)
	p := newEdge(t, BackendsConfig{
		Addresses: []string{first, next}, CheckTimeout: 200 * time.Millisecond, CheckInterval: time.Hour,
		DialTimeout: time.Hour,
	}, Config{LoginTimeout: time.Minute})
	var hole atomic.Bool
	p.dialing(func(ctx context.Context, dial dialFunc, network, address string) (net.Conn, error) {
		if address == first && hole.Load() {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return dial(ctx, network, address)
	})

	p.start()
	play(t, p.address, wiretest.LogIn(wiretest.Capabilities))
	hole.Store(true)
	var all sync.WaitGroup
	for range sessions {
		all.Go(func() {
			began := time.Now()
			play(t, p.address, wiretest.LogIn(wiretest.Capabilities))
			if took := time.Since(began); took > bar {
				t.Errorf("a session had to wait for %v", took)
			}
		})
	}
	all.Wait()
	if h := p.backends.Health(); h[0].State != Down || !h[1].Current {
		t.Errorf("health is %+v", h)
	}
}

// A look for which this machine had no time says nothing: a session that waits has another one made.
func TestSessionOutlivesALateLook(t *testing.T) {
	t.Parallel()
	const timeout, bar = 200 * time.Millisecond, 15 * time.Second // nobody else looks for an hour
	first, next := silentServer(t), silentServer(t)
	p := newEdge(t, BackendsConfig{
		Addresses: []string{first, next}, CheckTimeout: timeout, CheckInterval: time.Hour, DialTimeout: time.Hour,
	}, Config{LoginTimeout: time.Minute})
	var hole atomic.Bool
	var dials atomic.Int64
	p.dialing(func(ctx context.Context, dial dialFunc, network, address string) (net.Conn, error) {
		if address != first || !hole.Load() {
			return dial(ctx, network, address)
		}

		n := dials.Add(1)
		<-ctx.Done()
		if n == 2 { // the session's own was the first
			<-time.After(timeout)
		}
		return nil, ctx.Err()
	})

	p.start()
	play(t, p.address, wiretest.LogIn(wiretest.Capabilities))
	hole.Store(true)
	began := time.Now()
	play(t, p.address, wiretest.LogIn(wiretest.Capabilities))
	if took := time.Since(began); took > bar {
		t.Errorf("the session had to wait for %v", took)
	}
}

// While one server lets a look wait, the others are looked at all the same.
func TestSilentServerDelaysNoOtherLook(t *testing.T) {
	t.Parallel()
	silent, well := "192.0.2.1:3306", wiretest.Serve(t, seesNobody())
	p := newEdge(t, BackendsConfig{
		Addresses: []string{silent, well}, CheckTimeout: time.Hour, CheckInterval: 10 * time.Millisecond,
	}, Config{})
	waits := make(chan struct{})
	once := sync.OnceFunc(func() { close(waits) })
	p.dialing(func(ctx context.Context, dial dialFunc, network, address string) (net.Conn, error) {
		if address == silent {
			once()
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return dial(ctx, network, address)
	})

	for _, k := range p.backends.list {
		p.backends.set(k, Health{State: Down, Reason: "a test"})
	}
	p.start()
	<-waits
	for range 3 {
		p.backends.set(p.backends.list[1], Health{State: Down, Reason: "a test"})
		await(t, func() bool { return p.backends.Health()[1].State == Unknown })
	}
}

// A session that a well server fails is told so, and not sent to another, which may be a replica.
func TestWellServerIsNotGoneRound(t *testing.T) {
	t.Parallel()
	first := wiretest.Serve(t, wiretest.Script{wiretest.Close()},
		seesNobody())
	p := startEdge(t, BackendsConfig{Addresses: []string{first, wellAddress(t)}, CheckInterval: time.Hour}, Config{})
	play(t, p.address, wiretest.Receive(expectError(ddl.CodeCannotConnect)), wiretest.ExpectClose())
	if h := p.backends.Health()[0]; h.State == Down || !h.Current {
		t.Errorf("health is %+v", h)
	}
}
