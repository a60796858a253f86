package proxy

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ttlproxy/ttlproxy/proxy/wire"
	"github.com/ttlproxy/ttlproxy/proxy/wire/wiretest"
)

// loggedIn dials a proxy and logs in.
func loggedIn(t *testing.T, address string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := wiretest.LogIn(wiretest.Capabilities).Play(c); err != nil {
		t.Fatal(err)
	}
	return c
}

// Pitfall 10: the client may send byte by byte, and still what is ours is held back whole.
func TestEveryByteAlone(t *testing.T) {
	t.Parallel()
	var held atomic.Int32
	backend := wiretest.Serve(t, wiretest.Script{
		wiretest.ServeLogin(wiretest.Capabilities),
		expectQuery("SELECT 1"), wiretest.Send(1, okPacket(auto)),
		expectQuery("ours"), wiretest.Send(1, okPacket(auto)),
		wiretest.Expect(0, nil), wiretest.Send(1, errPacket(1047, "unknown command")),
		wiretest.ExpectClose(),
	})

	address, _ := proxyFor(t, backend, Config{}, func(ctx context.Context, x *Exchange) error {
		held.Add(1)
		return pass(ctx, x)
	})
	c := wiretest.Split(loggedIn(t, address), 1)
	err := wiretest.Script{
		query("SELECT 1"), wiretest.Expect(1, okPacket(auto)),
		query("ours"), wiretest.Expect(1, okPacket(auto)),
		wiretest.Send(0, nil), wiretest.Expect(1, errPacket(1047, "unknown command")), // pitfall 11: an empty command
	}.Play(c)
	if err != nil || held.Load() != 1 {
		t.Errorf("got %v and %d statements held, want nil and 1", err, held.Load())
	}
}

// Pitfall 4: the bytes of a file are nobody's statement, whatever number their packet carries.
func TestFileThatLooksLikeOurs(t *testing.T) {
	t.Parallel()
	client := wiretest.Script{query("LOAD DATA LOCAL"), wiretest.Expect(1, []byte("\xFBf"))}
	server := wiretest.Script{expectQuery("LOAD DATA LOCAL"), wiretest.Send(1, []byte("\xFBf"))}
	seq := byte(2)

	for range 600 {
		client = append(client, wiretest.Send(seq, command(wire.Query, "ours")))
		server = append(server, wiretest.Expect(seq, command(wire.Query, "ours")))
		seq++
	}

	client = append(client, wiretest.Send(seq, nil), wiretest.Expect(seq+1, okPacket(auto)))
	server = append(server, wiretest.Expect(seq, nil), wiretest.Send(seq+1, okPacket(auto)))
	relay(t, func(context.Context, *Exchange) error {
		t.Error("a packet of the file was held back")
		return nil
	}, 0, client, server)
}

// Pitfall 37: a file that is asked for with packet 255 begins with number 0, as a command does.
func TestFileThatBeginsLikeACommand(t *testing.T) {
	t.Parallel()
	for _, load := range []string{"LOAD DATA LOCAL", "ours"} { // relayed, and held back
		for _, size := range []int{0, 1, 30_000} {
			content := strings.Repeat("\x03ours", size)[:max(size, 0)]
			client := wiretest.Script{query(load), wiretest.Expect(255, []byte("\xFBf"))}
			server := wiretest.Script{expectQuery(load), wiretest.Send(255, []byte("\xFBf"))}
			end := byte(0)
			if size > 0 {
				client = append(client, wiretest.Send(0, []byte(content)), wiretest.Send(1, []byte(content)))
				server = append(server, wiretest.Expect(0, []byte(content)), wiretest.Expect(1, []byte(content)))
				end = 2
			}

			client = append(client, wiretest.Send(end, nil), wiretest.Expect(end+1, okPacket(auto)),
				query("ours 2"), wiretest.Expect(1, okPacket(auto)))
			server = append(server, wiretest.Expect(end, nil), wiretest.Send(end+1, okPacket(auto)),
				expectQuery("ours 2"), wiretest.Send(1, okPacket(auto)))
			var held []string
			relay(t, func(ctx context.Context, x *Exchange) error {
				held = append(held, string(x.Text()))
				return pass(ctx, x)
			}, 0, client, server)

			want := []string{"ours 2"}
			if load == "ours" {
				want = []string{load, "ours 2"}
			}
			if !slices.Equal(held, want) {
				t.Errorf("%s, %d bytes: got %q held back, want %q", load, size, held, want)
			}
		}
	}
}

