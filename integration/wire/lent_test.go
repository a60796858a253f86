package wire

import (
	"bytes"
	osuser "os/user"
	"testing"

	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
	"github.com/ttlproxy/ttlproxy/proxy/wire"
)

// Nobody becomes the system's user that the proxy runs as by a COM_CHANGE_USER that is too long to
// be looked at: the servers do not mind what stands behind it.
func TestLongChangeUserIsNotLent(t *testing.T) {
	for _, flavour := range mysqltest.Flavours {
		t.Run(string(flavour), func(t *testing.T) {
			t.Parallel()
			s := mysqltest.Start(t, flavour)
			self, err := osuser.Current()
			if err != nil {
				t.Fatal(err)
			}

			db := s.Open(t, "")
			db.SetMaxOpenConns(1)
			plugin, how := "unix_socket", "IDENTIFIED VIA unix_socket"
			if !s.MariaDB() {
				plugin, how = "auth_socket", "IDENTIFIED WITH auth_socket"
				if _, err := db.ExecContext(t.Context(),
					"INSTALL PLUGIN auth_socket SONAME 'auth_socket.so'"); err != nil {
					t.Skip("MySQL comes without its plugin for sockets:", err)
				}
			}

			lent := "'" + self.Username + "'@localhost"
			for _, q := range []string{
				"DROP USER IF EXISTS " + lent, "CREATE USER " + lent + " " + how,
				"CREATE USER known IDENTIFIED BY ''",
			} {
				if _, err := db.ExecContext(t.Context(), q); err != nil {
					t.Fatalf("%s: %v", q, err)
				}
			}

			address := through(t, "unix:"+s.Sandbox.Socket())
			for _, behind := range []int{0, 100 << 10, 300 << 10, 1<<20 + 1, wire.MaxPayload} {
				c := logIn(t, address, "known", "", 0)
				change := append(cmd(wire.ChangeUser), self.Username+"\x00\x00\x00\x2d\x00"+plugin+"\x00"...)
				packets, _ := wire.AppendPacket(nil, 0, append(change, bytes.Repeat([]byte{0}, behind)...))
				go c.Write(packets) // it may be cut off
				if err := c.authenticate(""); err == nil {
					t.Errorf("with %d bytes behind it: let in as %s", behind, self.Username)
				}
			}
		})
	}
}
