package proxy

import (
	"io"
	"net"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/ttlproxy/ttlproxy/proxy/wire"
	"github.com/ttlproxy/ttlproxy/proxy/wire/wiretest"
)

// A statement that is not ours costs no allocation in any of the goroutines that carry it, however
// long it is, with TLS and without. (For each record that it reads crypto/tls makes a reader of 24
// bytes, also at the client here.)
func TestRelayAllocatesNothing(t *testing.T) {
	if raceDetector() {
		t.Skip("under the race detector a sync.Pool forgets on purpose")
	}

	for _, secured := range []bool{false, true} {
		for _, size := range []int{50, 1 << 10, 20 << 10, 60 << 10} {
			text := "INSERT INTO t VALUES ('" + strings.Repeat("x", size) + "')"
			request, _ := wire.AppendPacket(nil, 0, command(wire.Query, text))
			answer := rowsOf(t, 1, wire.TextRows, auto, "a value of some length")
			backend := wiretest.Echo(t, len(request), answer)
			var c net.Conn
			if secured {
				c = loggedInSecurely(t, backend)
			} else {
				address, _ := proxyFor(t, backend, Config{}, pass)
				c = loggedIn(t, address)
			}

			buf := make([]byte, len(answer))
			query := func() {
				if _, err := c.Write(request); err != nil {
					t.Fatal(err)
				}
				if _, err := io.ReadFull(c, buf); err != nil {
					t.Fatal(err)
				}
			}

			const record = 16 << 10
			query()
			most := 0
			if secured {
				most = 1 + (len(request)+record-1)/record
			}
			if n := testing.AllocsPerRun(1000, query); n >= float64(most+1) {
				t.Errorf("%d bytes, TLS %v: got %v allocations per query, want %d", size, secured, n, most)
			}
		}
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
	b.ReportAllocs()
	wiretest.Ask(b, address, request, answer)
}
