package proxy

import (
	"context"
	"net"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/proxy/wire"
	"github.com/ttlproxy/ttlproxy/proxy/wire/wiretest"
)

// pair are two backends of a configuration.
func pair(t *testing.T, c BackendsConfig) (b *Backends, one, two *backend) {
	t.Helper()
	c.Addresses = []string{"one:3306", "two:3306"}
	b, err := NewBackends(c, testLog())
	if err != nil {
		t.Fatal(err)
	}
	b.set(b.list[0], Health{State: Writable})
	b.set(b.list[1], Health{State: ReadOnly})
	return b, b.list[0], b.list[1]
}

// An old primary that comes back moves nobody.
func TestWriterStays(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, one, two := pair(t, BackendsConfig{})
		b.set(one, Health{State: Down, Reason: "a test"})
		b.set(two, Health{State: Writable})
		if b.current != two {
			t.Fatal("new sessions have stayed on a dead server")
		}

		b.set(one, Health{State: Writable})
		time.Sleep(time.Hour)
		b.set(one, Health{State: Writable})
		if b.current != two || b.order()[0] != two {
			t.Error("new sessions have gone back by themselves")
		}
	})
}

func TestFailBackAfter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, one, two := pair(t, BackendsConfig{FailBack: 10 * time.Minute})
		b.set(one, Health{State: Down, Reason: "a test"})
		b.set(two, Health{State: Writable})
		b.set(one, Health{State: Writable})
		time.Sleep(9 * time.Minute)
		b.set(one, Health{State: Down, Reason: "a test"})
		b.set(one, Health{State: Writable})
		time.Sleep(9 * time.Minute)
		b.set(one, Health{State: Writable})
		if b.current != two {
			t.Error("new sessions have gone back early")
		}

		time.Sleep(time.Minute)
		b.set(one, Health{State: Writable})
		if b.current != one {
			t.Error("new sessions have not gone back")
		}
	})
}

// Two nodes that come and go in turn move new sessions once a minute at most.
func TestFlappingNodes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const minutes = 30
		b, one, two := pair(t, BackendsConfig{})
		before, moves := b.current, 0
		for i := range minutes * 12 {
			up, down := one, two
			if i%2 == 0 {
				up, down = two, one
			}
			b.set(down, Health{State: Down, Reason: "a test"})
			b.set(up, Health{State: Writable})
			if b.current != before {
				before, moves = b.current, moves+1
			}
			time.Sleep(5 * time.Second)
		}
		if moves > minutes || moves < minutes/4 {
			t.Errorf("got %d moves in %d minutes", moves, minutes)
		}
	})
}

// What the first look at a list finds out is no move: the next one may follow at once.
func TestStartIsNoMove(t *testing.T) {
	t.Parallel()
	b, err := NewBackends(BackendsConfig{Addresses: []string{"one:3306", "two:3306"}}, testLog())
	if err != nil {
		t.Fatal(err)
	}
	one, two := b.list[0], b.list[1]
	b.set(one, Health{State: ReadOnly})
	b.set(two, Health{State: Writable})
	b.set(two, Health{State: Down, Reason: "a test"})
	b.set(one, Health{State: Writable})
	if b.current != one {
		t.Error("new sessions are on a dead server")
	}
}

// While the writer is down and may not move yet, the engine and the catalog have no connection:
// another server may take sessions then, but the engine works where the writer is.
func TestEngineWaitsForTheWriter(t *testing.T) {
	t.Parallel()
	b, one, two := pair(t, BackendsConfig{})
	b.set(two, Health{State: Writable})
	b.dial = func(_ context.Context, _, address string) (net.Conn, error) {
		if address == one.address.address {
			return nil, syscall.ECONNREFUSED
		}
		c, _ := net.Pipe()
		return c, nil
	}

	b.moved = time.Now()
	b.set(one, Health{State: Down, Reason: "a test"})
	if c, err := b.dialOwned(t.Context(), "tcp"); err == nil {
		t.Errorf("got a connection to %v", c.RemoteAddr())
	}

	b.moved = time.Time{}
	b.set(two, Health{State: Writable})
	if _, err := b.dialOwned(t.Context(), "tcp"); err != nil {
		t.Error(err)
	}
}

