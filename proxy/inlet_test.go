package proxy

import (
	"crypto/tls"
	"net"
	"testing"
)

// TestInletLooksWithoutWaiting: what has come is taken in, nothing is waited for, and an end is
// seen.
func TestInletLooksWithoutWaiting(t *testing.T) {
	t.Parallel()
	for _, encrypted := range []bool{false, true} {
		client, server := connected(t, encrypted)
		in := newInlet(server, &newBuffers().up)
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

		secured := tls.Server(server, &tls.Config{Certificates: []tls.Certificate{cert}})
		client, server = tls.Client(client, &tls.Config{InsecureSkipVerify: true}), secured
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
