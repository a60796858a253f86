package wire

import (
	"context"
	database "database/sql"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
	"github.com/ttlproxy/ttlproxy/sandbox"
)

// pause is longer than what proxies cut sessions off for, and shorter than what servers wait.
const pause = 45 * time.Second

// Readers, servers and networks that pause end no session, directly and through the proxy alike;
// clients that vanish end it in about two minutes. It waits in real time: see `make peers`.
func TestPausesEndNoSession(t *testing.T) {
	if os.Getenv("TTLPROXY_TEST_PEERS") == "" {
		t.Skip("takes two minutes of waiting, and only with TTLPROXY_TEST_PEERS=1")
	}

	for _, flavour := range []sandbox.Flavour{sandbox.MariaDB, sandbox.MySQL} {
		t.Run(string(flavour), func(t *testing.T) {
			t.Parallel()
			s := mysqltest.Start(t, flavour, "--local-infile=1")
			schema := s.Database(t)
			frozen := mysqltest.Start(t, flavour, "--local-infile=1")
			ways := map[string]func(s *mysqltest.Server) string{
				"direct":            (*mysqltest.Server).Addr,
				"through the proxy": func(s *mysqltest.Server) string { return through(t, s.Addr()) },
			}

			for name, way := range ways {
				p := peer{config: s.Config(schema), server: s}
				p.config.Addr = way(s)
				t.Run(name+"/reader", func(t *testing.T) { t.Parallel(); p.reads(t) })
				t.Run(name+"/lost packets while idle", func(t *testing.T) { t.Parallel(); p.idles(t) })
				t.Run(name+"/lost packets under an answer", func(t *testing.T) { t.Parallel(); p.waits(t) })
			}

			vanishing := peer{config: s.Config(schema), server: s}
			vanishing.config.Addr = through(t, s.Addr())
			t.Run("vanished", func(t *testing.T) { t.Parallel(); vanishing.vanishes(t) })

			t.Run("frozen server", func(t *testing.T) {
				t.Parallel()
				freeze(t, frozen, map[string]string{
					"direct": frozen.Addr(), "proxied": through(t, frozen.Addr()),
				})
			})
		})
	}
}

// peer is a client of its own, on a socket that the test can make deaf.
type peer struct {
	config *mysql.Config
	server *mysqltest.Server
}

// connect logs in and returns the session and the socket below it.
func (p peer) connect(t *testing.T) (*database.Conn, *net.TCPConn) {
	t.Helper()
	var socket *net.TCPConn
	config := p.config.Clone()
	config.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		var d net.Dialer
		c, err := d.DialContext(ctx, network, address)
		if err == nil {
			socket = c.(*net.TCPConn)
		}
		return c, err
	}

	c, err := mysqltest.Open(t, config).Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c, socket
}

// reads pauses in the middle of a big result.
func (p peer) reads(t *testing.T) {
	const rows = 100
	c, _ := p.connect(t)
	if _, err := c.ExecContext(t.Context(), "SET SESSION net_write_timeout = 600"); err != nil {
		t.Fatal(err)
	}

	r, err := c.QueryContext(t.Context(), fmt.Sprintf("WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n "+
		"WHERE i < %d) SELECT REPEAT('x', 1000000) FROM n", rows))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()

	read := 0
	for ; r.Next(); read++ {
		if read == 0 {
			wait(pause)
		}
	}
	if err := r.Err(); err != nil || read != rows {
		t.Errorf("got %d rows, %v, want %d", read, err, rows)
	}
}

// idles loses packets while keep-alive asks.
func (p peer) idles(t *testing.T) {
	c, socket := p.connect(t)
	wait(58 * time.Second)
	deaf(t, socket)
	wait(40 * time.Second)
	hearing(t, socket)
	if err := c.PingContext(t.Context()); err != nil {
		t.Error(err)
	}
}

// waits loses packets while an answer is on its way.
func (p peer) waits(t *testing.T) {
	c, socket := p.connect(t)
	stop := time.AfterFunc(time.Second, func() { deaf(t, socket) })
	defer stop.Stop()
	again := time.AfterFunc(41*time.Second, func() { hearing(t, socket) })
	defer again.Stop()
	var got int
	if err := c.QueryRowContext(t.Context(), "SELECT 1 + SLEEP(3)").Scan(&got); err != nil || got != 1 {
		t.Errorf("got %d, %v", got, err)
	}
}

