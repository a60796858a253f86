package wire

import (
	"runtime"
	"testing"

	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
)

// TestIdleSessionsCostLittle opens sessions, uses each once, and looks at what they hold while
// nothing happens. The clients are in this process, too, which makes the figure a little greater
// than it is, and the race detector adds to it.
func TestIdleSessionsCostLittle(t *testing.T) {
	const sessions, limit = 300, 20 << 10
	mysqltest.Each(t, func(t *testing.T, s *mysqltest.Server) {
		user(t, s, "idler")
		address := through(t, s.Addr())
		open := func(n int) {
			for range n {
				c := logIn(t, address, "idler", "", 0)
				if _, err := c.ask(nil, sql("SELECT REPEAT('x', 20000)")); err != nil {
					t.Fatal(err)
				}
			}
		}

		open(20) // what is made once
		before := inUse()
		open(sessions)
		if each := (inUse() - before) / sessions; each > limit {
			t.Errorf("an idle session holds %d bytes, want at most %d", each, limit)
		} else {
			t.Logf("an idle session holds %d bytes", each)
		}
	})
}

// inUse is the memory in use on the heap and by stacks.
func inUse() int {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapInuse + m.StackInuse)
}
