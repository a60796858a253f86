package wire

import (
	"testing"

	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
	"github.com/ttlproxy/ttlproxy/proxy/wire"
)

// A client may ask the servers to ignore the schema in front of a table's name. A statement would
// then mean another table than the one that its text names, and whose rights and policy are looked
// at.
func TestSchemasAreNeverIgnored(t *testing.T) {
	mysqltest.Each(t, func(t *testing.T, s *mysqltest.Server) {
		user(t, s, "schemaless")
		schema := s.Database(t)
		address := through(t, s.Addr())

		ignored := func(c *conn) bool {
			answer, err := c.ask(nil, sql("SELECT 1 FROM elsewhere.here"))
			if err != nil {
				t.Fatal(err)
			}
			_, err = wire.DecodeResult(answer, wire.TextRows, c.caps)
			return err == nil
		}

		logIn := func(address string) *conn {
			c := logIn(t, address, "schemaless", schema, wire.NoSchema)
			if _, err := c.ask(nil, sql("CREATE TABLE IF NOT EXISTS here (id INT)")); err != nil {
				t.Fatal(err)
			}
			return c
		}

		if !ignored(logIn(s.Addr())) {
			t.Error("the server itself knows the schema, so that this test shows nothing")
		}

		c := logIn(address)
		if ignored(c) {
			t.Error("the server ignores the schema of a table")
		}

		change := append(cmd(wire.ChangeUser), "schemaless\x00\x00"+schema+"\x00-\x00"...)
		c.send(0, append(append(change, c.greeting.AuthPlugin...), 0))
		if err := c.authenticate(""); err != nil {
			t.Fatal(err)
		}
		if ignored(c) {
			t.Error("the server ignores the schema of a table behind COM_CHANGE_USER")
		}
	})
}
