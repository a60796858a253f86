package statement

import (
	"net"
	"testing"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/proxy/wire"
	"github.com/ttlproxy/ttlproxy/proxy/wire/wiretest"
)

// withoutStore is the handler of a proxy whose catalog must not be asked.
func withoutStore(t testing.TB) *Handler {
	return New(Config{Catalog: func() *catalog.Store {
		t.Error("the catalog was asked")
		return nil
	}}, nil)
}

func query(text string) []byte { return append([]byte{byte(wire.Query)}, text...) }

// What begins like a statement of ours and turns out not to be one does not wait until the server
// has answered what came before.
func TestUnconcernedStatementsDoNotWait(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"SHOW TABLES", "SHOW CREATE VIEW v", "SHOW VARIABLES LIKE 'max_allowed_packet'", "SHOW WARNINGS",
		"EXPLAIN SELECT * FROM t", "DESC t", "PREPARE s FROM 'SELECT ?'", "EXECUTE s USING @a", "DEALLOCATE PREPARE s",
		"SET STATEMENT max_statement_time = 5 FOR SELECT 1", "/*!40101 SET NAMES utf8 */", "CREATE TABLESPACE x",
		"CREATE TEMPORARY TABLE t (id INT)", "DROP TEMPORARY TABLE t", "ALTER USER u ACCOUNT LOCK", "DROP VIEW v",
		"CREATE PROCEDURE p() SELECT 1", "EXECUTE IMMEDIATE 'SELECT 1'",
	} {
		ok := wire.OK{Status: auto}.Append(nil)
		backend := wiretest.Serve(t, wiretest.Script{
			wiretest.ServeLogin(wiretest.Capabilities),
			wiretest.Expect(0, query("SELECT 1")), wiretest.Expect(0, query(text)),
			wiretest.Send(1, ok), wiretest.Send(1, ok), wiretest.ExpectClose(),
		})

		c, err := net.Dial("tcp", proxyWith(t, backend, withoutStore(t)))
		if err != nil {
			t.Fatal(err)
		}
		err = wiretest.Script{
			wiretest.LogIn(wiretest.Capabilities), wiretest.Send(0, query("SELECT 1")), wiretest.Send(0, query(text)),
			wiretest.Expect(1, ok), wiretest.Expect(1, ok),
		}.Play(c)
		c.Close() // the server does not wait for that until the last text
		if err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// BenchmarkUnconcerned compares statements that begin like ours with a plain SELECT.
func BenchmarkUnconcerned(b *testing.B) {
	for name, text := range map[string]string{
		"SELECT":        "SELECT page_id, page_title FROM page WHERE page_id = 12345",
		"SHOW":          "SHOW GLOBAL STATUS LIKE 'Threads%'",
		"EXPLAIN":       "EXPLAIN SELECT page_id, page_title FROM page WHERE page_id = 12345",
		"EXECUTE":       "EXECUTE s USING @a, @b",
		"SET STATEMENT": "SET STATEMENT max_statement_time=5 FOR SELECT page_id, page_title FROM page WHERE page_id = 12345",
	} {
		b.Run(name, func(b *testing.B) {
			request, _ := wire.AppendPacket(nil, 0, query(text))
			answer, _ := wire.AppendPacket(nil, 1, wire.OK{Status: auto}.Append(nil))
			address := proxyWith(b, wiretest.Echo(b, len(request), answer), withoutStore(b))
			b.ReportAllocs()
			wiretest.Ask(b, address, request, answer)
		})
	}
}
