package proxy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
	"github.com/ttlproxy/ttlproxy/proxy/wire"
	"github.com/ttlproxy/ttlproxy/proxy/wire/wiretest"
)

// expectGreeting reads a greeting with these capabilities.
func expectGreeting(want wire.Capability) wiretest.Step {
	return wiretest.Receive(func(payload []byte, _ byte) error {
		var g wire.Greeting
		if err := g.Decode(payload); err != nil {
			return err
		}
		if g.Capabilities != want || g.ConnectionID != 7 || g.Version != "8.0.0-scripted" ||
			string(g.Salt) != "abcdefghijklmnopqrst" {
			return fmt.Errorf("got %+v, want capabilities %#x", g, uint64(want))
		}
		return nil
	})
}

func TestGreetingIsTheServersOwnButMasked(t *testing.T) {
	t.Parallel()
	const unwanted = wire.Compress | wire.CompressZstd | wire.NoSchema
	const caps = wiretest.Capabilities | unwanted | wire.SSL | wire.ComMulti | wire.CacheMetadata
	backend := wiretest.Serve(t, wiretest.Script{
		wiretest.Send(0, greeting(caps)),
		wiretest.Expect(1, wiretest.Response(wiretest.Capabilities|wire.CacheMetadata)),
		wiretest.Send(2, okPacket(auto)), wiretest.ExpectClose(),
	})

	address, _ := proxyFor(t, backend, Config{}, pass)
	play(t, address,
		expectGreeting(wiretest.Capabilities|wire.CacheMetadata),
		// A client that asks for them all the same does not get them.
		wiretest.Send(1, wiretest.Response(wiretest.Capabilities|wire.CacheMetadata|unwanted)),
		wiretest.Expect(2, okPacket(auto)))
}

// Pitfall 3 and section 2: questions of any number and kind pass, and nobody has to know whose turn
// it is.
func TestLoginWithQuestions(t *testing.T) {
	t.Parallel()
	backend := wiretest.Serve(t, wiretest.Script{
		wiretest.Send(0, greeting(wiretest.Capabilities)), wiretest.Expect(1, wiretest.Response(wiretest.Capabilities)),
		wiretest.Send(2, []byte("\xFEdialog\x00salt")), wiretest.Expect(3, []byte("first")),
		wiretest.Send(4, []byte("\x02second factor")), wiretest.Expect(5, []byte("second")),
		wiretest.Send(6, []byte{1, 3}), wiretest.Send(7, []byte{1, 3}), // two in a row
		wiretest.Send(8, okPacket(auto)),
		expectQuery("SELECT 1"), wiretest.Send(1, okPacket(auto)), wiretest.ExpectClose(),
	})

	address, _ := proxyFor(t, backend, Config{}, pass)
	play(t, address,
		expectGreeting(wiretest.Capabilities), wiretest.Send(1, wiretest.Response(wiretest.Capabilities)),
		wiretest.Expect(2, []byte("\xFEdialog\x00salt")), wiretest.Send(3, []byte("first")),
		wiretest.Expect(4, []byte("\x02second factor")), wiretest.Send(5, []byte("second")),
		wiretest.Expect(6, []byte{1, 3}), wiretest.Expect(7, []byte{1, 3}),
		wiretest.Expect(8, okPacket(auto)),
		query("SELECT 1"), wiretest.Expect(1, okPacket(auto)))
}

func TestLoginRefusedByTheServer(t *testing.T) {
	t.Parallel()
	backend := wiretest.Serve(t, wiretest.Script{
		wiretest.Send(0, greeting(wiretest.Capabilities)), wiretest.Expect(1, wiretest.Response(wiretest.Capabilities)),
		wiretest.Send(2, errPacket(1045, "denied")), wiretest.ExpectClose(),
	})
	address, _ := proxyFor(t, backend, Config{}, pass)
	play(t, address, expectGreeting(wiretest.Capabilities), wiretest.Send(1, wiretest.Response(wiretest.Capabilities)),
		wiretest.Expect(2, errPacket(1045, "denied")), wiretest.ExpectClose())
}