// Nor may a command be taken for a file: what a client sends before it can know that the server wants
// one, the server has taken for the file, and what comes next is a command, COM_CHANGE_USER too.
func TestFileThatWasSentTooEarly(t *testing.T) {
	t.Parallel()
	arrives := wiretest.Receive(func([]byte, byte) error { return nil })
	asks := wiretest.Send(255, []byte("\xFBf"))
	closing := command(wire.CloseStatement, "\x01\x00\x00\x00")
	held := make(chan struct{})
	for name, c := range map[string]struct{ client, server wiretest.Script }{
		"a file":            {wiretest.Script{wiretest.Send(0, nil)}, wiretest.Script{arrives, asks}},
		"a command":         {wiretest.Script{wiretest.Send(0, command(wire.Ping, ""))}, wiretest.Script{arrives, asks}},
		"without an answer": {wiretest.Script{wiretest.Send(0, closing)}, wiretest.Script{arrives, asks}},
		"and a packet of a file": {
			wiretest.Script{wiretest.Send(0, closing), wiretest.Send(1, nil)},
			wiretest.Script{arrives, arrives, asks},
		},
		"one that is held back": {
			wiretest.Script{query("ours")}, wiretest.Script{wiretest.Do(func() { <-held }), asks, arrives},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asked := make(chan struct{})
			backend := wiretest.Serve(t, wiretest.Script{
				wiretest.ServeLogin(wiretest.Capabilities), tellsAccount(t, "user@%"), expectQuery("LOAD DATA LOCAL"),
				c.server, wiretest.Do(func() { <-asked }), wiretest.Send(1, okPacket(auto)),
				wiretest.ExpectClose(), // and no COM_CHANGE_USER that nobody has looked at
			})
			p := startEdgeWith(t, BackendsConfig{Addresses: []string{backend}}, Config{MaxUserConnections: 1},
				holding{handlerFunc(pass), func() { close(held) }})
			play(t, p.address, wiretest.LogIn(wiretest.Capabilities), query("LOAD DATA LOCAL"), c.client,
				wiretest.Expect(255, []byte("\xFBf")), wiretest.Do(func() { close(asked) }),
				wiretest.Expect(1, okPacket(auto)),
				wiretest.Send(0, changeUserTo("root", "", "mysql_native_password")), wiretest.ExpectClose())
		})
	}
}

// TestNothingIsAFileBehindOneSentTooEarly: what is pipelined behind a command that the server takes for its file is
// looked at: no COM_CHANGE_USER passes as the file.
func TestNothingIsAFileBehindOneSentTooEarly(t *testing.T) {
	t.Parallel()
	held := make(chan struct{})
	backend := wiretest.Serve(t, wiretest.Script{
		wiretest.ServeLogin(wiretest.Capabilities), tellsAccount(t, "user@%"), expectQuery("LOAD DATA LOCAL"),
		wiretest.Do(func() { <-held }), wiretest.Send(255, []byte("\xFBf")), wiretest.Expect(0, command(wire.Query, "ours")),
		wiretest.ExpectClose(),
	})
	p := startEdgeWith(t, BackendsConfig{Addresses: []string{backend}}, Config{MaxUserConnections: 1},
		holding{handlerFunc(pass), func() { close(held) }})
	play(t, p.address, wiretest.LogIn(wiretest.Capabilities), query("LOAD DATA LOCAL"), query("ours"),
		wiretest.Send(0, changeUserTo("root", "", "mysql_native_password")),
		wiretest.Expect(255, []byte("\xFBf")), wiretest.ExpectClose())
}

// holding tells when something is held back.
type holding struct {
	Handler
	held func()
}

func (h holding) Concerns(x *Exchange) bool {
	h.held()
	return h.Handler.Concerns(x)
}

