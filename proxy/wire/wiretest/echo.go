package wiretest

import (
	"io"
	"net"
	"testing"
)

// Echo is a server that lets one client in and answers whatever it sends, request bytes at a time,
// with the same bytes. It returns its address.
func Echo(tb testing.TB, request int, answer []byte) string {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}

	ended := make(chan struct{})
	tb.Cleanup(func() { l.Close(); <-ended })
	go func() {
		defer close(ended)

		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()

		if ServeLogin(Capabilities).Play(c) != nil {
			return
		}

		buf := make([]byte, request)
		for {
			if _, err := io.ReadFull(c, buf); err != nil {
				return
			}
			if _, err := c.Write(answer); err != nil {
				return
			}
		}
	}()

	return l.Addr().String()
}

// Ask measures how long a client waits for an answer: it logs in at address, and sends the request
// again and again.
func Ask(b *testing.B, address string, request, answer []byte) {
	b.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()

	if err := LogIn(Capabilities).Play(c); err != nil {
		b.Fatal(err)
	}

	buf := make([]byte, len(answer))
	for b.Loop() {
		if _, err := c.Write(request); err != nil {
			b.Fatal(err)
		}
		if _, err := io.ReadFull(c, buf); err != nil {
			b.Fatal(err)
		}
	}
}