// Pitfall 12: an old client is told so, politely.
func TestOldClientIsRefused(t *testing.T) {
	t.Parallel()
	backend := wiretest.Serve(t, seesNobody())
	address, _ := proxyFor(t, backend, Config{}, pass)
	play(t, address, expectGreeting(wiretest.Capabilities), wiretest.Send(1, []byte{5, 0, 0, 0, 1, 'u', 0}),
		wiretest.Receive(func(payload []byte, seq byte) error {
			var e wire.Error
			if err := e.Decode(payload); err != nil || e.Code != 1251 || e.State != "08004" || seq != 2 {
				return fmt.Errorf("got %v with number %d, want 1251 with 2", e, seq)
			}
			return nil
		}), wiretest.ExpectClose())
}

// Pitfall 17: an error may come in place of the greeting.
func TestErrorInPlaceOfGreeting(t *testing.T) {
	t.Parallel()
	e := &wire.Error{Code: 1040, Message: "Too many connections"}
	backend := wiretest.Serve(t, wiretest.Script{wiretest.Send(0, e.AppendBare(nil)), wiretest.ExpectClose()})
	address, _ := proxyFor(t, backend, Config{}, pass)
	play(t, address, wiretest.Expect(0, e.AppendBare(nil)), wiretest.ExpectClose())
}

// Pitfall 17: a server may accept and say nothing.
func TestSilentServer(t *testing.T) {
	t.Parallel()
	backend := wiretest.Serve(t, wiretest.Script{wiretest.ExpectClose()})
	address, _ := proxyFor(t, backend, Config{LoginTimeout: 100 * time.Millisecond}, pass)
	play(t, address, wiretest.Receive(expectError(ddl.CodeCannotConnect)), wiretest.ExpectClose())
}

func TestUnreachableServer(t *testing.T) {
	t.Parallel()
	address, _ := proxyFor(t, deadAddress(t), Config{}, pass)
	play(t, address, wiretest.Receive(expectError(ddl.CodeCannotConnect)), wiretest.ExpectClose())
}

func expectError(code uint16) func([]byte, byte) error {
	return func(payload []byte, _ byte) error {
		var e wire.Error
		if err := e.Decode(payload); err != nil || e.Code != code {
			return fmt.Errorf("got %v, %w, want error %d", e, err, code)
		}
		return nil
	}
}

// A client that says nothing does not hold a connection of the server for ever.
func TestSilentClient(t *testing.T) {
	t.Parallel()
	// What bounds the client bounds the server's greeting, too, for which a busy machine may need longer.
	for limit, greeted := 100*time.Millisecond, false; !greeted; limit *= 2 {
		seen := make(chan error, 1)
		backend := wiretest.Serve(t, wiretest.Script{
			stepFunc(func(c net.Conn) error { seen <- seesNobody().Play(c); return nil }),
		})
		address, _ := proxyFor(t, backend, Config{LoginTimeout: limit}, pass)
		c := dialed(t, address)
		err := expectGreeting(wiretest.Capabilities).Play(c)
		if greeted = err == nil; greeted {
			err = errors.Join(wiretest.ExpectClose().Play(c), <-seen)
		}
		if err != nil && (greeted || limit > mysqltest.Patience) {
			t.Fatalf("within %v: %v", limit, err)
		}
	}
}

// Before a client is logged in it cannot make us keep more than a login needs.
func TestResponseIsBounded(t *testing.T) {
	t.Parallel()
	backend := wiretest.Serve(t, seesNobody())
	address, _ := proxyFor(t, backend, Config{}, pass)
	play(t, address, expectGreeting(wiretest.Capabilities), wiretest.SendBytes(wire.AppendHeader(nil, loginLimit+1, 1)),
		wiretest.ExpectClose())
}

// Pitfall 13: attributes longer than 64 KiB pass like the rest of the response, which is never
// built anew.
func TestLongAttributesPass(t *testing.T) {
	t.Parallel()
	caps := wiretest.Capabilities | wire.ConnectAttrs
	response := wire.AppendString(wiretest.Response(caps), bytes.Repeat([]byte("attribute"), 10000))
	backend := wiretest.Serve(t, wiretest.Script{
		wiretest.Send(0, greeting(caps)), wiretest.Expect(1, response), wiretest.Send(2, okPacket(auto)),
		wiretest.ExpectClose(),
	})
	address, _ := proxyFor(t, backend, Config{}, pass)
	play(t, address, expectGreeting(caps), wiretest.Send(1, response), wiretest.Expect(2, okPacket(auto)))
}