// Pitfall 40: what EXECUTE brings to a statement of ours cannot escape by its length.
func TestLongExecuteIsRefused(t *testing.T) {
	t.Parallel()
	execute := append([]byte{byte(wire.Execute), 9, 0, 0, 0, 0, 1, 0, 0, 0}, make([]byte, heldLimit)...)
	b, _ := wire.AppendPacket(nil, 0, execute)
	prepared := []byte{0, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
	relay(t, func(_ context.Context, x *Exchange) error {
		if x.Command == wire.Execute {
			t.Error("held back")
		}
		_, err := x.Prepare("ours", memo("x"))
		return err
	}, 0, wiretest.Script{
		wiretest.Send(0, command(wire.Prepare, "ours")), wiretest.Expect(1, prepared), wiretest.SendBytes(b),
		wiretest.Receive(func(payload []byte, _ byte) error {
			if !bytes.Contains(payload, []byte("1 MiB of parameters")) {
				return fmt.Errorf("got %q, want the reason", payload)
			}
			return nil
		}),
		wiretest.ExpectClose(),
	}, wiretest.Script{
		wiretest.Expect(0, command(wire.Prepare, "ours")), wiretest.Send(1, prepared),
	})
}

// Section 4: pipelined commands are answered in order, and what is ours waits for what came before.
func TestPipelinedCommands(t *testing.T) {
	t.Parallel()
	relay(t, func(_ context.Context, x *Exchange) error { return x.OK(wire.OK{Affected: 5}) }, 0, wiretest.Script{
		query("SELECT 1"), query("ours"), query("SELECT 2"),
		wiretest.ExpectBytes(rowsOf(t, 1, wire.TextRows, auto, "a")),
		wiretest.Expect(1, wire.OK{Affected: 5, Status: auto}.Append(nil)),
		wiretest.Expect(1, okPacket(auto)),
	}, wiretest.Script{
		expectQuery("SELECT 1"), wiretest.SendBytes(rowsOf(t, 1, wire.TextRows, auto, "a")),
		expectQuery("SELECT 2"), wiretest.Send(1, okPacket(auto)),
	})
}

// What a client pipelines, while the server is busy, does not pile up here.
func TestPipelineIsBounded(t *testing.T) {
	t.Parallel()
	const pings = 3 * pipelineLimit
	full, looked := make(chan struct{}), make(chan struct{})
	arrives, answer := wiretest.Expect(0, command(wire.Ping, "")), wiretest.Send(1, okPacket(auto))
	script := wiretest.Script{wiretest.ServeLogin(wiretest.Capabilities)}
	script = append(script, slices.Repeat(wiretest.Script{arrives}, pipelineStep)...)
	script = append(script, wiretest.Do(func() { close(full); <-looked }))
	script = append(script, slices.Repeat(wiretest.Script{answer}, pipelineStep)...)
	script = append(script, slices.Repeat(wiretest.Script{arrives, answer}, pings-pipelineStep)...)
	backend := wiretest.Serve(t, append(script, wiretest.ExpectClose()))

	p := startEdge(t, BackendsConfig{Addresses: []string{backend}}, Config{})
	play(t, p.address, wiretest.LogIn(wiretest.Capabilities),
		wiretest.SendBytes(bytes.Repeat([]byte{1, 0, 0, 0, byte(wire.Ping)}, pings)),
		wiretest.Do(func() {
			<-full
			for end := time.After(50 * time.Millisecond); ; {
				select {
				case <-end:
					close(looked)
					return
				default:
					if n := outstanding(p.Server); n > pipelineLimit {
						t.Errorf("%d commands are outstanding, want at most %d", n, pipelineLimit)
						close(looked)
						return
					}
				}
			}
		}),
		slices.Repeat(wiretest.Script{wiretest.Expect(1, okPacket(auto))}, pings))
}

// outstanding is how many commands wait for an answer.
func outstanding(s *Server) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for e := range s.sessions {
		e.mu.Lock()
		n += e.tracker.Outstanding()
		e.mu.Unlock()
	}
	return n
}

// unconcerned holds back nothing, once it has seen a whole statement.
type unconcerned struct{ handlerFunc }

func (unconcerned) Concerns(*Exchange) bool { return false }

// What turns out not to be ours goes to the server at once, while that is still busy with what came
// before.
func TestUnconcernedDoesNotWait(t *testing.T) {
	t.Parallel()
	backend := wiretest.Serve(t, wiretest.Script{
		wiretest.ServeLogin(wiretest.Capabilities), expectQuery("SELECT 1"), expectQuery("ours"),
		wiretest.Send(1, okPacket(auto)), wiretest.Send(1, errPacket(1064, "no")), wiretest.ExpectClose(),
	})
	address, _ := proxyWith(t, backend, Config{}, unconcerned{func(context.Context, *Exchange) error {
		t.Error("a statement that is not ours was held back")
		return nil
	}})
	play(t, address, wiretest.LogIn(wiretest.Capabilities), query("SELECT 1"), query("ours"),
		wiretest.Expect(1, okPacket(auto)), wiretest.Expect(1, errPacket(1064, "no")))
}

