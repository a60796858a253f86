package proxy

import (
	"crypto/tls"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/ttlproxy/ttlproxy/proxy/wire"
	"github.com/ttlproxy/ttlproxy/proxy/wire/wiretest"
)

// TestInletLooksWithoutWaiting: what has come is taken in, nothing is waited for, and an end is
// seen.
func TestInletLooksWithoutWaiting(t *testing.T) {
	t.Parallel()
	for _, encrypted := range []bool{false, true} {
		client, server := connected(t, encrypted)
		b := newBuffers()
		in := newInlet(server, &b.up, &b.long)
		if err := in.poll(); err != nil || len(in.pending()) != 0 {
			t.Fatalf("TLS %v: nothing has come: got %v, %d bytes", encrypted, err, len(in.pending()))
		}
		if _, err := client.Write([]byte("hello")); err != nil {
			t.Fatal(err)
		}

		for len(in.pending()) < len("hello") {
			if err := in.poll(); err != nil {
				t.Fatalf("TLS %v: %v", encrypted, err)
			}
		}

		if err := client.Close(); err != nil {
			t.Fatal(err)
		}

		for in.poll() == nil { // until the end has come through
		}

		if got := string(in.pending()); got != "hello" {
			t.Errorf("TLS %v: got %q, want what was sent before", encrypted, got)
		}
	}
}

// connected are both ends of a connection.
func connected(t *testing.T, encrypted bool) (client, server net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()

	if client, err = net.Dial("tcp", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if server, err = l.Accept(); err != nil {
		t.Fatal(err)
	}

	if encrypted {
		cert, err := tls.LoadX509KeyPair(newAuthority(t).issue(t, "server", "127.0.0.1"))
		if err != nil {
			t.Fatal(err)
		}

		secured := tls.Server(beneath(server), &tls.Config{Certificates: []tls.Certificate{cert}})
		client, server = tls.Client(client, &tls.Config{
			InsecureSkipVerify: true, DynamicRecordSizingDisabled: true,
		}), secured
		shaken := make(chan error, 1)
		go func() { shaken <- secured.HandshakeContext(t.Context()) }()

		if err := client.(*tls.Conn).HandshakeContext(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := <-shaken; err != nil {
			t.Fatal(err)
		}
	}

	t.Cleanup(func() { client.Close(); server.Close() })
	return client, server
}

// waits is a connection that looks at how its reader waits.
type waits struct {
	net.Conn
	before func(room int)
}

func (w waits) Read(b []byte) (int, error) {
	w.before(len(b))
	return w.Conn.Read(b)
}

// Under TLS a session that waits holds no buffer, and what was sent at once is there at once.
func TestTLSWaitsWithoutABuffer(t *testing.T) {
	t.Parallel()
	client, server := connected(t, true)
	b := newBuffers()
	in := newInlet(server, &b.down, &b.long)
	if in.records == nil {
		t.Fatal("got no records beneath TLS")
	}

	in.conn = waits{server, func(room int) {
		if in.records.patient && (in.buf != nil || room > 1) {
			t.Errorf("it waits with room for %d bytes and a buffer of %d", room, len(in.buf))
		}
	}}
	for _, size := range []int{1, 2, 511, 512, 513, 5000, 16 << 10, 1, 16 << 10} {
		if _, err := client.Write(make([]byte, size)); err != nil {
			t.Fatal(err)
		}
		if err := in.fill(); err != nil {
			t.Fatal(err)
		}
		if got := len(in.pending()); got != size {
			t.Errorf("got %d bytes at once, want %d", got, size)
		}
		in.use(len(in.pending()))
	}
}

// An answer that fits into one record goes to the client as one, and so in one piece.
func TestAnswerIsOneRecord(t *testing.T) {
	t.Parallel()
	for _, size := range []int{10, 600, 5000, 15000} {
		request, _ := wire.AppendPacket(nil, 0, command(wire.Query, "SELECT 1"))
		answer := rowsOf(t, 1, wire.TextRows, auto, strings.Repeat("x", size))
		c := loggedInSecurely(t, wiretest.Echo(t, len(request), answer))
		r := c.NetConn().(*records)

		buf := make([]byte, len(answer))
		for range 3 {
			r.came = 0
			if _, err := c.Write(request); err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadFull(c, buf); err != nil {
				t.Fatal(err)
			}
			if r.came != 1 {
				t.Errorf("%d bytes: got %d records, want 1", len(answer), r.came)
			}
		}
	}
}

// loggedInSecurely logs in with TLS to a proxy in front of a backend without.
func loggedInSecurely(t *testing.T, backend string) *tls.Conn {
	t.Helper()
	p := startEdge(t, BackendsConfig{Addresses: []string{backend}, TLS: BackendTLS{Mode: TLSNever}},
		Config{TLS: ClientTLS{SelfSigned: true}})
	c, err := net.Dial("tcp", p.address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })

	if _, _, err := wire.ReadPacket(c, nil, wire.MaxPayload); err != nil {
		t.Fatal(err)
	}
	r := wiretest.Response(wiretest.Capabilities | wire.SSL)
	if err := wiretest.Send(1, r[:wire.SSLRequestSize]).Play(c); err != nil {
		t.Fatal(err)
	}

	secured := tls.Client(beneath(c), &tls.Config{InsecureSkipVerify: true, DynamicRecordSizingDisabled: true})
	ok := wire.OK{Status: auto}.Append(nil)
	if err := (wiretest.Script{wiretest.Send(2, r), wiretest.Expect(3, ok)}).Play(secured); err != nil {
		t.Fatal(err)
	}

	return secured
}