// A client that leaves just when the server has let it in: the server hears that nobody comes.
func TestClientLeavesAsItIsLetIn(t *testing.T) {
	t.Parallel()
	server := wiretest.Serve(t, wiretest.Script{wiretest.Expect(0, command(wire.Quit, "")), wiretest.Close()})
	c, err := net.Dial("tcp", server)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	s := &session{backend: c, settings: &settings{Config: Config{lastWord: lastWord}}}
	h := &handshake{s: s, last: okPacket(auto)}
	h.end(t.Context(), errClientGone)
}

// A server that refuses a client from whom it had still wanted an answer.
func TestLoginRefusedAtAQuestion(t *testing.T) {
	t.Parallel()
	question, refusal := []byte{wire.AuthMore, '?'}, errPacket(ddl.CodeAccessDenied, "Access denied")
	for range 20 {
		backend := wiretest.Serve(t, wiretest.Script{
			wiretest.Send(0, greeting(wiretest.Capabilities)), expectAny(),
			wiretest.Send(2, question), wiretest.Send(3, refusal), wiretest.ExpectClose(),
		})
		address, _ := proxyFor(t, backend, Config{}, pass)
		play(t, address, expectAny(), wiretest.Send(1, wiretest.Response(wiretest.Capabilities)),
			wiretest.Expect(2, question), wiretest.Expect(3, refusal), wiretest.ExpectClose())
	}
}

// A client that leaves while it is asked is not waited for: the server gets its answer at once.
func TestClientLeavesAsItIsAsked(t *testing.T) {
	t.Parallel()
	question := []byte{wire.AuthMore, '?'}
	server := wiretest.Serve(t, wiretest.Script{
		wiretest.Send(2, question), wiretest.Expect(3, nil),
		wiretest.Send(4, errPacket(ddl.CodeAccessDenied, "Access denied")), wiretest.ExpectClose(),
	})
	toServer, err := net.Dial("tcp", server)
	if err != nil {
		t.Fatal(err)
	}
	defer toServer.Close()
	toClient, client := net.Pipe()
	client.Close()

	broken := make(chan struct{})
	s := &session{
		server: &Server{metrics: NewMetrics(nil)}, log: testLog(), patience: mysqltest.Patience,
		settings: &settings{Config: Config{LoginTimeout: mysqltest.Patience, lastWord: scriptedWord}},
		client:   &hooked{Conn: toClient, written: func() { <-broken }},
		backend:  &hooked{Conn: toServer, interrupted: func() { close(broken) }},
	}
	h := &handshake{s: s, progress: progress{greeting: new(wire.Greeting), responded: true}}
	began := time.Now()
	err = h.authenticate()
	h.end(t.Context(), err)
	if took := time.Since(began); took > mysqltest.Patience/2 {
		t.Errorf("the server is answered after %v", took)
	}
}

// hooked is a connection on which a test acts while it is used.
type hooked struct {
	net.Conn
	written, interrupted func()
}

func (c *hooked) Write(p []byte) (int, error) {
	if c.written == nil {
		return c.Conn.Write(p)
	}
	c.written()
	return len(p), nil
}

func (c *hooked) SetReadDeadline(t time.Time) error {
	err := c.Conn.SetReadDeadline(t)
	if t.Equal(past) && c.interrupted != nil {
		c.interrupted()
	}
	return err
}

// What a server was saying when its client left is heard to the end, and answered.
func TestClientLeavesWhileTheServerSpeaks(t *testing.T) {
	t.Parallel()
	const caps = wiretest.Capabilities
	question, _ := wire.AppendPacket(nil, 2, []byte{wire.AuthMore, '?'})
	for cut := 1; cut < len(question); cut++ {
		t.Run(strconv.Itoa(cut), func(t *testing.T) {
			t.Parallel()
			said, left := make(chan struct{}), make(chan struct{})
			backend := wiretest.Serve(t, wiretest.Script{
				wiretest.Send(0, greeting(caps)), expectAny(), wiretest.SendBytes(question[:cut]),
				wiretest.Do(func() { close(said); <-left; time.Sleep(50 * time.Millisecond) }), // the proxy notices
				wiretest.SendBytes(question[cut:]), wiretest.Expect(3, nil),
				wiretest.Send(4, errPacket(ddl.CodeAccessDenied, "Access denied")), wiretest.ExpectClose(),
			})
			address, _ := proxyFor(t, backend, Config{}, pass)
			play(t, address, expectAny(), wiretest.Send(1, wiretest.Response(caps)),
				wiretest.Do(func() { <-said; time.Sleep(10 * time.Millisecond) }), wiretest.Close()) // the proxy reads it
			close(left)
		})
	}
}

