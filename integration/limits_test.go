package integration

import (
	"database/sql"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
	"github.com/ttlproxy/ttlproxy/integration/program"
)

// An account may hold so many connections, all accounts together so many more. Who is turned away
// reads the server's own error, and is let in when somebody leaves.
func TestConnectionLimits(t *testing.T) {
	mysqltest.Both(t, func(t *testing.T, s *mysqltest.Server) {
		ann, bob := s.Account(t, "ann"), s.Account(t, "bob")
		p := program.Start(t, program.Config{Args: append(proxyArgs(s), "--max-connections=3",
			"--max-user-connections=2")})
		first := enter(t, ann, p.Addr, 0)
		enter(t, ann, p.Addr, 0)
		enter(t, ann, p.Addr, 1203)
		enter(t, bob, p.Addr, 0)
		enter(t, bob, p.Addr, 1040)

		if err := first.Close(); err != nil {
			t.Fatal(err)
		}

		enter(t, bob, p.Addr, 0)
	})
}

// enter logs in for the rest of the test, and expects an error, or 0 for none. Who was turned away,
// or has left, may hold its place for a moment longer.
func enter(t *testing.T, account *mysql.Config, at string, want uint16) *sql.DB {
	t.Helper()
	c := account.Clone()
	c.Addr = at
	db := mysqltest.Open(t, c)
	db.SetMaxOpenConns(1)

	err := db.PingContext(t.Context())
	for deadline := time.Now().Add(program.Patience); want == 0 && errorNumber(err) == 1040 &&
		time.Now().Before(deadline); {
		err = db.PingContext(t.Context())
	}

	if errorNumber(err) != want || want == 0 && err != nil {
		t.Fatalf("%s: got %v, want error %d", account.User, err, want)
	}

	return db
}

func errorNumber(err error) uint16 {
	if my, ok := errors.AsType[*mysql.MySQLError](err); ok {
		return my.Number
	}
	return 0
}

// A client that connects and says nothing is shown out at the deadline of the login.
func TestLoginDeadline(t *testing.T) {
	mysqltest.Both(t, func(t *testing.T, s *mysqltest.Server) {
		p := program.Start(t, program.Config{Args: append(proxyArgs(s), "--login-timeout=300ms")})
		var d net.Dialer
		c, err := d.DialContext(t.Context(), "tcp", p.Addr)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()

		if err := c.SetReadDeadline(time.Now().Add(program.Patience)); err != nil {
			t.Fatal(err)
		}

		// The greeting comes, then perhaps an error, then the end: what matters is that it ends by
		// itself.
		if _, err := io.Copy(io.Discard, c); err != nil && !errors.Is(err, net.ErrClosed) {
			var timeout net.Error
			if errors.As(err, &timeout) && timeout.Timeout() {
				t.Errorf("still connected after %v", program.Patience)
			}
		}
	})
}
