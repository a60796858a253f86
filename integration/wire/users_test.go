package wire

import (
	"strings"
	"testing"

	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
	"github.com/ttlproxy/ttlproxy/proxy"
	"github.com/ttlproxy/ttlproxy/proxy/wire"
)

// However a client spells the name of an account that lets it in, it is counted for that account,
// also when a session changes to it.
func TestEveryNameOfAnAccountIsCounted(t *testing.T) {
	mysqltest.Each(t, func(t *testing.T, s *mysqltest.Server) {
		long := strings.Repeat("n", 32) // as long as names get on MySQL, which cuts off the rest
		user(t, s, "counted")
		user(t, s, long)
		address := through(t, s.Addr(), func(c *proxy.Config) { c.MaxUserConnections = 2 })

		for _, names := range [][]string{{"counted", "'counted'", "'counted'"}, {long, long + "more", "'" + long + "'"}} {
			in := 0
			for _, name := range names {
				c, err := tryLogIn(t, address, name, "", "", 0)
				if err == nil {
					in++
				} else if strings.Contains(err.Error(), "1203") && in < 2 {
					t.Errorf("%s: %v, with %d logged in", name, err, in)
				}
				defer c.Close()
			}

			if in > 2 {
				t.Errorf("%d clients are logged in to %s, which is bounded to 2", in, names[0])
			}
		}

		user(t, s, "changes")
		c := logIn(t, address, "changes", "", 0)
		c.send(0, append(cmd(wire.ChangeUser), "'counted'\x00\x00\x00\x2d\x00"+c.greeting.AuthPlugin+"\x00"...))
		if err := c.authenticate(""); err == nil {
			t.Error("a session has changed to an account that has all its connections")
		}
	})
}