// When new sessions go elsewhere, idle ones end at once, and those in a transaction when it has ended.
func TestSessionsLeaveTheOldWriter(t *testing.T) {
	t.Parallel()
	quits := wiretest.Script{wiretest.Expect(0, []byte{byte(wire.Quit)}), wiretest.ExpectClose()}
	old := wiretest.ServeAll(t, wiretest.Script{
		wiretest.ServeLogin(wiretest.Capabilities), quits,
	}, wiretest.Script{
		wiretest.ServeLogin(wiretest.Capabilities), expectQuery("BEGIN"), wiretest.Send(1, begun),
		expectQuery("COMMIT"), wiretest.Send(1, okPacket(auto)), quits,
	})
	p := startEdge(t, BackendsConfig{Addresses: []string{old, wellAddress(t)}, CheckInterval: time.Hour},
		Config{DrainTimeout: time.Hour})
	idle, committing := loggedIn(t, p.address), loggedIn(t, p.address)
	begin(t, committing)

	p.backends.set(p.backends.list[0], Health{State: ReadOnly, Reason: "a test"})
	if err := wiretest.ExpectClose().Play(idle); err != nil {
		t.Errorf("idle: %v", err)
	}
	commit := wiretest.Script{query("COMMIT"), wiretest.Expect(1, okPacket(auto)), wiretest.ExpectClose()}
	if err := commit.Play(committing); err != nil {
		t.Errorf("in a transaction: %v", err)
	}
}

// Whoever stays in a transaction is let go when his time is up. Who comes later, to the same server, stays.
func TestSessionsLingerAtTheOldWriterForATime(t *testing.T) {
	t.Parallel()
	old := wiretest.ServeAll(t, wiretest.Script{
		wiretest.ServeLogin(wiretest.Capabilities), expectQuery("BEGIN"), wiretest.Send(1, begun),
		wiretest.ExpectClose(),
	}, wiretest.Script{
		wiretest.ServeLogin(wiretest.Capabilities), expectQuery("SELECT 1"), wiretest.Send(1, okPacket(auto)),
		wiretest.ExpectClose(),
	})
	p := startEdge(t, BackendsConfig{
		Addresses: []string{old, wellAddress(t)}, CheckInterval: time.Hour, damping: time.Millisecond,
		FailBack: time.Millisecond,
	}, Config{DrainTimeout: time.Second})
	lingering := loggedIn(t, p.address)
	begin(t, lingering)

	first := p.backends.list[0]
	p.backends.set(first, Health{State: ReadOnly, Reason: "a test"})
	await(t, func() bool { p.backends.set(first, Health{State: Writable}); return p.backends.Health()[0].Current })
	later := loggedIn(t, p.address)
	if err := wiretest.ExpectClose().Play(lingering); err != nil {
		t.Errorf("in a transaction for too long: %v", err)
	}
	again := wiretest.Script{query("SELECT 1"), wiretest.Expect(1, okPacket(auto))}
	if err := again.Play(later); err != nil {
		t.Errorf("after the other: %v", err)
	}
}

// begun is what a server answers to BEGIN.
var begun = okPacket(auto | wire.InTransaction)

func begin(t *testing.T, c net.Conn) {
	t.Helper()
	if err := (wiretest.Script{query("BEGIN"), wiretest.Expect(1, begun)}).Play(c); err != nil {
		t.Fatal(err)
	}
}

// A server that is taken off the list is empty soon; the others keep what they have.
func TestSessionsLeaveAServerThatIsTakenOff(t *testing.T) {
	t.Parallel()
	first, second := wellAddress(t), wiretest.Serve(t, wiretest.Script{
		wiretest.ServeLogin(wiretest.Capabilities), wiretest.Expect(0, []byte{byte(wire.Quit)}), wiretest.ExpectClose(),
	})
	c := BackendsConfig{Addresses: []string{second, first}, CheckInterval: time.Hour}
	p := startEdge(t, c, Config{})
	idle := loggedIn(t, p.address)
	c.Addresses = []string{first}
	if err := p.Reload(p.settings.Load().Config, c); err != nil {
		t.Fatal(err)
	}
	if err := wiretest.ExpectClose().Play(idle); err != nil {
		t.Error(err)
	}
	await(t, func() bool { return p.count() == 0 })
}

// A planned switch that is taken back within a minute leaves no new session on a server that
// refuses writes.
func TestReadOnlyWriterIsLeftAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, one, two := pair(t, BackendsConfig{})
		for range 2 {
			b.set(one, Health{State: ReadOnly})
			b.set(two, Health{State: Writable})
			if b.current != two {
				t.Error("new sessions have not left the first")
			}

			time.Sleep(time.Second)
			b.set(two, Health{State: ReadOnly})
			b.set(one, Health{State: Writable})
			if b.current != one {
				t.Error("new sessions have not left the second")
			}
		}
	})
}

