package proxy

import (
	"io"
	"net"
	"runtime/debug"
	"slices"
	"testing"

	"github.com/ttlproxy/ttlproxy/proxy/wire"
	"github.com/ttlproxy/ttlproxy/proxy/wire/wiretest"
)

// A statement that is not ours costs no allocation in any of the goroutines that carry it.
func TestRelayAllocatesNothing(t *testing.T) {
	if raceDetector() {
		t.Skip("under the race detector a sync.Pool forgets on purpose")
	}

	request, _ := wire.AppendPacket(nil, 0, command(wire.Query, "SELECT c FROM sbtest1 WHERE id = 50031"))
	answer := rowsOf(t, 1, wire.TextRows, auto, "a value of some length")
	address, _ := proxyFor(t, wiretest.Echo(t, len(request), answer), Config{}, pass)
	c := loggedIn(t, address)
	buf := make([]byte, len(answer))
	query := func() {
		if _, err := c.Write(request); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(c, buf); err != nil {
			t.Fatal(err)
		}
	}

	query()
	if n := testing.AllocsPerRun(2000, query); n >= 1 {
		t.Errorf("got %v allocations per query, want 0", n)
	}
}

func raceDetector() bool {
	b, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(b.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

func BenchmarkRelayQuery(b *testing.B) {
	request, _ := wire.AppendPacket(nil, 0, command(wire.Query, "SELECT c FROM sbtest1 WHERE id = 50031"))
	answer := okPacket(auto)
	answer, _ = wire.AppendPacket(nil, 1, answer)
	address, _ := proxyFor(b, wiretest.Echo(b, len(request), answer), Config{}, pass)

	c, err := net.Dial("tcp", address)
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()

	if err := wiretest.LogIn(wiretest.Capabilities).Play(c); err != nil {
		b.Fatal(err)
	}

	buf := make([]byte, len(answer))
	b.ReportAllocs()

	for b.Loop() {
		if _, err := c.Write(request); err != nil {
			b.Fatal(err)
		}
		if _, err := io.ReadFull(c, buf); err != nil {
			b.Fatal(err)
		}
	}
}
