package proxy

import (
	"io"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/proxy/wire"
	"github.com/ttlproxy/ttlproxy/proxy/wire/wiretest"
)

func TestConnectionsAreBounded(t *testing.T) {
	t.Parallel()
	p := startEdge(t, BackendsConfig{Addresses: []string{silentServer(t)}}, Config{MaxConnections: 2})
	first, second := dialed(t, p.address), dialed(t, p.address)
	await(t, func() bool { return p.count() == 2 })
	play(t, p.address, wiretest.Receive(expectError(ddl.CodeTooManyConnections)), wiretest.ExpectClose())
	first.Close()
	second.Close()
	await(t, func() bool { return p.count() == 0 })
	c := dialed(t, p.address)
	if err := (wiretest.Script{wiretest.LogIn(wiretest.Capabilities)}).Play(c); err != nil {
		t.Errorf("after the others have left: %v", err)
	}
}

// silentServer lets everybody in and says no more.
func silentServer(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}

			go func() {
				defer c.Close()
				wiretest.Script{wiretest.ServeLogin(wiretest.Capabilities)}.Play(c)
				c.SetDeadline(time.Time{})
				wiretest.Script{tellsAccount(t, "user@%")}.Play(c)
				c.SetDeadline(time.Time{})
				c.Read(make([]byte, 1))
			}()
		}
	}()

	return l.Addr().String()
}

// tellsAccount is a server that is asked who is logged in.
func tellsAccount(t *testing.T, account string) wiretest.Step {
	t.Helper()
	return wiretest.Script{expectQuery(askAccount), wiretest.SendBytes(rowsOf(t, 1, wire.TextRows, auto, account))}
}

