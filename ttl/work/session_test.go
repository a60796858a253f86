package work

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/ttl/plan"
	"github.com/ttlproxy/ttlproxy/ttl/ttltest"
)

// TestBrokenSessionIsReplaced: a connection that the server has closed under an engine's questions
// does not stay in use.
func TestBrokenSessionIsReplaced(t *testing.T) {
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		s := f.engine.Session()
		defer s.Close()

		if err := s.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}

		f.Exec("KILL " + strconv.FormatUint(s.ID(), 10))
		var one int
		f.Wait("the connection to be gone",
			func() bool { return s.QueryRowContext(t.Context(), "SELECT 1").Scan(&one) != nil })
		if err := s.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := s.QueryRowContext(t.Context(), "SELECT 1").Scan(&one); err != nil {
			t.Errorf("after it was made ready again: %v", err)
		}
	})
}

// TestClosedSessionsAnswer: a session may be closed between two questions, by a ROLLBACK for example that a busy server
// does not answer in time. The next question is answered with an error, and does not end the whole process.
func TestClosedSessionsAnswer(t *testing.T) {
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		s := newFixture(t, cfg, 0).engine.Session()
		if err := s.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}

		s.Close()
		var one int
		_, keys := plan.QueryKeys(t.Context(), s, "SELECT 1", 1)
		_, packet := s.packet(t.Context(), "DO 0")
		_, number := s.TableNumber(t.Context(), "DO 0")
		for what, err := range map[string]error{
			"a row": s.QueryRowContext(t.Context(), "SELECT 1").Scan(&one), "keys": keys, "a packet": packet, "a number": number,
		} {
			if !errors.Is(err, sql.ErrConnDone) || !lost(err) {
				t.Errorf("%s: got %v", what, err)
			}
		}

		if err := s.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if err := s.QueryRowContext(t.Context(), "SELECT 1").Scan(&one); err != nil {
			t.Errorf("after it was made ready again: %v", err)
		}
	})
}

// TestTriggersLeaveNothingBehind: the next batch of the table is sent in a session whose variables
// are as they were.
func TestTriggersLeaveNothingBehind(t *testing.T) {
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 100)
		f.Exec(f.In(ttltest.Stray))
		table := f.serverTable()
		if err := table.session.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}

		before := ttltest.Variables(t, table.session, "SESSION")
		expect := func(after string) {
			t.Helper()
			ttltest.ReadsTheServersClock(t, "engine after "+after, table.session)
			for name, now := range ttltest.Variables(t, table.session, "SESSION") {
				if now != before[name] && !moving(name) {
					t.Errorf("after %s: %s is %s, and was %s", after, name, now, before[name])
				}
			}
		}

		if n, err := table.deleteRange(t.Context(), plan.Range{To: tables.Key{"50"}},
			checkpoint{cursor: tables.Key{"50"}}); n != 25 || err != nil {
			t.Fatalf("got %d rows, %v; want 25", n, err)
		}

		expect("a batch")

		f.Exec(f.In("CREATE TRIGGER {t}.objects AFTER DELETE ON {t}.t FOR EACH ROW FOLLOWS stray SIGNAL SQLSTATE " +
			"'45000'"))
		if _, err := table.deleteRange(t.Context(), plan.Range{From: tables.Key{"50"}},
			checkpoint{cursor: tables.Key{"100"}}); err == nil {
			t.Fatal("the trigger did not object")
		}

		expect("one that was rolled back")
	})
}

// moving reports whether a variable is another one at each look.
func moving(name string) bool {
	switch name {
	case "timestamp", "statement_id", "error_count", "warning_count", "rand_seed1", "rand_seed2":
		return true
	}
	return strings.Contains(name, "gtid")
}

// TestNumberOfALostSession: a session that was killed is opened anew after it was asked for a table's number.
func TestNumberOfALostSession(t *testing.T) {
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 10)
		if f.Store.Server().MariaDB {
			return // which has no such number
		}
		table := f.serverTable()
		touch := table.statements.Touch()
		for _, lost := range []bool{false, true, false} {
			if err := table.session.Ready(t.Context()); err != nil {
				t.Fatal(err)
			}
			if lost {
				f.Exec("KILL " + strconv.FormatUint(table.session.ID(), 10))
			}
			if n, err := table.session.TableNumber(t.Context(), touch); (err != nil) != lost || (n == 0) != lost {
				t.Errorf("got number %d, %v, of a session that was lost: %v", n, err, lost)
			}
		}
	})
}

// TestRollbackOfABusyServer: a session outlives a ROLLBACK that takes more than a moment.
func TestRollbackOfABusyServer(t *testing.T) {
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		cfg = cfg.Clone()
		cfg.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
			c, err := new(net.Dialer).DialContext(ctx, network, address)
			return lateRollback{c}, err
		}
		s := newFixture(t, cfg, 0).engine.Session()
		defer s.Close()
		if err := s.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}

		id := s.ID()
		if _, err := s.packet(t.Context(), "NONSENSE"); err == nil || lost(err) {
			t.Fatalf("got %v, want an error of the server", err)
		}
		if err := s.Ready(t.Context()); err != nil || s.ID() != id {
			t.Errorf("got session %d, %v; want %d to go on", s.ID(), err, id)
		}
	})
}

// lateRollback is a connection to a server that is too busy to answer a ROLLBACK at once.
type lateRollback struct{ net.Conn }

func (c lateRollback) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte("ROLLBACK")) {
		time.Sleep(3 * time.Second / 2)
	}
	return c.Conn.Write(p)
}
