package wire

import (
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
	"github.com/ttlproxy/ttlproxy/proxy/wire"
	"github.com/ttlproxy/ttlproxy/proxy/wire/wiretest"
)

// connections is how often a client comes and goes in TestNothingIsLeftBehind.
const connections = 10_000

// TestNothingIsLeftBehind connects ten thousand times, and of these clients many break off: at
// every byte of the login, in the middle of a command or of a result, with bytes altered or coming
// one by one. Of half of them every statement is held back. Afterwards there are as many goroutines
// and descriptors as before.
func TestNothingIsLeftBehind(t *testing.T) {
	mysqltest.Each(t, func(t *testing.T, s *mysqltest.Server) {
		user(t, s, "restless")
		if _, err := s.Open(t, "").ExecContext(t.Context(), "SET GLOBAL max_connect_errors = 1000000"); err != nil {
			t.Fatal(err)
		}

		goroutines, files := runtime.NumGoroutine(), descriptors(t)
		proxies, stop := startBoth(t, s.Addr())
		addresses := slices.Collect(maps.Values(proxies))
		var heap [2]uint64
		for half := range heap {
			comeAndGo(addresses, connections/2)
			heap[half] = heapInUse()
		}

		stop()
		settled(t, "goroutines", goroutines, runtime.NumGoroutine)
		settled(t, "descriptors", files, func() int { return descriptors(t) })

		if grown := int64(heap[1]) - int64(heap[0]); grown > 4<<20 {
			t.Errorf("the second half of the clients left %d bytes behind", grown)
		}
	})
}

// comeAndGo lets clients connect, most of them with a fault.
func comeAndGo(addresses []string, n int) {
	var clients sync.WaitGroup
	todo := make(chan int)
	for range 8 {
		clients.Go(func() {
			for i := range todo {
				visit(addresses[i%len(addresses)], i/len(addresses))
			}
		})
	}

	for i := range n {
		todo <- i
	}

	close(todo)
	clients.Wait()
}

// visit is one client's short life. What it is told does not matter.
func visit(address string, i int) {
	c, err := net.Dial("tcp", address)
	if err != nil {
		return
	}
	defer c.Close()

	c.SetDeadline(time.Now().Add(time.Minute))
	switch i % 5 {
	case 1:
		c = wiretest.Cut(c, int64(i/5%400))
	case 2:
		c = wiretest.Split(c, 1+i/5%7)
	case 3:
		c = wiretest.Alter(c, i/5%120, func(b byte) byte { return b ^ byte(1+rand.IntN(255)) })
		c.SetDeadline(time.Now().Add(200 * time.Millisecond)) // the server may wait for what never comes
	}

	greeting, _, err := wire.ReadPacket(c, nil, wire.MaxPayload)
	var g wire.Greeting
	if err != nil || g.Decode(greeting) != nil {
		return
	}

	caps := wire.Protocol41 | wire.SecureConnection | wire.PluginAuth | g.Capabilities&wire.LongPassword
	packet, _ := wire.AppendPacket(nil, 1, response(caps, "restless", "", g.AuthPlugin, nil))
	if _, err := c.Write(packet); err != nil {
		return
	}

	for {
		payload, seq, err := wire.ReadPacket(c, nil, wire.MaxPayload)
		if err != nil || len(payload) == 0 || payload[0] == wire.AuthError {
			return
		}
		if payload[0] == wire.AuthOK {
			break
		}

		if payload[0] == wire.AuthSwitch {
			empty := wire.AppendHeader(nil, 0, seq+1)
			if _, err := c.Write(empty); err != nil {
				return
			}
		}
	}

	query, _ := wire.AppendPacket(nil, 0, sql("SELECT REPEAT('x', 100000)"))
	if _, err := c.Write(query); err != nil {
		return
	}
	if i%5 == 4 {
		return // without reading the answer
	}

	buf := make([]byte, 4096)
	c.Read(buf) // a part of the answer, or none
}

func heapInUse() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse
}

// descriptors counts the files and sockets which this process has open.
func descriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("there is no /proc here")
	}
	return len(entries)
}

// settled waits until a number is no greater than it was.
func settled(t *testing.T, what string, want int, count func() int) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for count() > want+5 { // the connections of the test's own *sql.DB come and go
		if time.Now().After(deadline) {
			t.Fatalf("%s: got %d, want at most %d\n%s", what, count(), want, allStacks())
		}
		<-time.After(50 * time.Millisecond)
	}
}

func allStacks() []byte {
	b := make([]byte, 1<<16)
	return b[:runtime.Stack(b, true)]
}