func dialed(t *testing.T, address string) net.Conn {
	t.Helper()
	network := "tcp"
	if strings.HasPrefix(address, "/") {
		network = "unix"
	}
	c, err := net.Dial(network, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// A client behind a load balancer is told that there are too many, and then its connection ends in
// good order.
func TestTooManyBehindABalancer(t *testing.T) {
	t.Parallel()
	const header = "PROXY TCP4 192.0.2.7 192.0.2.1 50000 3306\r\n"
	p := startEdge(t, BackendsConfig{Addresses: []string{wellAddress(t)}},
		Config{MaxConnections: 1, ProxyNetworks: []string{"127.0.0.0/8"}})
	come := func() net.Conn {
		c, err := net.Dial("tcp", p.address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		if err := wiretest.SendBytes([]byte(header)).Play(c); err != nil {
			t.Fatal(err)
		}
		return c
	}

	if err := wiretest.LogIn(wiretest.Capabilities).Play(come()); err != nil {
		t.Fatal(err)
	}
	for range 20 {
		c := come()
		if err := wiretest.Receive(expectError(ddl.CodeTooManyConnections)).Play(c); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadAll(c); err != nil {
			t.Fatalf("behind the answer: %v", err)
		}
	}
}

func TestConnectionsOfAnAccountAreBounded(t *testing.T) {
	t.Parallel()
	p := startEdge(t, BackendsConfig{Addresses: []string{silentServer(t)}}, Config{MaxUserConnections: 1})
	waiting := dialed(t, p.address) // not logged in, so it does not count

	first := dialed(t, p.address)
	if err := (wiretest.Script{wiretest.LogIn(wiretest.Capabilities)}).Play(first); err != nil {
		t.Fatal(err)
	}

	refused := wiretest.Script{
		wiretest.Receive(func([]byte, byte) error { return nil }),
		wiretest.Send(1, wiretest.Response(wiretest.Capabilities)),
		wiretest.Receive(expectError(ddl.CodeTooManyOfUser)), wiretest.ExpectClose(),
	}
	if err := refused.Play(waiting); err != nil {
		t.Error(err)
	}

	first.Close()
	await(t, func() bool { return p.count() == 0 })
	play(t, p.address, wiretest.LogIn(wiretest.Capabilities))
}

func TestMaxConnectionsMustFit(t *testing.T) {
	t.Parallel()
	limit, known := descriptors()
	if !known {
		t.Skip("no limit of descriptors is known here")
	}
	if _, err := fitConnections(limit); err == nil || !strings.Contains(err.Error(), "ulimit") {
		t.Errorf("%d connections with %d descriptors: got %v, want advice", limit, limit, err)
	}
	if _, err := fitConnections(-1); err == nil {
		t.Error("-1 was accepted")
	}
	if n, err := fitConnections(0); err != nil || 2*n >= limit {
		t.Errorf("got %d, %v with %d descriptors", n, err, limit)
	}
}

// tightListener has no descriptor for the first client, as the kernel says it.
type tightListener struct {
	net.Listener
	failed bool
}

func (l *tightListener) Accept() (net.Conn, error) {
	if !l.failed {
		l.failed = true
		return nil, &net.OpError{Op: "accept", Err: syscall.EMFILE}
	}
	return l.Listener.Accept()
}

// Without descriptors the client at the door is told so, and the next is served when there are some
// again.
func TestOutOfDescriptors(t *testing.T) {
	t.Parallel()
	p := startEdge(t, BackendsConfig{Addresses: []string{silentServer(t)}}, Config{})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}

	first := dialed(t, l.Addr().String())
	var sessions sync.WaitGroup
	ended := make(chan struct{})
	go func() {
		p.accept(t.Context(), &tightListener{Listener: l}, &sessions)
		close(ended)
	}()

	if err := (wiretest.Script{wiretest.Receive(expectError(ddl.CodeTooManyConnections)), wiretest.ExpectClose()}).Play(first); err != nil {
		t.Error(err)
	}

	play(t, l.Addr().String(), wiretest.LogIn(wiretest.Capabilities))
	l.Close()
	<-ended
	sessions.Wait()
}

// The address that a load balancer names is the client's, and a backend that wants to know is told.
func TestClientAddressIsHandedOn(t *testing.T) {
	t.Parallel()
	client := &net.TCPAddr{IP: net.IPv4(192, 0, 2, 7), Port: 41000}
	for _, v := range []headerVersion{1, 2} {
		for _, socket := range []bool{false, true} {
			listen := "127.0.0.1:0"
			if socket {
				listen = "unix:" + filepath.Join(t.TempDir(), "s")
			}

			got := make(chan string, 1)
			backend := wiretest.Serve(t, wiretest.Script{
				readsHeader(got), wiretest.ServeLogin(wiretest.Capabilities), wiretest.ExpectClose(),
			})
			p := startEdge(t, BackendsConfig{Addresses: []string{backend + "?proxy-protocol=v" + string(rune('0'+v))}},
				Config{Listen: []string{listen}, ProxyNetworks: []string{"127.0.0.0/8", "unix"}})
			c := dialed(t, p.address)

			header := v.header(client, &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 3306})
			if err := (wiretest.Script{wiretest.SendBytes(header), wiretest.LogIn(wiretest.Capabilities)}).Play(c); err != nil {
				t.Errorf("v%d: %v", v, err)
			}

			want := client.String()
			if socket {
				want = "nobody" // the listener has no address to put beside the client's
			}
			if a := <-got; a != want {
				t.Errorf("v%d: the backend was told %s, want %s", v, a, want)
			}
		}
	}
}

// stepFunc is a step that needs the connection itself.
type stepFunc func(c net.Conn) error

func (f stepFunc) Play(c net.Conn) error { return f(c) }

func readsHeader(got chan<- string) wiretest.Step {
	return stepFunc(func(c net.Conn) error {
		a, err := readHeader(c)
		if err != nil {
			return err
		}
		if a == nil {
			got <- "nobody"
		} else {
			got <- a.String()
		}
		return nil
	})
}

// A header from a stranger is not believed, and one that must come and does not ends the session.
func TestHeaderWhereNoneBelongs(t *testing.T) {
	t.Parallel()
	p := startEdge(t, BackendsConfig{Addresses: []string{silentServer(t)}},
		Config{ProxyNetworks: []string{"10.0.0.0/8"}})
	play(t, p.address, expectGreeting(wiretest.Capabilities),
		wiretest.SendBytes([]byte("PROXY TCP4 192.0.2.7 192.0.2.1 41000 3306\r\n")), wiretest.ExpectClose())
	q := startEdge(t, BackendsConfig{Addresses: []string{silentServer(t)}},
		Config{ProxyNetworks: []string{"127.0.0.0/8"}, LoginTimeout: 100 * time.Millisecond})
	play(t, q.address, wiretest.ExpectClose())
	play(t, q.address, wiretest.SendBytes([]byte("GET / HTTP/1.1\r\n\r\n")), wiretest.ExpectClose())
}

// Pitfall 39: after a COM_CHANGE_USER with a question a session is idle again, though no empty
// packet has ended what the client said.
func TestIdleAfterChangeUser(t *testing.T) {
	t.Parallel()
	to := changeUserTo("other", "scramble", "mysql_native_password")
	for _, held := range []bool{false, true} { // because it has to be watched
		conversation := wiretest.Script{
			wiretest.Expect(0, to), wiretest.Send(1, []byte(switchTo("mysql_native_password"))),
			wiretest.Expect(2, []byte("scramble again")), wiretest.Send(3, okPacket(auto)),
		}
		login := wiretest.ServeLogin(wiretest.Capabilities)
		var backend string
		if held {
			conversation = append(conversation, showsAccount(t, "CREATE USER `other`@`%`"))
			backend = "unix:" + wiretest.ServeUnix(t, wiretest.Script{
				servePassword(t), conversation,
				wiretest.ExpectClose(),
			})
		} else {
			backend = wiretest.Serve(t, wiretest.Script{login, conversation, wiretest.ExpectClose()})
		}

		p := startEdge(t, BackendsConfig{Addresses: []string{backend}}, Config{})
		conn := dialed(t, p.address)
		err := wiretest.Script{
			wiretest.LogIn(wiretest.Capabilities), wiretest.Send(0, to),
			wiretest.Expect(1, []byte(switchTo("mysql_native_password"))), wiretest.Send(2, []byte("scramble again")),
			wiretest.Expect(3, okPacket(auto)),
		}.Play(conn)
		if err != nil {
			t.Fatalf("held %v: %v", held, err)
		}

		p.each(func(e *session) { awaitIdle(t, e) })
	}
}

// awaitIdle waits until nothing goes on in a session.
func awaitIdle(t *testing.T, s *session) {
	t.Helper()
	await(t, func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.idle()
	})
}

