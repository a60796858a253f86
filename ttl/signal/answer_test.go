package signal

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/catalog/setting"
	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
)

// TestLongAnswersOfAServer: of an answer to a signal's question 64 KiB are read; then that signal is unknown, and no
// other.
func TestLongAnswersOfAServer(t *testing.T) {
	t.Parallel()
	mysqltest.Both(t, func(t *testing.T, server *mysqltest.Server) {
		for name, c := range map[string]struct {
			text string
			read int64 // at least
		}{
			"a long text":  {"SELECT REPEAT('x', 8000000)", mostAnswer},
			"many rows":    {"SELECT 0 FROM information_schema.columns a, information_schema.columns b", mostAnswer},
			"many columns": {"SELECT 0" + strings.Repeat(", REPEAT('x', 1000)", 200), mostAnswer},
			"no number":    {"SELECT REPEAT('x', 20000)", 20_000},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				var read atomic.Int64
				cfg := server.Config("")
				cfg.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
					conn, err := new(net.Dialer).DialContext(ctx, network, address)
					return &countedConn{conn, &read}, err
				}
				connector, err := mysql.NewConnector(Bounded(cfg))
				if err != nil {
					t.Fatal(err)
				}
				db := sql.OpenDB(connector)
				defer db.Close()

				const logins = 20_000 // bytes of two sessions and other questions
				_, err = query{c.text}.Read(t.Context(), Look{Server: db})
				if n := read.Load(); err == nil || n < c.read || n > c.read+logins {
					t.Errorf("%d bytes were read of the answer (%v), want %d", n, err, c.read)
				}

				w := NewWatch(query{c.text}, threads{})
				l := Look{Server: db, Settings: setting.Defaults()}
				for end := time.Now().Add(mysqltest.Patience); states(w) != "query=unknown threads_running=measured"; {
					if time.Now().After(end) {
						t.Fatalf("the signals say %s", states(w))
					}
					w.Ask(t.Context(), l)
					time.Sleep(100 * time.Millisecond)
				}
				for _, r := range w.Readings() {
					if len(r.Detail) > 2*mostText {
						t.Errorf("%d bytes are passed on: %.100s", len(r.Detail), r.Detail)
					}
				}
			})
		}
	})
}

// states are those that a watch shows.
func states(w *Watch) string {
	var all []string
	for _, r := range w.Readings() {
		all = append(all, r.Signal+"="+string(r.State))
	}
	return strings.Join(all, " ")
}

// countedConn counts what comes.
type countedConn struct {
	net.Conn
	read *atomic.Int64
}

func (c *countedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.read.Add(int64(n))
	return n, err
}

// TestLongAnswersOfAnAddress: of an address that never ends its answer 64 KiB are read, and no body.
func TestLongAnswersOfAnAddress(t *testing.T) {
	t.Parallel()
	const head = "HTTP/1.1 200 OK\r\n"
	for name, c := range map[string]struct {
		begin, goOn string
		tooLong     bool
	}{
		"body":    {head + "\r\n", "and so on ", false},
		"headers": {head, "X-And: so on\r\n", true},
		"header":  {head + "X-And: ", "so on ", true},
		"status":  {"HTTP/1.1 503 ", "so on ", true},
		"garbage": {"", "so on ", true},
		"news":    {"", "HTTP/1.1 103 Early Hints\r\nX-And: so on\r\n\r\n", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address := answering(t, c.begin, c.goOn)
			check, err := newWebCheck("http://" + address + "/")
			if err != nil {
				t.Fatal(err)
			}

			var read atomic.Int64
			transport, _ := check.client.Transport.(*http.Transport)
			transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
				conn, err := new(net.Dialer).DialContext(ctx, network, address)
				return &countedConn{conn, &read}, err
			}
			const buffer = 4 << 10 // is filled before anybody looks at it
			readings, err := check.Read(t.Context(), Look{})
			if n := read.Load(); n > mostAnswer+2*buffer || !c.tooLong && n > 2*buffer {
				t.Errorf("%d bytes of the answer were read", n)
			}
			if !c.tooLong && (err != nil || readings[0].State != Measured) {
				t.Errorf("got %+v, %v, want the status to count", readings, err)
			}
			if c.tooLong && (err == nil || !strings.Contains(err.Error(), "exceeded 65536 bytes")) {
				t.Errorf("got %+v, %.200v, want it to be too long", readings, err)
			}
		})
	}
}

// answering is the address of somebody who goes on answering until nobody listens.
func answering(t *testing.T, begin, goOn string) (address string) {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })

	more := bytes.Repeat([]byte(goOn), 1000)
	go func() { // until l is closed
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, err = http.ReadRequest(bufio.NewReader(conn)) // an answer that comes before is none
			if err == nil {
				_, err = io.WriteString(conn, begin)
			}
			for err == nil {
				_, err = conn.Write(more)
			}
			conn.Close()
		}
	}()
	return l.Addr().String()
}

// TestBrief: a text of an answer is cut where a character ends.
func TestBrief(t *testing.T) {
	t.Parallel()
	if got := brief(strings.Repeat("ü", mostText)); got != strings.Repeat("ü", mostText) {
		t.Errorf("a short text is cut: %s", got)
	}
	if got, want := brief(strings.Repeat("ü", mostText+1)), strings.Repeat("ü", mostText)+"…"; got != want {
		t.Errorf("got %s", got)
	}
}
