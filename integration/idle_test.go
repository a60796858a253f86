package integration

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
	"github.com/ttlproxy/ttlproxy/integration/program"
)

// quietFor is how long a node is listened to, and quietly how many statements a second it may send
// while nothing happens, whatever it has to look after.
const (
	quietFor = 10 * time.Second
	quietly  = 5
)

// TestIdleNodeIsQuiet: a node whose tables should lose their rows within a second, and in which nothing
// happens, sends few statements: those of the engine, of the catalog and of the backend's checks.
func TestIdleNodeIsQuiet(t *testing.T) {
	t.Parallel()
	mysqltest.Both(t, func(t *testing.T, s *mysqltest.Server) {
		const tables, most = 20, int(quietFor/time.Second) * quietly
		w := wiretapped(t, s.Addr())
		args := append(proxyArgs(s), "--engine=on", "--backend-tls=never")
		args[0] = "--backend=" + w.Addr()
		p := program.Start(t, program.Config{Args: args})

		config := s.Config(s.Database(t))
		config.Addr = p.Addr
		db := mysqltest.Open(t, config)
		for i := range tables {
			lag := " TTL_JOB_INTERVAL = '1s'"
			if i%2 == 0 {
				lag = " TTL_MAX_LAG = '10s'"
			}
			execAll(t, db, fmt.Sprintf("CREATE TABLE t%d (id INT PRIMARY KEY, at TIMESTAMP(6) NOT NULL, KEY (at)) "+
				"TTL = at + INTERVAL 1 HOUR%s", i, lag), fmt.Sprintf("INSERT INTO t%d VALUES (1, NOW())", i))
		}

		catalog := strings.TrimPrefix(args[len(args)-3], "--catalog-schema=")
		ran := "SELECT COUNT(*) FROM " + catalog + ".schedule WHERE looked_at IS NOT NULL"
		straight := s.DB(t)
		waitUntil(t, "each table to be looked at", func() bool {
			var n int
			return straight.QueryRowContext(t.Context(), ran).Scan(&n) == nil && n == tables
		})
		_ = db.Close() // whose sessions would be counted, too

		// What else goes on may have it connect anew, or look twice: it is quiet if it is for once.
		var sent []string
		for range 3 {
			if sent = w.listen(t, quietFor); len(sent) <= most {
				break
			}
		}
		if n := len(sent); n > most || n < 5 {
			t.Errorf("%d statements in %v, want some, and at most %d a second:\n%s", n, quietFor, quietly,
				strings.Join(tally(sent), "\n"))
		}
	})
}

// tally counts what begins alike, the most frequent first.
func tally(sent []string) (lines []string) {
	counts := map[string]int{}
	for _, text := range sent {
		words := strings.Fields(text)
		counts[strings.Join(words[:min(len(words), 12)], " ")]++
	}
	for text, n := range counts {
		lines = append(lines, fmt.Sprintf("%5d %.150s", n, text))
	}
	slices.Sort(lines)
	slices.Reverse(lines)
	return lines
}

// waitUntil waits for something that happens.
func waitUntil(t *testing.T, what string, happened func() bool) {
	t.Helper()
	deadline := time.NewTimer(mysqltest.Patience)
	defer deadline.Stop()
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()

	for !happened() {
		select {
		case <-again.C:
		case <-deadline.C:
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// wiretap relays connections to a server and hears the statements.
type wiretap struct {
	net.Listener
	server string

	mu      sync.Mutex
	hearing bool
	heard   []string
}

func wiretapped(t *testing.T, server string) *wiretap {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}

	w := &wiretap{Listener: l, server: server}
	var relays sync.WaitGroup
	relays.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			relays.Go(func() { w.relay(c) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		relays.Wait() // the proxy has been stopped before
	})

	return w
}

// Addr is where to connect.
func (w *wiretap) Addr() string { return w.Listener.Addr().String() }

// relay returns when both sides have closed the connection.
func (w *wiretap) relay(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", w.server)
	if err != nil {
		return
	}
	defer server.Close()

	var back sync.WaitGroup
	defer back.Wait()
	back.Go(func() {
		_, _ = io.Copy(client, server)
		_ = client.Close()
	})

	from := bufio.NewReader(client)
	for {
		packet, err := readPacket(from)
		if err != nil {
			_ = server.Close()
			return
		}

		const query = 3 // COM_QUERY, as the first packet of a command
		if packet[3] == 0 && len(packet) > 4 && packet[4] == query {
			w.hear(string(packet[5:]))
		}
		if _, err := server.Write(packet); err != nil {
			return
		}
	}
}

// readPacket reads a packet with its header.
func readPacket(from *bufio.Reader) ([]byte, error) {
	header, err := from.Peek(4)
	if err != nil {
		return nil, err
	}
	packet := make([]byte, 4+binary.LittleEndian.Uint32(header)&0xffffff)
	_, err = io.ReadFull(from, packet)
	return packet, err
}

func (w *wiretap) hear(text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.hearing {
		w.heard = append(w.heard, strings.Split(text, ";\n")...)
	}
}

// listen returns what is heard for so long.
func (w *wiretap) listen(t *testing.T, d time.Duration) []string {
	t.Helper()
	w.set(true)
	select {
	case <-time.After(d):
	case <-t.Context().Done():
	}
	return w.set(false)
}

// set begins to hear, or ends it, and returns what was heard.
func (w *wiretap) set(hearing bool) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	heard := w.heard
	w.hearing, w.heard = hearing, nil
	return heard
}
