package integration

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
	"github.com/ttlproxy/ttlproxy/integration/program"
)

// pair is two proxies, of which clients use whichever lets them in, as behind a load balancer.
type pair struct {
	args      []string
	mu        sync.Mutex
	processes [2]*program.Process
	turn      atomic.Int64
}

// dial tries the proxies in turn.
func (p *pair) dial(ctx context.Context, _, _ string) (c net.Conn, err error) {
	for range 2 {
		p.mu.Lock()
		address := p.processes[p.turn.Add(1)%2].Addr
		p.mu.Unlock()
		var d net.Dialer
		if c, err = d.DialContext(ctx, "tcp", address); err == nil {
			return c, nil
		}
	}
	return nil, err
}

// restart replaces one of the proxies by a new one, and returns when the old one has drained.
func (p *pair) restart(t *testing.T, i int) {
	t.Helper()
	fresh := program.Start(t, program.Config{Args: p.args})
	p.mu.Lock()
	old := p.processes[i]
	p.processes[i] = fresh
	p.mu.Unlock()

	if err := old.Stop(); err != nil {
		t.Error(err)
	}
	if strings.Contains(old.Log(), "cutting off") {
		t.Error("a session was cut off although its transaction was short")
	}

	for _, line := range []string{"ttlproxy starts", "stopping", "stopped"} {
		if !strings.Contains(old.Log(), `"msg":"`+line) {
			t.Errorf("the log does not say %q:\n%s", line, old.Log())
		}
	}
}

// Both proxies are restarted again and again, under load. No committed row is lost, and no session
// loses its transaction: what was begun is committed.
func TestRestartUnderLoadLosesNothing(t *testing.T) {
	mysqltest.Both(t, func(t *testing.T, s *mysqltest.Server) {
		db := s.DB(t)
		execAll(t, db, "CREATE TABLE t (id BIGINT PRIMARY KEY)")
		var schema string
		if err := db.QueryRowContext(t.Context(), "SELECT DATABASE()").Scan(&schema); err != nil {
			t.Fatal(err)
		}

		p := &pair{args: proxyArgs(s)}
		for i := range p.processes {
			p.processes[i] = program.Start(t, program.Config{Args: p.args})
		}

		c := s.Config(schema)
		c.DialFunc, c.Logger = p.dial, &mysql.NopLogger{}
		clients := mysqltest.Open(t, c)
		clients.SetMaxIdleConns(8)

		ctx, cancel := context.WithCancel(t.Context())
		var load sync.WaitGroup
		var committed, refused atomic.Int64

		for worker := range int64(8) {
			load.Go(func() {
				for n := int64(0); ctx.Err() == nil; n++ {
					switch err := commitOne(clients, worker<<32|n); {
					case err == nil:
						committed.Add(1)
					case errors.Is(err, errNotBegun):
						refused.Add(1)
					default:
						t.Errorf("inside a transaction: %v", err)
					}
				}
			})
		}

		for round := range 6 {
			awaitMore(t, &committed, 100)
			p.restart(t, round%2)
		}

		cancel()
		load.Wait()
		areThere(t, db, committed.Load())

		t.Logf("%d committed, %d could not begin", committed.Load(), refused.Load())
	})
}

var errNotBegun = errors.New("not begun")

// commitOne runs a transaction that takes its time.
func commitOne(db *sql.DB, id int64) error {
	ctx := context.Background()
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return errors.Join(errNotBegun, err)
	}
	defer tx.Rollback()
	if _, err := tx.ExecContext(ctx, "INSERT INTO t VALUES (?)", id); err != nil {
		return err
	}
	<-time.After(20 * time.Millisecond)
	return tx.Commit()
}

// proxyArgs are what a proxy needs to serve a shared server, with a catalog of the test's own.
func proxyArgs(s *mysqltest.Server) []string {
	c := s.Config("")
	return []string{
		"--backend=" + c.Addr, "--engine-user=" + c.User, "--engine=off",
		fmt.Sprintf("--catalog-schema=ttlproxy_t%d", number.Add(1)),
	}
}

func execAll(t *testing.T, db *sql.DB, statements ...string) {
	t.Helper()
	for _, q := range statements {
		if _, err := db.ExecContext(t.Context(), q); err != nil {
			t.Fatalf("%s: %v", q, err)
		}
	}
}

// A transaction that does not end is cut off after the deadline, and the server rolls it back.
func TestDrainHasADeadline(t *testing.T) {
	mysqltest.Both(t, func(t *testing.T, s *mysqltest.Server) {
		p := program.Start(t, program.Config{Args: append(proxyArgs(s), "--drain-timeout=300ms")})
		c := s.Config("")
		c.Addr = p.Addr

		tx, err := mysqltest.Open(t, c).BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}

		began := time.Now()
		if err := p.Stop(); err != nil {
			t.Fatal(err)
		}
		cut := loggedAt(t, p, "cutting off") // what it takes to end on a busy machine comes after that
		if least, most := cut.Sub(began), cut.Sub(loggedAt(t, p, "stopping")); least < 300*time.Millisecond ||
			most > 10*time.Second {
			t.Errorf("draining took between %v and %v, want a little over 300ms", most, least)
		}
		if err := tx.Commit(); err == nil {
			t.Error("the transaction was committed over a session that is gone")
		}
	})
}

// loggedAt is when a proxy logged a message, of which a part is given.
func loggedAt(t *testing.T, p *program.Process, part string) time.Time {
	t.Helper()
	for line := range strings.Lines(p.Log()) {
		var entry struct {
			Time time.Time
			Msg  string
		}
		if json.Unmarshal([]byte(line), &entry) == nil && strings.Contains(entry.Msg, part) {
			return entry.Time
		}
	}
	t.Fatalf("the log does not say %q", part)
	return time.Time{}
}

// awaitMore waits until so many more were committed.
func awaitMore(t *testing.T, committed *atomic.Int64, more int64) {
	t.Helper()
	for before := committed.Load(); committed.Load() < before+more && !t.Failed(); {
		<-time.After(time.Millisecond)
	}
}

// areThere demands exactly the rows that were committed.
func areThere(t *testing.T, db *sql.DB, committed int64) {
	t.Helper()
	var rows int64
	if err := db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM t").Scan(&rows); err != nil {
		t.Fatal(err)
	}
	if rows != committed {
		t.Errorf("%d rows are there, %d were committed", rows, committed)
	}
}
