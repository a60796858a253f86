package wire

import (
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
	"github.com/ttlproxy/ttlproxy/proxy/wire"
)

// user creates an account without a password.
func user(t *testing.T, s *mysqltest.Server, name string) {
	t.Helper()
	db := s.Open(t, "")
	for _, q := range []string{
		"DROP USER IF EXISTS " + name, "CREATE USER " + name + " IDENTIFIED BY ''",
		"GRANT ALL ON *.* TO " + name,
	} {
		if _, err := db.ExecContext(t.Context(), q); err != nil {
			t.Fatalf("%s: %v", q, err)
		}
	}
}

// Pitfall 23: the id that a client is greeted with is the one that KILL takes, as a statement and
// as a command.
func TestKillWithTheIDTheClientSees(t *testing.T) {
	mysqltest.Each(t, func(t *testing.T, s *mysqltest.Server) {
		user(t, s, "killer")
		for way, proxied := range throughBoth(t, s.Addr()) {
			t.Run(way, func(t *testing.T) { killsByNumber(t, s, proxied) })
		}
	})
}

func killsByNumber(t *testing.T, s *mysqltest.Server, proxied string) {
	t.Helper()
	killer := logIn(t, proxied, "killer", "", 0)
	for name, kill := range map[string]func(id uint32) []byte{
		"statement": func(id uint32) []byte { return sql(fmt.Sprintf("KILL %d", id)) },
		"query":     func(id uint32) []byte { return sql(fmt.Sprintf("KILL QUERY %d", id)) },
		"command": func(id uint32) []byte {
			return cmd(wire.ProcessKill, binary.LittleEndian.AppendUint32(nil, id)...)
		},
	} {
		if name == "command" && !s.MariaDB() {
			continue // MySQL 9 has it no more
		}

		victim := logIn(t, proxied, "killer", "", 0)
		answered := make(chan string, 1)
		go func() {
			answer, err := victim.ask(nil, sql("SELECT SLEEP(60)"))
			answered <- fmt.Sprintf("%.60q %v", answer, err)
		}()
		waitFor(t, s,
			fmt.Sprintf("SELECT COUNT(*) FROM information_schema.processlist WHERE id = %d AND info LIKE 'SELECT "+
				"SLEEP%%'", victim.greeting.ConnectionID))

		if answer, err := killer.ask(nil, kill(victim.greeting.ConnectionID)); err != nil || answer[4] != 0 {
			t.Errorf("%s: got %q, %v, want OK", name, answer, err)
		}

		t.Logf("%s: the victim got %s", name, <-answered)
	}
}

// waitFor waits until a query returns a number other than 0.
func waitFor(t *testing.T, s *mysqltest.Server, query string) {
	t.Helper()
	db := s.Open(t, "")
	for n := 0; n == 0; {
		if err := db.QueryRowContext(t.Context(), query).Scan(&n); err != nil {
			t.Fatal(err)
		}
	}
}

// Pitfall 24: COM_CHANGE_USER brings another account, with the server's own questions, and the
// session goes on.
func TestChangeUser(t *testing.T) {
	mysqltest.Each(t, func(t *testing.T, s *mysqltest.Server) {
		user(t, s, "earlier")
		user(t, s, "later")
		for way, proxied := range throughBoth(t, s.Addr()) {
			t.Run(way, func(t *testing.T) { changesUser(t, logIn(t, proxied, "earlier", "", 0)) })
		}
	})
}

func changesUser(t *testing.T, c *conn) {
	t.Helper()
	for _, name := range []string{"later", "earlier"} {
		change := append(cmd(wire.ChangeUser), name...)
		change = append(change, 0, 0, 0, 45, 0) // no password, no schema, utf8mb4
		change = append(append(change, c.greeting.AuthPlugin...), 0)
		c.send(0, change)

		if err := c.authenticate(""); err != nil {
			t.Fatal(err)
		}

		answer, err := c.ask(nil, sql("SELECT USER()"))
		if err != nil {
			t.Fatal(err)
		}

		r, err := wire.DecodeResult(answer, wire.TextRows, c.caps)
		if err != nil || string(r.Rows[0][0][:len(name)]) != name {
			t.Errorf("got %q, %v, want %s", answer, err, name)
		}
	}
}