// vanishes is gone from one moment to the next, from an idle session.
func (p peer) vanishes(t *testing.T) {
	c, socket := p.connect(t)
	var id int64
	if err := c.QueryRowContext(t.Context(), "SELECT CONNECTION_ID()").Scan(&id); err != nil {
		t.Fatal(err)
	}

	deaf(t, socket)
	began := time.Now()
	db := p.server.Open(t, "")
	for there := 1; there > 0; {
		wait(time.Second)
		err := db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM information_schema.processlist WHERE id = ?", id).
			Scan(&there)
		if err != nil {
			t.Fatal(err)
		}
		if time.Since(began) > 150*time.Second {
			t.Fatal("the session is still there")
		}
	}
	if took := time.Since(began); took < 100*time.Second || took > 125*time.Second {
		t.Errorf("the session ended after %v, want 110 s", took)
	}
}

// freeze stops a server in the middle of LOAD DATA LOCAL.
func freeze(t *testing.T, s *mysqltest.Server, addresses map[string]string) {
	const lines = 400_000
	schema := s.Database(t)
	db := s.Open(t, schema)
	if _, err := db.ExecContext(t.Context(), "CREATE TABLE loaded (way VARCHAR(20), c CHAR(100))"); err != nil {
		t.Fatal(err)
	}

	var begun atomic.Int32
	var g errgroup.Group
	for way, address := range addresses {
		name := string(s.Flavour) + way
		file := &lineReader{line: way + "\t" + strings.Repeat("x", 100) + "\n", left: lines, begun: &begun}
		mysql.RegisterReaderHandler(name, func() io.Reader { return file })
		t.Cleanup(func() { mysql.DeregisterReaderHandler(name) })

		config := s.Config(schema)
		config.Addr = address
		client := mysqltest.Open(t, config)
		g.Go(func() error {
			_, err := client.ExecContext(t.Context(), "LOAD DATA LOCAL INFILE 'Reader::"+name+"' INTO TABLE loaded")
			if err != nil {
				return fmt.Errorf("%s: %w", way, err)
			}
			return nil
		})
	}

	for begun.Load() < int32(len(addresses)) {
		wait(time.Millisecond)
	}
	signal(t, s, syscall.SIGSTOP)
	wait(pause)
	signal(t, s, syscall.SIGCONT)
	if err := g.Wait(); err != nil {
		t.Error(err)
	}

	for way := range addresses {
		var n int
		err := db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM loaded WHERE way = ?", way).Scan(&n)
		if err != nil || n != lines {
			t.Errorf("%s: got %d rows, %v, want %d", way, n, err, lines)
		}
	}
}

// lineReader is a file of so many lines, and says when a tenth of it was read.
type lineReader struct {
	line  string
	left  int
	rest  string
	read  int
	begun *atomic.Int32
}

// Read returns a part of a line, or more.
func (r *lineReader) Read(b []byte) (n int, err error) {
	for n < len(b) {
		if r.rest == "" {
			if r.left == 0 {
				break
			}
			r.rest, r.left, r.read = r.line, r.left-1, r.read+1
			if r.read == 40_000 {
				r.begun.Add(1)
			}
		}
		c := copy(b[n:], r.rest)
		n, r.rest = n+c, r.rest[c:]
	}
	if n == 0 && len(b) > 0 {
		err = io.EOF
	}
	return n, err
}

func signal(t *testing.T, s *mysqltest.Server, sig os.Signal) {
	t.Helper()
	if err := s.Sandbox.Signal(sig); err != nil {
		t.Fatal(err)
	}
}

// wait lets real time pass.
func wait(d time.Duration) { <-time.After(d) }

// deaf makes a socket lose all packets that come.
func deaf(t *testing.T, c *net.TCPConn) {
	nothing := unix.SockFprog{Len: 1, Filter: &unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K}}
	control(t, c, func(fd int) error {
		return unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &nothing)
	})
}

func hearing(t *testing.T, c *net.TCPConn) {
	control(t, c, func(fd int) error { return unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_DETACH_FILTER, 0) })
}

func control(t *testing.T, c *net.TCPConn, do func(fd int) error) {
	t.Helper()
	raw, err := c.SyscallConn()
	if err != nil {
		t.Error(err)
		return
	}
	if err := raw.Control(func(fd uintptr) { err = do(int(fd)) }); err != nil {
		t.Error(err)
	}
	if err != nil {
		t.Error(err)
	}
}