// A client that sends its file and goes on without waiting for the answer has what is ours held
// back all the same.
func TestPipelinedBehindAFile(t *testing.T) {
	t.Parallel()
	for _, content := range []string{"1,2", ""} {
		client := wiretest.Script{query("LOAD DATA LOCAL"), wiretest.Expect(1, []byte("\xFBf"))}
		server := wiretest.Script{expectQuery("LOAD DATA LOCAL"), wiretest.Send(1, []byte("\xFBf"))}
		end := byte(2)
		if content != "" {
			client = append(client, wiretest.Send(2, []byte(content)))
			server = append(server, wiretest.Expect(2, []byte(content)))
			end = 3
		}

		client = append(client, wiretest.Send(end, nil), query("ours"), query("SELECT 2"),
			wiretest.Expect(end+1, okPacket(auto)),
			wiretest.Expect(1, wire.OK{Affected: 5, Status: auto}.Append(nil)), wiretest.Expect(1, okPacket(auto)))
		server = append(server, wiretest.Expect(end, nil), wiretest.Send(end+1, okPacket(auto)),
			expectQuery("SELECT 2"), wiretest.Send(1, okPacket(auto)))
		relay(t, func(_ context.Context, x *Exchange) error { return x.OK(wire.OK{Affected: 5}) }, 0, client, server)
	}
}

func TestStatementsOfAllSizes(t *testing.T) {
	t.Parallel()
	for _, size := range []int{
		10, glance - 100, glance + 100, heldLimit - 1, heldLimit + 1, wire.MaxPayload - 1,
		wire.MaxPayload + 50,
	} {
		for _, prefix := range []string{"ours ", "SELECT "} {
			text := prefix + strings.Repeat("x", size-len(prefix))
			want := prefix == "ours " && size < heldLimit
			var held atomic.Bool
			b, _ := wire.AppendPacket(nil, 0, command(wire.Query, text))
			relay(t, func(ctx context.Context, x *Exchange) error {
				held.Store(true)
				if string(x.Text()) != text {
					t.Errorf("%d bytes: the text held back is not the one sent", size)
				}
				return pass(ctx, x)
			}, 0, wiretest.Script{
				wiretest.SendBytes(b), wiretest.Expect(1, okPacket(auto)), query("SELECT 2"),
				wiretest.Expect(1, okPacket(auto)),
			}, wiretest.Script{
				wiretest.ExpectBytes(b), wiretest.Send(1, okPacket(auto)), expectQuery("SELECT 2"),
				wiretest.Send(1, okPacket(auto)),
			})

			if held.Load() != want {
				t.Errorf("%q of %d bytes: got held %v, want %v", prefix, size, held.Load(), want)
			}
		}
	}
}

// Pitfall 29: a replication stream is nobody's business, in either direction.
func TestReplicationStreamIsLeftAlone(t *testing.T) {
	t.Parallel()
	relay(t, func(context.Context, *Exchange) error {
		t.Error("a packet of the stream was held back")
		return nil
	}, 0, wiretest.Script{
		wiretest.Send(0, command(wire.BinlogDump, "\x04\x00\x00\x00")),
		wiretest.Expect(1, []byte("\x00event")), query("ours"), wiretest.Expect(2, []byte("\x00event")),
	}, wiretest.Script{
		wiretest.Expect(0, command(wire.BinlogDump, "\x04\x00\x00\x00")),
		wiretest.Send(1, []byte("\x00event")), expectQuery("ours"), wiretest.Send(2, []byte("\x00event")),
	})
}

// What is not understood passes; only nothing is held back any more.
func TestOpaqueSessionGoesOn(t *testing.T) {
	t.Parallel()
	relay(t, func(context.Context, *Exchange) error {
		t.Error("a statement was held back in an opaque session")
		return nil
	}, 0, wiretest.Script{
		wiretest.Send(0, []byte{0x42}), wiretest.Expect(1, []byte("what?")),
		query("ours"), wiretest.Expect(1, okPacket(auto)),
	}, wiretest.Script{
		wiretest.Expect(0, []byte{0x42}), wiretest.Send(1, []byte("what?")),
		expectQuery("ours"), wiretest.Send(1, okPacket(auto)),
	})
}

