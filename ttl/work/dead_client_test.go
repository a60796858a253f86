package work

import (
	"context"
	"net"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
	"github.com/ttlproxy/ttlproxy/ttl/plan"
	"github.com/ttlproxy/ttlproxy/ttl/ttltest"
)

// TestClientDiesInsideItsPacket: a server goes on with a packet whose sender is dead. It finds that
// out when it has deleted and wants to say so, and from then on ROW_COUNT() is -1. Such a batch
// must count what it deleted, or not be committed.
func TestClientDiesInsideItsPacket(t *testing.T) {
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		f.Fill("t", 100)
		f.Exec(f.In("CREATE TRIGGER {t}.halt BEFORE DELETE ON {t}.t FOR EACH ROW " +
			"SET @halt = GET_LOCK('{t}', 600), @halt = RELEASE_LOCK('{t}')"))
		f.Open()
		f.Exec("UPDATE " + f.Schema + "_c.task SET deleted = 7") // by batches before
		var wire net.Conn
		cfg = cfg.Clone()
		cfg.DialFunc = func(ctx context.Context, network, address string) (_ net.Conn, err error) {
			wire, err = new(net.Dialer).DialContext(ctx, network, address)
			return wire, err
		}

		engine, err := NewPool(cfg)
		if err != nil {
			t.Fatal(err)
		}
		defer engine.Close()

		table := f.serverTable()
		table.session.db = engine.db
		if err := table.session.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}

		gate, err := f.Admin.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer gate.Close()
		turn := func(how string) {
			t.Helper()
			if _, err := gate.ExecContext(t.Context(), f.In("DO "+how)); err != nil {
				t.Fatal(err)
			}
		}
		turn("GET_LOCK('{t}', 600)")

		answered := make(chan error, 1)
		go func() {
			_, err := table.deleteRange(t.Context(), plan.Range{To: tables.Key{"100"}},
				checkpoint{cursor: tables.Key{"100"}, scanned: 100})
			answered <- err
		}()
		id := table.session.id
		f.Wait("the DELETE to be under way", func() bool {
			return len(mysqltest.Processes(t, f.Admin, "ID = ? AND STATE = 'User lock'", id)) > 0
		})
		_ = wire.(*net.TCPConn).SetLinger(0) // as when the process is killed: the server's next answer is refused
		_ = wire.Close()
		turn("RELEASE_LOCK('{t}')")

		if err := <-answered; err == nil {
			t.Fatal("the packet was answered")
		}

		f.Wait("the server to end the session", func() bool {
			return len(mysqltest.Processes(t, f.Admin, "ID = ?", id)) == 0
		})
		left, deleted := f.Number("SELECT COUNT(*) FROM "+f.Schema+".t"), f.Number("SELECT deleted FROM "+f.Schema+
			"_c.task")
		if 100-left != deleted-7 {
			t.Errorf("%d rows are gone, and %d are counted", 100-left, deleted-7)
		}
	})
}
