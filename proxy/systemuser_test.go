package proxy

import (
	"net"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
	"github.com/ttlproxy/ttlproxy/proxy/wire"
	"github.com/ttlproxy/ttlproxy/proxy/wire/wiretest"
)

// Nobody becomes, through the proxy, the system's user that it runs as.
func TestSystemUserIsNotLent(t *testing.T) {
	mysqltest.Both(t, func(t *testing.T, s *mysqltest.Server) {
		if s.Sandbox == nil {
			t.Skip("the server's socket is not known")
		}
		self := systemUser()
		db := s.DB(t)
		how := "IDENTIFIED VIA unix_socket"
		if !s.MariaDB() {
			how = "IDENTIFIED WITH auth_socket"
			db.ExecContext(t.Context(), "INSTALL PLUGIN auth_socket SONAME 'auth_socket.so'") // an error says that it is there
		}
		if _, err := db.ExecContext(t.Context(), "CREATE USER IF NOT EXISTS '"+self+"'@'localhost' "+how); err != nil {
			t.Skip("no plugin for sockets: ", err)
		}
		p := startEdge(t, BackendsConfig{Addresses: []string{"unix:" + s.Sandbox.Socket()}}, Config{TLS: ClientTLS{SelfSigned: true}})
		for _, encrypted := range []bool{false, true} {
			if _, err := logInTo(t, p.address, account{name: self}, encrypted); err == nil || !strings.Contains(err.Error(), "1045") {
				t.Errorf("as %s over TCP, TLS %v: got %v, want 1045", self, encrypted, err)
			}
		}
	})
}

// The same account is lent to its own user, who could have it directly; and a session cannot change to it.
func TestSystemUserOnASocket(t *testing.T) {
	t.Parallel()
	self := systemUser()
	if self == "" {
		t.Skip("this process has no system user")
	}
	to := changeUserTo(self, "", "mysql_native_password")
	backend := wiretest.ServeUnix(t,
		wiretest.Script{wiretest.ServeLogin(wiretest.Capabilities), wiretest.ExpectClose()},
		wiretest.Script{wiretest.ServeLogin(wiretest.Capabilities), wiretest.Expect(0, to), wiretest.Send(1, okPacket(auto)), wiretest.ExpectClose()})
	path := filepath.Join(t.TempDir(), "proxy.sock")
	p := startEdge(t, BackendsConfig{Addresses: []string{"unix:" + backend}}, Config{Listen: []string{"127.0.0.1:0", "unix:" + path}})
	refused := wiretest.Receive(func(payload []byte, _ byte) error {
		var e wire.Error
		if err := e.Decode(payload); err != nil || e.Code != codeAccessDenied {
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