// Pitfall 19: the end of the server's connection is the end of the client's, at once.
func TestServerClosesIdleSession(t *testing.T) {
	t.Parallel()
	backend := wiretest.Serve(t, wiretest.Script{
		wiretest.ServeLogin(wiretest.Capabilities), wiretest.Send(0, errPacket(4031, "idle too long")),
		wiretest.Close(),
	})
	address, _ := proxyFor(t, backend, Config{}, pass)
	play(t, address, wiretest.LogIn(wiretest.Capabilities), wiretest.Expect(0, errPacket(4031, "idle too long")),
		wiretest.ExpectClose())
}

// Pitfall 20: a client that vanishes ends its session at once, also in the middle of a query or its
// result.
func TestClientVanishes(t *testing.T) {
	t.Parallel()
	for _, answer := range [][]byte{nil, rowsOf(t, 1, wire.TextRows, auto, "a")[:20]} {
		ended := make(chan struct{})
		backend := wiretest.Serve(t, wiretest.Script{
			wiretest.ServeLogin(wiretest.Capabilities), expectQuery("SELECT SLEEP(1000)"), wiretest.SendBytes(answer),
			wiretest.ExpectClose(), wiretest.Do(func() { close(ended) }),
		})
		address, _ := proxyFor(t, backend, Config{}, pass)
		play(t, address, wiretest.LogIn(wiretest.Capabilities), query("SELECT SLEEP(1000)"),
			wiretest.ExpectBytes(answer), wiretest.Close())

		select {
		case <-ended:
		case <-time.After(10 * time.Second):
			t.Error("the session goes on")
		}
	}
}

// Pitfall 21: a client that does not read stops the server after the buffers of two sockets and 32
// KiB of ours.
func TestSlowClientStopsTheServer(t *testing.T) {
	t.Parallel()
	const lot = 64 << 20
	var sent atomic.Int64
	stalled := make(chan struct{})

	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()

	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()

		if (wiretest.Script{wiretest.ServeLogin(wiretest.Capabilities), expectQuery("SELECT")}).Play(c) != nil {
			return
		}

		chunk := make([]byte, 1<<16)
		for sent.Load() < lot {
			c.SetWriteDeadline(time.Now().Add(500 * time.Millisecond))
			n, err := c.Write(chunk)
			sent.Add(int64(n))
			if err != nil {
				break
			}
		}

		close(stalled)
	}()

	address, _ := proxyFor(t, l.Addr().String(), Config{}, pass)
	c := loggedIn(t, address)
	if err := query("SELECT").Play(c); err != nil {
		t.Fatal(err)
	}

	<-stalled
	if n := sent.Load(); n >= lot {
		t.Errorf("the server could send all of %d bytes to a client that reads none", n)
	}
}

// Pitfall 34: a panic ends one session, with an answer.
func TestPanicEndsOneSession(t *testing.T) {
	t.Parallel()
	script := wiretest.Script{
		wiretest.ServeLogin(wiretest.Capabilities), expectQuery("SELECT 1"), wiretest.Send(1, okPacket(auto)),
		wiretest.ExpectClose(),
	}
	panicking := wiretest.Script{wiretest.ServeLogin(wiretest.Capabilities), wiretest.ExpectClose()}
	calm, wild := wiretest.Serve(t, script), wiretest.Serve(t, panicking)
	_ = calm
	address, _ := proxyFor(t, wild, Config{}, func(context.Context, *Exchange) error { panic("a mistake") })
	other, _ := proxyFor(t, calm, Config{}, pass)
	c := loggedIn(t, other)
	play(t, address, wiretest.LogIn(wiretest.Capabilities), query("ours"),
		wiretest.Expect(1, errPacket(1105, "ttlproxy: internal error, this session ends")), wiretest.ExpectClose())

	if err := (wiretest.Script{query("SELECT 1"), wiretest.Expect(1, okPacket(auto))}).Play(c); err != nil {
		t.Error(err)
	}
}

// The same in the middle of a multi-statement packet: the apology has the number that comes next.
func TestPanicBehindTheFirstPart(t *testing.T) {
	t.Parallel()
	relay(t, func(_ context.Context, x *Exchange) error {
		x.More(true)
		if _, err := x.Forward("first"); err != nil {
			return err
		}
		panic("a mistake")
	}, 0, wiretest.Script{
		query("ours"), wiretest.Expect(1, okPacket(more)),
		wiretest.Expect(2, errPacket(1105, "ttlproxy: internal error, this session ends")), wiretest.ExpectClose(),
	}, wiretest.Script{
		expectQuery("first"), wiretest.Send(1, okPacket(auto)),
	})
}

