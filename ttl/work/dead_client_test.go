package work

import (
	"context"
	"net"
	"strconv"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/catalog/tables"
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
		f.Exec("CREATE TRIGGER " + f.Schema + ".slow BEFORE DELETE ON " + f.Schema + ".t FOR EACH ROW DO SLEEP(0.01)")
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

		answered := make(chan error, 1)
		go func() {
			_, err := table.deleteRange(t.Context(), plan.Range{To: tables.Key{"100"}},
				checkpoint{cursor: tables.Key{"100"}, scanned: 100})
			answered <- err
		}()
		there := "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE info NOT LIKE '%PROCESSLIST%' AND (info LIKE " +
			"'%ttlproxy job%SLEEP%' OR info LIKE '%SLEEP(0.01)%')"
		f.Wait("the DELETE to be under way", func() bool { return f.Number(there) > 0 })
		_ = wire.(*net.TCPConn).SetLinger(0) // as when the process is killed: the server's next answer is refused
		_ = wire.Close()

		if err := <-answered; err == nil {
			t.Fatal("the packet was answered")
		}

		id := table.session.id
		f.Wait("the server to end the session", func() bool {
			return f.Text("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE id = "+
				strconv.FormatUint(id, 10)) == "0"
		})
		left, deleted := f.Number("SELECT COUNT(*) FROM "+f.Schema+".t"), f.Number("SELECT deleted FROM "+f.Schema+
			"_c.task")
		if 100-left != deleted-7 {
			t.Errorf("%d rows are gone, and %d are counted", 100-left, deleted-7)
		}
	})
}
