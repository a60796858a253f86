package integration

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
	"github.com/ttlproxy/ttlproxy/integration/program"
)

// passedSocket is a listening socket that outlives the processes it is passed to, as one of
// systemd's does.
func passedSocket(t *testing.T) (address string, socket *os.File) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()

	if socket, err = l.(*net.TCPListener).File(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { socket.Close() })
	return l.Addr().String(), socket
}

// told is the place of systemd: it collects what a process says about itself.
func told(t *testing.T) (path string, states func() string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "notify")
	c, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })

	var mu sync.Mutex
	var all strings.Builder
	go func() {
		for b := make([]byte, 1<<10); ; {
			n, err := c.Read(b)
			if err != nil {
				return
			}
			mu.Lock()
			fmt.Fprintf(&all, "%s\n", b[:n])
			mu.Unlock()
		}
	}()
	return path, func() string {
		mu.Lock()
		defer mu.Unlock()
		return all.String()
	}
}

// Proxies replace each other behind a socket that stays open, one of them by another binary, while
// clients come all the time: none is refused, and no transaction is lost. At length with
// TTLPROXY_TEST_RESTARTS (make restarts).
func TestRestartRefusesNobody(t *testing.T) {
	mysqltest.Both(t, func(t *testing.T, s *mysqltest.Server) {
		rate, restarts := 50, 3 // connections in a second
		if os.Getenv("TTLPROXY_TEST_RESTARTS") != "" {
			rate, restarts = 500, 20
		}
		schema := s.Database(t)
		db := s.Open(t, schema)
		execAll(t, db, "CREATE TABLE t (id BIGINT PRIMARY KEY)",
			"SET GLOBAL max_connections = 3000") // those that have waited come at once
		address, socket := passedSocket(t)
		notified, states := told(t)
		config := program.Config{
			Args: append(proxyArgs(s), "--listen=systemd:clients"), Sockets: []*os.File{socket},
			Env: []string{"NOTIFY_SOCKET=" + notified, "WATCHDOG_USEC=200000"},
		}
		p := program.Start(t, config)

		c := s.Config(schema)
		c.Addr, c.Logger = address, &mysql.NopLogger{}
		connector, err := mysql.NewConnector(c)
		if err != nil {
			t.Fatal(err)
		}

		ctx, cancel := context.WithCancel(t.Context())
		var load sync.WaitGroup
		var committed, closed atomic.Int64
		load.Go(func() {
			tick := time.NewTicker(time.Second / time.Duration(rate))
			defer tick.Stop()
			for id := int64(1); ctx.Err() == nil; id++ {
				load.Go(func() {
					switch err := comeAndCommit(connector, id); {
					case err == nil:
						committed.Add(1)
					case errors.Is(err, errNotBegun):
						closed.Add(1)
					default:
						t.Error(err)
					}
				})
				<-tick.C
			}
		})

		if err := p.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}

		for round := range restarts {
			awaitMore(t, &committed, int64(rate)/2)
			if round == restarts/2 {
				config.Path = anotherBinary(t)
			}
			if err := p.Stop(); err != nil {
				t.Error(err)
			}
			p = program.Start(t, config)
		}

		cancel()
		load.Wait()
		areThere(t, db, committed.Load())
		for _, state := range []string{
			"READY=1", "STOPPING=1", "WATCHDOG=1", "RELOADING=1\nMONOTONIC_USEC=",
		} {
			if !strings.Contains(states(), state) {
				t.Errorf("nobody was told %s", state)
			}
		}
		t.Logf("%d committed, %d were closed before they began", committed.Load(), closed.Load())
	})
}

// comeAndCommit is a new client with one transaction. That it cannot log in is a refusal; that it
// is sent away before it has begun anything is the fate of every idle session.
func comeAndCommit(connector driver.Connector, id int64) error {
	ctx := context.Background()
	db := sql.OpenDB(connector)
	defer db.Close()

	conn, err := db.Conn(ctx)
	if err != nil {
		return fmt.Errorf("refused: %w", err)
	}
	defer conn.Close()

	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return errors.Join(errNotBegun, err)
	}
	defer tx.Rollback()
	if _, err := tx.ExecContext(ctx, "INSERT INTO t VALUES (?)", id); err != nil {
		return err
	}
	return tx.Commit()
}

// anotherBinary is the same program under another name.
func anotherBinary(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ttlproxy")
	if out, err := exec.CommandContext(t.Context(), "cp", program.Build(t), path).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return path
}