func TestSilentSessionsAreClosed(t *testing.T) {
	t.Parallel()
	inTransaction := wire.Autocommit | wire.InTransaction
	backend := func(status wire.Status) string {
		return wiretest.Serve(t, wiretest.Script{
			wiretest.ServeLogin(wiretest.Capabilities), expectQuery("x"), wiretest.Send(1, okPacket(status)),
			wiretest.ExpectClose(),
		})
	}

	for _, c := range []struct {
		name    string
		config  Config
		status  wire.Status
		expires bool
	}{
		{"idle", Config{IdleTimeout: 10 * time.Millisecond}, wire.Autocommit, true},
		{"idle in a transaction", Config{IdleTransactionTimeout: 10 * time.Millisecond}, inTransaction, true},
		{"the limit for the others", Config{IdleTimeout: 10 * time.Millisecond}, inTransaction, false},
		{"idle outside one", Config{IdleTransactionTimeout: 10 * time.Millisecond}, wire.Autocommit, false},
	} {
		p := startEdge(t, BackendsConfig{Addresses: []string{backend(c.status)}}, c.config)
		conn := dialed(t, p.address)
		if err := (wiretest.Script{wiretest.LogIn(wiretest.Capabilities), query("x"), wiretest.Expect(1, okPacket(c.status))}).Play(conn); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}

		p.each(func(e *session) { awaitIdle(t, e) }) // its client may have the answer before it counts as idle
		rest(t.Context(), 20*time.Millisecond)
		p.each(func(e *session) { e.closeIfSilent(p.settings.Load()) })
		conn.SetReadDeadline(time.Now().Add(100 * time.Millisecond))

		_, err := conn.Read(make([]byte, 1))
		if timeout, ok := err.(net.Error); c.expires == (ok && timeout.Timeout()) {
			t.Errorf("%s: got %v, want the end: %v", c.name, err, c.expires)
		}
	}
}
