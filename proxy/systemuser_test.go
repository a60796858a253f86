package proxy

import (
	"net"
	"os/user"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
	"github.com/ttlproxy/ttlproxy/proxy/wire"
	"github.com/ttlproxy/ttlproxy/proxy/wire/wiretest"
)

// Nobody becomes, through the proxy, the system's user that it runs as, by whatever name; and who
// has a password still gets in, also when he has to change it.
func TestSystemUserIsNotLent(t *testing.T) {
	for _, flavour := range mysqltest.Flavours {
		t.Run(string(flavour), func(t *testing.T) {
			t.Parallel()
			s := mysqltest.Start(t, flavour) // the account may be the one that administers it
			self, err := user.Current()
			if err != nil {
				t.Fatal(err)
			}

			db := s.Open(t, "")
			db.SetMaxOpenConns(1)
			how, password := "IDENTIFIED VIA unix_socket",
				"IDENTIFIED VIA mysql_native_password USING PASSWORD('secret')"
			if !s.MariaDB() {
				how, password = "IDENTIFIED WITH auth_socket", "IDENTIFIED BY 'secret'"
				if _, err := db.ExecContext(t.Context(),
					"INSTALL PLUGIN auth_socket SONAME 'auth_socket.so'"); err != nil {
					t.Skip("MySQL comes without its plugin for sockets:", err)
				}
			}

			for _, q := range []string{
				"CREATE USER lent " + how + " AS '" + self.Username + "'",
				"CREATE USER known " + password,
				"CREATE USER late " + password + " PASSWORD EXPIRE",
				"DROP USER IF EXISTS '" + self.Username + "'@localhost",
				"CREATE USER '" + self.Username + "'@localhost " + how,
			} {
				if _, err := db.ExecContext(t.Context(), q); err != nil {
					t.Fatalf("%s: %v", q, err)
				}
			}

			p := startEdge(t, BackendsConfig{Addresses: []string{"unix:" + s.Sandbox.Socket()}},
				Config{TLS: ClientTLS{SelfSigned: true}})
			for _, encrypted := range []bool{false, true} {
				lendsNothing(t, p.address, self.Username, encrypted)
			}
		})
	}
}

func lendsNothing(t *testing.T, address, self string, encrypted bool) {
	t.Helper()
	for _, name := range []string{self, "'" + self + "'", "lent", "'lent'"} {
		if _, err := logInTo(t, address, account{name: name}, encrypted); err == nil ||
			!strings.Contains(err.Error(), "28000") {
			t.Errorf("as %s over TCP, TLS %v: got %v, want access denied", name, encrypted, err)
		}
	}

	if _, err := logInTo(t, address, account{name: "known", password: "secret"}, encrypted); err != nil {
		t.Errorf("with a password, TLS %v: %v", encrypted, err)
	}

	// The driver cannot handle passwords that have expired, which the server says.
	if _, err := logInTo(t, address, account{name: "late", password: "secret"}, encrypted); err == nil ||
		strings.Contains(err.Error(), "ttlproxy") {
		t.Errorf("with a password that has expired, TLS %v: got %v, want the server's word", encrypted, err)
	}
}

// The same account is lent to its own user, who could have it directly; and a session cannot change
// to it.
func TestSystemUserOnASocket(t *testing.T) {
	t.Parallel()
	to := changeUserTo("other", "", "mysql_native_password")
	lent := showsAccount(t, "CREATE USER `other`@`localhost` IDENTIFIED WITH 'auth_socket' AS 'ttlproxy' REQUIRE NONE")
	backend := wiretest.ServeUnix(t,
		wiretest.Script{
			servePassword(t), wiretest.Expect(0, to), wiretest.Send(1, okPacket(auto)), lent,
			wiretest.ExpectClose(),
		},
		wiretest.Script{
			wiretest.ServeLogin(wiretest.Capabilities), wiretest.Expect(0, to),
			wiretest.Send(1, okPacket(auto)), wiretest.ExpectClose(),
		})
	path := filepath.Join(t.TempDir(), "proxy.sock")
	p := startEdge(t, BackendsConfig{Addresses: []string{"unix:" + backend}},
		Config{Listen: []string{"127.0.0.1:0", "unix:" + path}})
	refused := wiretest.Receive(func(payload []byte, _ byte) error {
		var e wire.Error
		if err := e.Decode(payload); err != nil || e.Code != ddl.CodeAccessDenied {
			t.Errorf("got %q, want 1045", payload)
		}
		return nil
	})

	play(t, p.address, wiretest.LogIn(wiretest.Capabilities), wiretest.Send(0, to), refused, wiretest.ExpectClose())

	c, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()

	if err := (wiretest.Script{wiretest.LogIn(wiretest.Capabilities), wiretest.Send(0, to), wiretest.Expect(1, okPacket(auto))}).Play(c); err != nil {
		t.Error(err)
	}
}

// A load balancer that runs as the proxy's user, and comes over the proxy's socket, brings anybody: no
// account is lent to them, and their leg is not a private one.
func TestBalancerOnASocketIsNotItsClients(t *testing.T) {
	t.Parallel()
	backend := wiretest.ServeUnix(t, wiretest.Script{
		wiretest.ServeLogin(wiretest.Capabilities),
		showsAccount(t, "CREATE USER `user`@`localhost` IDENTIFIED VIA unix_socket"), wiretest.ExpectClose(),
	}, wiretest.Script{
		wiretest.Send(0, greeting(wiretest.Capabilities)), expectAny(), // of nobody
		wiretest.Send(2, errPacket(ddl.CodeAccessDenied, "no")), wiretest.ExpectClose(),
	})

	for i, tls := range []ClientTLS{{}, {SelfSigned: true, Require: true}} {
		code := []uint16{ddl.CodeAccessDenied, ddl.CodeTLSRequired}[i]
		path := filepath.Join(t.TempDir(), "proxy.sock")
		startEdge(t, BackendsConfig{Addresses: []string{"unix:" + backend}},
			Config{Listen: []string{"unix:" + path}, ProxyNetworks: []string{"unix"}, TLS: tls})
		c, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		err = wiretest.Script{
			wiretest.SendBytes([]byte("PROXY TCP4 192.0.2.7 192.0.2.1 41000 3306\r\n")), expectAny(),
			wiretest.Send(1, wiretest.Response(wiretest.Capabilities)),
			wiretest.Receive(func(payload []byte, _ byte) error {
				var e wire.Error
				if err := e.Decode(payload); err != nil || e.Code != code {
					t.Errorf("got %q, want %d", payload, code)
				}
				return nil
			}),
		}.Play(c)
		c.Close()
		if err != nil {
			t.Errorf("%d: %v", code, err)
		}
	}
}

// servePassword is a server's side of a login by password over its socket.
func servePassword(t *testing.T) wiretest.Step {
	t.Helper()
	return wiretest.Script{
		wiretest.ServeLogin(wiretest.Capabilities),
		showsAccount(t, "CREATE USER `user`@`%` IDENTIFIED WITH 'mysql_native_password'"),
	}
}

// showsAccount is a server that is asked how the session's account logs in.
func showsAccount(t *testing.T, how string) wiretest.Step {
	t.Helper()
	return wiretest.Script{expectQuery(showAccount), wiretest.SendBytes(rowsOf(t, 1, wire.TextRows, auto, how))}
}
