package ttl

import (
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/setting"
	"github.com/ttlproxy/ttlproxy/panics"
	"github.com/ttlproxy/ttlproxy/ttl/ttltest"
)

// TestPanicOfAWorker: it ends its engine, which takes leave of the others, and with which job it was is said. Another
// engine does the rest.
func TestPanicOfAWorker(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		f.Fill("t", 3000)
		f.Declare("t")
		f.set(setting.DeleteBatchSize, "100")

		var packets atomic.Int64
		e, err := New(Config{
			Backend: f.Config, Node: catalog.Node{Name: "test"},
			beforePacket: func() {
				if packets.Add(1) == 3 {
					panic("seven")
				}
			},
		}, f.Store, slog.New(slog.NewTextHandler(t.Output(), nil)), nil)
		if err != nil {
			t.Fatal(err)
		}

		err = panics.Caught(func() error { return e.Run(t.Context()) })
		if bug, ok := errors.AsType[*panics.Error](err); !ok || bug.Value != "job 1: seven" ||
			!strings.Contains(string(bug.Stack), "TestPanicOfAWorker") {
			t.Errorf("got %v; want the panic, with its job and where it was", err)
		}
		if nodes, err := f.Store.Nodes(t.Context()); err != nil || nodes[0].LeftAt.IsZero() {
			t.Errorf("the node has not left: %v %v", nodes, err)
		}
		if left := f.Rows("t"); len(left) != 4 || left <= "1500" {
			t.Errorf("%s rows are left, want some of those that expired", left)
		}

		defer f.run(nil)()
		f.Wait("the rest to go", func() bool { return f.Rows("t") == "1500" })
	})
}