func TestDrainEndsIdleSessionsFirst(t *testing.T) {
	t.Parallel()
	finish := make(chan struct{})
	busy := wiretest.Script{
		wiretest.ServeLogin(wiretest.Capabilities),
		expectQuery("BEGIN"), wiretest.Send(1, okPacket(auto|wire.InTransaction)),
		expectQuery("COMMIT"), wiretest.Send(1, okPacket(auto)), wiretest.ExpectClose(),
	}

	idle := wiretest.Script{
		wiretest.ServeLogin(wiretest.Capabilities), wiretest.Expect(0, []byte{byte(wire.Quit)}),
		wiretest.ExpectClose(),
	}
	forBusy, forIdle := wiretest.Serve(t, busy), wiretest.Serve(t, idle)
	address, stop := proxyFor(t, forBusy, Config{DrainTimeout: time.Minute}, pass)
	idleAddress, stopIdle := proxyFor(t, forIdle, Config{DrainTimeout: time.Minute}, pass)

	b, i := loggedIn(t, address), loggedIn(t, idleAddress)
	if err := (wiretest.Script{query("BEGIN"), wiretest.Expect(1, okPacket(auto|wire.InTransaction))}).Play(b); err != nil {
		t.Fatal(err)
	}

	stopIdle()
	if err := wiretest.ExpectClose().Play(i); err != nil {
		t.Errorf("idle session: %v", err)
	}

	go func() { stop(); close(finish) }()
	if err := (wiretest.Script{query("COMMIT"), wiretest.Expect(1, okPacket(auto)), wiretest.ExpectClose()}).Play(b); err != nil {
		t.Errorf("session in a transaction: %v", err)
	}

	<-finish
}

func TestDrainCutsWhatTakesTooLong(t *testing.T) {
	t.Parallel()
	arrived := make(chan struct{})
	backend := wiretest.Serve(t, wiretest.Script{
		wiretest.ServeLogin(wiretest.Capabilities), expectQuery("SELECT SLEEP(1000)"),
		wiretest.Do(func() { close(arrived) }), wiretest.ExpectClose(),
	})
	address, stop := proxyFor(t, backend, Config{DrainTimeout: 50 * time.Millisecond}, pass)

	c := loggedIn(t, address)
	if err := query("SELECT SLEEP(1000)").Play(c); err != nil {
		t.Fatal(err)
	}

	<-arrived
	stop()
	if err := wiretest.ExpectClose().Play(c); err != nil {
		t.Error(err)
	}
}

// Pitfall 22: when descriptors run out, accept waits, and goes on when there are some.
func TestAcceptSurvivesErrors(t *testing.T) {
	t.Parallel()
	l := &failingListener{fail: 3, closed: make(chan struct{})}
	s := &Server{log: testLog(), metrics: NewMetrics(nil)}
	ended := make(chan struct{})
	go func() {
		s.accept(t.Context(), l, nil)
		close(ended)
	}()
	<-l.closed
	<-ended

	if l.calls != 4 {
		t.Errorf("got %d calls of Accept, want 4", l.calls)
	}
}

// failingListener fails some times and is closed then.
type failingListener struct {
	fail, calls int
	closed      chan struct{}
}

func (l *failingListener) Accept() (net.Conn, error) {
	if l.calls++; l.calls <= l.fail {
		return nil, io.ErrNoProgress
	}
	close(l.closed)
	return nil, net.ErrClosed
}

func (l *failingListener) Close() error   { return nil }
func (l *failingListener) Addr() net.Addr { return &net.TCPAddr{} }

// A big result passes in whatever pieces it comes.
func TestBigResultIsEqual(t *testing.T) {
	t.Parallel()
	var values []any
	for i := range 2000 {
		values = append(values, strings.Repeat("v", i))
	}

	result := rowsOf(t, 1, wire.TextRows, auto, values...)
	if !bytes.Contains(result, []byte("vvv")) {
		t.Fatal("no result")
	}

	relay(t, pass, 0, wiretest.Script{
		query("SELECT"), wiretest.ExpectBytes(result), query("ours"), wiretest.Expect(1, okPacket(auto)),
	}, wiretest.Script{
		expectQuery("SELECT"), wiretest.SendBytes(result), expectQuery("ours"), wiretest.Send(1, okPacket(auto)),
	})
}
