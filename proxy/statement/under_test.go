package statement

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
	"github.com/ttlproxy/ttlproxy/proxy"
	"github.com/ttlproxy/ttlproxy/proxy/wire"
)

// inClient is something that happens in a client's session, in which wait is 1 and waits for a table.
type inClient func(x *proxy.Exchange, wait string) error

// killing lets f happen while somebody has locked the table, ends the first of its statements that waits for it, or all
// of them, by KILL QUERY, and unlocks it. It returns the client's session, and what the client is answered.
func killing(t *testing.T, s *mysqltest.Server, all bool, f inClient) (*sql.Conn, error) {
	t.Helper()
	schema := s.Database(t)
	locker, err := s.Open(t, schema).Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer locker.Close()
	lock := func(statement string) {
		t.Helper()
		if _, err := locker.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	lock("CREATE TABLE awaited AS SELECT 1 AS id")
	lock("LOCK TABLES awaited WRITE")

	config := s.Config("")
	config.Addr = proxyWith(t, s.Addr(), handlerFunc(func(_ context.Context, x *proxy.Exchange) error {
		if err := f(x, "(SELECT id FROM "+schema+".awaited)"); err != nil {
			return err
		}
		return x.OK(wire.OK{})
	}))
	client, err := mysqltest.Open(t, config).Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	if _, err := client.ExecContext(t.Context(),
		"SET sql_notes = 0, max_error_count = 0, lock_wait_timeout = 77"); err != nil {
		t.Fatal(err)
	}

	answered := make(chan error, 1)
	go func() {
		_, err := client.ExecContext(context.WithoutCancel(t.Context()), "ours")
		answered <- err
	}()
	on := s.Open(t, "")
	for !killWaiting(t, on, schema) || all {
		select {
		case err := <-answered:
			return client, err
		case <-time.After(5 * time.Millisecond):
		}
	}
	lock("UNLOCK TABLES")
	return client, <-answered
}

// killWaiting ends the statement that waits for the table, if there is one.
func killWaiting(t *testing.T, on *sql.DB, schema string) bool {
	t.Helper()
	waiting := mysqltest.Processes(t, on, "STATE LIKE 'Waiting for table%' AND INFO LIKE ?", "%"+schema+".awaited%")
	if len(waiting) == 0 {
		return false
	}
	_, err := on.ExecContext(t.Context(), fmt.Sprintf("KILL QUERY %d", waiting[0]))
	if refused := new(mysql.MySQLError); errors.As(err, &refused) && refused.Number == 1094 { // it is gone
		return false
	}
	if err != nil {
		t.Fatal(err)
	}
	return true
}

// wantSettings fails the test unless a session has the settings that its client has made.
func wantSettings(t *testing.T, client *sql.Conn) {
	t.Helper()
	var got string
	if err := client.QueryRowContext(t.Context(), "SELECT CONCAT_WS(' ', @@sql_notes + 0, @@max_error_count, "+
		"@@lock_wait_timeout)").Scan(&got); err != nil || got != "0 0 77" {
		t.Errorf("got settings %q, %v, want the client's", got, err)
	}
}

// A KILL QUERY that hits a statement of ours leaves the client's settings as they were, whichever it hits.
func TestKillLeavesTheClientsSettings(t *testing.T) {
	t.Parallel()
	mysqltest.Both(t, func(t *testing.T, s *mysqltest.Server) {
		waits := map[string]inClient{
			"while we look for notes": func(x *proxy.Exchange, wait string) error {
				_, _, err := (&request{x: x}).noted(ddl.CodeNoTable, func() (*proxy.Held, error) {
					_, err := x.Ask("SELECT " + wait)
					return nil, err
				})
				return err
			},
			"while a table is locked": func(x *proxy.Exchange, wait string) error {
				return within(x, 60, func() error {
					_, err := x.Ask("SELECT " + wait)
					return err
				})
			},
			"before ours are set": func(x *proxy.Exchange, wait string) error {
				return under(x, "SET max_error_count = "+wait, "SET max_error_count = 0", func() error { return nil })
			},
		}
		for when, f := range waits {
			t.Run(when, func(t *testing.T) {
				client, err := killing(t, s, false, f)
				if err == nil {
					t.Error("got OK, want what the server said")
				}
				wantSettings(t, client)
			})
		}

		t.Run("while the client's are put back", func(t *testing.T) {
			client, err := killing(t, s, false, func(x *proxy.Exchange, wait string) error {
				return under(x, "SET max_error_count = 5", "SET max_error_count = 1 - "+wait, func() error { return nil })
			})
			if err != nil {
				t.Errorf("got %v, want OK: the statement itself was not hit", err)
			}
			wantSettings(t, client)
		})
	})
}

// If the client's settings cannot be put back, the client is told, and its session ends.
func TestSettingsThatAreLostEndTheSession(t *testing.T) {
	t.Parallel()
	mysqltest.Both(t, func(t *testing.T, s *mysqltest.Server) {
		client, err := killing(t, s, true, func(x *proxy.Exchange, wait string) error {
			return under(x, "SET max_error_count = 5", "SET max_error_count = 1 - "+wait, func() error { return nil })
		})
		if err == nil || !errors.As(err, new(*mysql.MySQLError)) {
			t.Errorf("got %v, want an error that says so", err)
		}
		if err := client.PingContext(t.Context()); err == nil {
			t.Error("the session goes on")
		}
	})
}