// A greeting that comes when nobody waits for it any more is answered, too.
func TestLateGreeting(t *testing.T) {
	t.Parallel()
	packet, _ := wire.AppendPacket(nil, 0, greeting(wiretest.Capabilities))
	for _, cut := range []int{0, 1, wire.HeaderSize, wire.HeaderSize + 10} {
		t.Run(strconv.Itoa(cut), func(t *testing.T) {
			t.Parallel()
			late := make(chan struct{})
			server := wiretest.Serve(t, append(wiretest.Script{
				wiretest.SendBytes(packet[:cut]), wiretest.Do(func() { <-late }), wiretest.SendBytes(packet[cut:]),
			}, seesNobody()[1:]...))
			p := startEdge(t, BackendsConfig{Addresses: []string{server}, CheckInterval: time.Hour}, Config{})
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			if err := p.backends.greets(ctx, p.backends.list[0].address); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("a check of a silent server: %v", err)
			}
			close(late)
		})
	}
}

// A client may send its first command before it knows that it is logged in. However much of it has
// arrived by then, it is seen like every other.
func TestCommandBehindALogin(t *testing.T) {
	t.Parallel()
	packet, _ := wire.AppendPacket(nil, 0, command(wire.Query, "ours"))
	answer, _ := wire.AppendPacket(nil, 3, []byte("answer"))
	question := []byte{wire.AuthMore, '?'}
	for cut := range len(packet) + 1 {
		backend := wiretest.Serve(t, wiretest.Script{
			wiretest.Send(0, greeting(wiretest.Capabilities)), expectAny(), wiretest.Send(2, question),
			wiretest.Expect(3, []byte("answer")), wiretest.Send(4, okPacket(auto)), wiretest.ExpectClose(),
		})
		address, _ := proxyFor(t, backend, Config{}, func(_ context.Context, x *Exchange) error {
			return x.OK(wire.OK{Info: "held"})
		})
		play(t, address, expectAny(), wiretest.Send(1, wiretest.Response(wiretest.Capabilities)),
			wiretest.Expect(2, question), wiretest.SendBytes(slices.Concat(answer, packet[:cut])),
			wiretest.Expect(4, okPacket(auto)), wiretest.SendBytes(packet[cut:]), expectAny())
	}
}

// A server cannot send clients past the proxy.
func TestNobodyIsSentElsewhere(t *testing.T) {
	t.Parallel()
	caps := wiretest.Capabilities | wire.SessionTrack
	change := wire.AppendString(wire.AppendString(nil, "redirect_url"), "mysql://db2")
	block := wire.AppendString([]byte{0}, change)
	ok := okPacket(auto)
	ok[4] |= byte(wire.SessionStateChanged >> 8)
	ok = wire.AppendString(ok, "")
	backend := wiretest.Serve(t, wiretest.Script{
		wiretest.Send(0, greeting(caps)), expectAny(), wiretest.Send(2, wire.AppendString(ok, block)),
		wiretest.ExpectClose(),
	})
	address, _ := proxyFor(t, backend, Config{}, pass)
	play(t, address, expectAny(), wiretest.Send(1, wiretest.Response(caps)),
		wiretest.Expect(2, wire.AppendString(ok, "")))
}

// seesNobody is a server's side of a login that the client breaks off: it knows the account that it
// is given as little as a real one does.
func seesNobody() wiretest.Script {
	return wiretest.Script{
		wiretest.Send(0, greeting(wiretest.Capabilities)), wiretest.Receive(func(payload []byte, seq byte) error {
			var r wire.HandshakeResponse
			if err := r.Decode(payload); err != nil || r.User != nobody || seq != 1 {
				return fmt.Errorf("got %+v with number %d, %w, want a response of %s", r, seq, err, nobody)
			}
			return nil
		}),
		wiretest.Send(2, errPacket(ddl.CodeAccessDenied, "Access denied")), wiretest.ExpectClose(),
	}
}

func greeting(caps wire.Capability) []byte {
	g := wiretest.Greeting(caps)
	return g.Append(nil)
}
