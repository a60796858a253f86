package proxy

import (
	"bytes"
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/ttlproxy/ttlproxy/proxy/wire"
	"github.com/ttlproxy/ttlproxy/proxy/wire/wiretest"
)

// row is a row of a result set of one column.
func row() []byte {
	b, _ := wire.AppendPacket(nil, 5, wire.AppendString(nil, strings.Repeat("x", 1000)))
	return b
}

// withoutEnd is the beginning of a result set: all of its packets but the last.
func withoutEnd(result []byte) []byte {
	for rest := result; ; {
		_, next, err := wire.NextPacket(rest)
		if err != nil || len(next) == 0 {
			return result[:len(result)-len(rest)]
		}
		rest = next
	}
}

// A client that vanishes in the middle of an answer that an exchange waits for takes its session
// with it: the server's connection with its locks, both descriptors and the goroutines.
func TestClientVanishesFromAHeldAnswer(t *testing.T) {
	t.Parallel()
	begin := withoutEnd(rowsOf(t, 1, wire.TextRows, auto, "a"))
	for name, commands := range map[string]wiretest.Script{
		"the held command's own":         {query("ours")},
		"of the command before it":       {query("SELECT 1"), query("ours")},
		"of several in front, pipelined": {query("SELECT 1"), query("SELECT 2"), query("ours")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			backend := wiretest.Serve(t, wiretest.Script{
				wiretest.ServeLogin(wiretest.Capabilities), wiretest.Receive(anything), wiretest.SendBytes(begin),
				wiretest.SendUntilReset(bytes.Repeat(row(), 64)),
			})

			p := startEdge(t, BackendsConfig{Addresses: []string{backend}}, Config{DrainTimeout: time.Minute})
			play(t, p.address, wiretest.LogIn(wiretest.Capabilities), commands, wiretest.ExpectBytes(begin), wiretest.Reset())
			await(t, func() bool { return p.count() == 0 })
		})
	}
}

func anything([]byte, byte) error { return nil }

// Whatever a session hangs in, the proxy ends when its time is up.
func TestDrainWaitsForNobodyForEver(t *testing.T) {
	t.Parallel()
	release, arrived := make(chan struct{}), make(chan struct{})
	t.Cleanup(func() { close(release) })
	backend := wiretest.Serve(t, wiretest.Script{wiretest.ServeLogin(wiretest.Capabilities), wiretest.ExpectClose()})
	address, stop := proxyFor(t, backend, Config{DrainTimeout: 50 * time.Millisecond},
		func(context.Context, *Exchange) error {
			close(arrived)
			<-release
			return nil
		})

	c := loggedIn(t, address)
	if err := query("ours").Play(c); err != nil {
		t.Fatal(err)
	}

	<-arrived
	began := time.Now()
	stop()
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("the proxy ended after %v", took)
	}
}

// A login that waits for a server which does not answer ends with the proxy, not with dial-timeout.
func TestDrainEndsLogins(t *testing.T) {
	t.Parallel()
	p := startEdge(t, BackendsConfig{Addresses: []string{silentAddress(t)}, DialTimeout: time.Minute},
		Config{DrainTimeout: 50 * time.Millisecond})
	c, err := net.Dial("tcp", p.address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()

	await(t, func() bool { return p.count() == 1 })
	began := time.Now()
	p.stop()
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("the proxy ended after %v", took)
	}
}