// Nodes that fall out of step in turn move new sessions once a minute at most: they can be written
// to meanwhile.
func TestDesyncedNodes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, one, two := pair(t, BackendsConfig{})
		before, moves := b.current, 0
		for i := range 120 {
			in, out := one, two
			if i%2 == 0 {
				in, out = two, one
			}
			b.set(out, Health{State: Desynced})
			b.set(in, Health{State: Writable})
			if b.current != before {
				before, moves = b.current, moves+1
			}
			time.Sleep(time.Second)
		}
		if moves == 0 || moves > 2 {
			t.Errorf("got %d moves in 2 minutes", moves)
		}
	})
}

// While the writer is down and may not move yet, sessions go round it at once, and come back with
// it.
func TestSessionsGoRoundTheWriter(t *testing.T) {
	t.Parallel()
	b, one, two := pair(t, BackendsConfig{})
	b.set(two, Health{State: Writable})
	b.moved = time.Now()
	b.set(one, Health{State: Down, Reason: "a test"})
	if b.current != one || b.order()[0] != two {
		t.Fatal("new sessions wait for a dead server")
	}

	before := b.moves.Load()
	b.answered(two)
	b.set(one, Health{State: Writable})
	if two.left.Load() <= before || b.current != one {
		t.Error("sessions stay where they should not have been")
	}
}

// What its operator takes out of service gets no sessions and keeps none, and comes back as it was.
func TestDrainedBackend(t *testing.T) {
	t.Parallel()
	quits := wiretest.Script{
		wiretest.ServeLogin(wiretest.Capabilities), wiretest.Expect(0, []byte{byte(wire.Quit)}), wiretest.ExpectClose(),
	}
	first, second := wiretest.Serve(t, quits), wiretest.Serve(t, quits)
	c := BackendsConfig{Addresses: []string{first, second}, CheckInterval: time.Hour}
	p := startEdge(t, c, Config{})
	drain := func(addresses ...string) {
		t.Helper()
		c.Addresses = addresses
		if err := p.Reload(p.settings.Load().Config, c); err != nil {
			t.Fatal(err)
		}
	}

	idle := loggedIn(t, p.address)
	drain(first+"?drain=on", second)
	if err := wiretest.ExpectClose().Play(idle); err != nil {
		t.Error(err)
	}
	if h := p.backends.Health(); !h[0].Drained || h[0].Current || !h[1].Current {
		t.Errorf("health is %+v", h)
	}

	idle = loggedIn(t, p.address)
	drain(first+"?drain=on", second+"?drain=on")
	if err := wiretest.ExpectClose().Play(idle); err != nil {
		t.Error(err)
	}
	play(t, p.address, wiretest.Receive(expectError(ddl.CodeCannotConnect)), wiretest.ExpectClose())
	if err := p.Ready(); err == nil {
		t.Error("ready without a backend")
	}

	drain(first, second)
	if h := p.backends.Health(); h[0].Drained || h[1].Drained || p.Ready() != nil {
		t.Errorf("health is %+v", h)
	}
}

// A session whose statement is held back while its server is left ends with that statement, not at
// the deadline.
func TestHeldStatementEndsADrainedSession(t *testing.T) {
	t.Parallel()
	answer := make(chan struct{})
	old := wiretest.Serve(t, wiretest.Script{
		wiretest.ServeLogin(wiretest.Capabilities), expectQuery("ours"), wiretest.Do(func() { <-answer }),
		wiretest.Send(1, okPacket(auto)), wiretest.Expect(0, []byte{byte(wire.Quit)}), wiretest.ExpectClose(),
	})
	held := make(chan struct{})
	p := startEdgeWith(t, BackendsConfig{Addresses: []string{old, wellAddress(t)}, CheckInterval: time.Hour},
		Config{DrainTimeout: time.Hour}, handlerFunc(func(ctx context.Context, x *Exchange) error {
			close(held)
			return pass(ctx, x)
		}))
	c := loggedIn(t, p.address)
	if err := query("ours").Play(c); err != nil {
		t.Fatal(err)
	}

	<-held
	p.backends.set(p.backends.list[0], Health{State: ReadOnly, Reason: "a test"})
	await(t, func() bool { return len(p.backends.leave) == 0 })
	close(answer)
	if err := (wiretest.Script{wiretest.Expect(1, okPacket(auto)), wiretest.ExpectClose()}).Play(c); err != nil {
		t.Error(err)
	}
}
