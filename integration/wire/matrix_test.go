package wire

import (
	"crypto/tls"
	"fmt"
	"testing"

	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
	"github.com/ttlproxy/ttlproxy/proxy"
	"github.com/ttlproxy/ttlproxy/proxy/wire"
)

// accounts are one for each plugin that a client without a driver can answer: it knows one
// password's arithmetic and the empty password.
func accounts(mariaDB bool) map[string]string {
	if mariaDB {
		return map[string]string{
			"mysql_native_password":        "IDENTIFIED VIA mysql_native_password USING PASSWORD('secret')",
			"mysql_native_password, empty": "IDENTIFIED VIA mysql_native_password USING ''",
			"mysql_old_password, empty":    "IDENTIFIED VIA mysql_old_password USING ''",
			"one of two plugins": "IDENTIFIED VIA unix_socket OR mysql_native_password USING " +
				"PASSWORD('secret')",
			"mysql_native_password, wrong one": "IDENTIFIED VIA mysql_native_password USING PASSWORD('another')",
			"locked": "IDENTIFIED VIA mysql_native_password USING PASSWORD('secret') " +
				"ACCOUNT LOCK",
		}
	}
	return map[string]string{
		"caching_sha2_password, empty": "IDENTIFIED WITH caching_sha2_password BY ''",
		"sha256_password, empty":       "IDENTIFIED WITH sha256_password BY ''",
		"locked":                       "IDENTIFIED WITH caching_sha2_password BY '' ACCOUNT LOCK",
		"only with TLS":                "IDENTIFIED WITH caching_sha2_password BY '' REQUIRE SSL",
	}
}

// TestHandshakeMatrix crosses plugins, sets of capabilities, TLS and servers: what a login says
// directly it says through the proxy. (Plugins with passwords that need a driver, and TLS on one
// leg only, are crossed in package proxy, with Go's driver.)
func TestHandshakeMatrix(t *testing.T) {
	mysqltest.Each(t, func(t *testing.T, s *mysqltest.Server) {
		db := s.Open(t, "")
		proxied := through(t, s.Addr(), func(c *proxy.Config) { c.TLS.SelfSigned = true })
		n := 0
		for plugin, how := range accounts(s.MariaDB()) {
			n++
			user := fmt.Sprintf("matrix%d", n)
			for _, q := range []string{"DROP USER IF EXISTS " + user, "CREATE USER " + user + " " + how} {
				if _, err := db.ExecContext(t.Context(), q); err != nil {
					t.Fatalf("%s: %v", q, err)
				}
			}

			password := ""
			if s.MariaDB() && plugin != "mysql_native_password, empty" && plugin != "mysql_old_password, empty" {
				password = "secret"
			}

			for name, caps := range capabilitySets(s.MariaDB()) {
				for _, tls := range []wire.Capability{0, wire.SSL} {
					direct := loginResult(t, s.Addr(), user, password, caps|tls)
					relayed := loginResult(t, proxied, user, password, caps|tls)
					if direct != relayed {
						t.Errorf("%s, %s, TLS %v: directly %q, through the proxy %q",
							plugin, name, tls != 0, direct, relayed)
					}
				}
			}
		}
	})
}

// loginResult logs in, asks who it is, and says what came of it.
func loginResult(t *testing.T, address, user, password string, caps wire.Capability) string {
	t.Helper()
	c, err := tryLogIn(t, address, user, password, "", caps)
	if c != nil {
		defer c.Close()
	}
	if err != nil {
		return err.Error()
	}

	answer, err := c.ask(nil, sql("SELECT CURRENT_USER()"))
	if err != nil {
		return err.Error()
	}

	r, err := wire.DecodeResult(answer, wire.TextRows, c.caps)
	if err != nil {
		return err.Error()
	}

	return string(r.Rows[0][0])
}

// TestExpiredPassword changes a password in the sandbox that the server puts such a session into.
func TestExpiredPassword(t *testing.T) {
	mysqltest.Each(t, func(t *testing.T, s *mysqltest.Server) {
		db := s.Open(t, "")
		proxied := through(t, s.Addr())
		transcript := func(address string) (said []string) {
			for _, q := range []string{
				"DROP USER IF EXISTS expired",
				"CREATE USER expired IDENTIFIED BY '' PASSWORD EXPIRE",
			} {
				if _, err := db.ExecContext(t.Context(), q); err != nil {
					t.Fatalf("%s: %v", q, err)
				}
			}

			said = append(said, loginResult(t, address, "expired", "", 0))
			c, err := tryLogIn(t, address, "expired", "", "", wire.ExpiredPasswords)
			if err != nil {
				return append(said, err.Error())
			}
			defer c.Close()

			for _, q := range []string{"SELECT 1", "ALTER USER USER() IDENTIFIED BY 'new'", "SELECT 1"} {
				answer, err := c.ask(nil, sql(q))
				said = append(said, fmt.Sprintf("%q %v", answer, err))
			}

			return said
		}

		direct, relayed := transcript(s.Addr()), transcript(proxied)
		if fmt.Sprint(direct) != fmt.Sprint(relayed) {
			t.Errorf("directly %q, through the proxy %q", direct, relayed)
		}
		if len(relayed) != 4 {
			t.Errorf("got %q, want a login that may change its password", relayed)
		}
	})
}

// Pitfall 12: some drivers ask for TLS and forget to say so again in the response behind it.
func TestTLSForgottenInTheResponse(t *testing.T) {
	mysqltest.Each(t, func(t *testing.T, s *mysqltest.Server) {
		if s.MariaDB() {
			t.Skip("the server under test has no certificate")
		}

		user(t, s, "forgetful")
		address := through(t, s.Addr(), func(c *proxy.Config) { c.TLS.SelfSigned = true })
		c := dial(t, address)
		caps := wire.Protocol41 | wire.SecureConnection | wire.PluginAuth | wire.LongPassword
		c.send(1, response(caps|wire.SSL, "forgetful", "", c.greeting.AuthPlugin, nil)[:wire.SSLRequestSize])
		c.Conn = tls.Client(c.Conn, &tls.Config{InsecureSkipVerify: true})
		c.send(2, response(caps, "forgetful", "", c.greeting.AuthPlugin, nil))

		if err := c.authenticate(""); err != nil {
			t.Error(err)
		}
	})
}
