package work

import (
	"context"
	"errors"
	"testing"

	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
	"github.com/ttlproxy/ttlproxy/ttl/family"
)

// inPackets are batches of several packets, of one row; between is called when rows are locked, and none is
// deleted yet.
var inPackets = map[string]func(ctx context.Context, t *serverTable, key tables.Key, between func()) error{
	"free": func(ctx context.Context, t *serverTable, key tables.Key, between func()) error {
		t.beforePacket = between
		_, _, err := t.deleteFree(ctx, []tables.Key{key}, checkpoint{cursor: key})
		return err
	},
	"along": func(ctx context.Context, t *serverTable, key tables.Key, between func()) error {
		return t.inParts(ctx, between, func() (*family.Family, error) {
			return t.along.forest.Gather(ctx, t.session, []tables.Key{key}, 100)
		})
	},
	"below": func(ctx context.Context, t *serverTable, key tables.Key, between func()) error {
		return t.inParts(ctx, between, func() (*family.Family, error) {
			return t.along.forest.Part(ctx, t.session, key, 100)
		})
	},
}

// inParts is deleteAlong, or deleteBelow, with something between its packets.
func (t *serverTable) inParts(ctx context.Context, between func(), gather func() (*family.Family, error)) error {
	if err := t.beginAlong(ctx); err != nil {
		return err
	}
	f, err := gather()
	if err != nil || f == nil {
		return err
	}
	between()
	_, err = t.endAlong(ctx, f, checkpoint{cursor: tables.Key{"1"}}, bounds{along: 100, listed: 100},
		taken{rows: int64(f.Size())})
	return err
}

// TestMomentHoldsBetweenPackets: a server is made read-only, or a window closes, between the packets of a batch.
// Nothing goes then, although the account may write, and no row counts as one that cannot be deleted.
func TestMomentHoldsBetweenPackets(t *testing.T) {
	t.Parallel()
	for _, flavour := range mysqltest.Flavours {
		t.Run(string(flavour), func(t *testing.T) {
			t.Parallel()
			cfg := mysqltest.Start(t, flavour).Config("")
			for name, send := range inPackets {
				t.Run(name, func(t *testing.T) {
					f := newFixture(t, cfg, 100)
					f.Exec(f.In("CREATE TABLE {t}.child (id INT PRIMARY KEY, t INT, FOREIGN KEY (t) REFERENCES {t}.t (id))"))
					if name != "free" {
						f.Exec(f.In("INSERT INTO {t}.child VALUES (1, 1)"))
					}
					f.Look()
					table := f.serverTable()
					table.along = &along{forest: f.forest(), same: "TRUE"}
					before := f.Rows("t") + "/" + f.Rows("child")
					stays := func(why string, between func(), refused bool) {
						t.Helper()
						err := send(t.Context(), table, tables.Key{"1"}, between)
						if errors.Is(err, errRefused) != refused || classify(err) == poison {
							t.Errorf("%s: got %v, want refused to be %t", why, err, refused)
						}
						if left := f.Rows("t") + "/" + f.Rows("child"); left != before {
							t.Errorf("%s: %s rows are left of %s", why, left, before)
						}
						if is := f.Text(f.In("SELECT CONCAT(batch, cursor_key) FROM {t}_c.task")); is != "3" {
							t.Errorf("%s: the task is at %s, want 3", why, is)
						}
					}

					stays("read-only", func() { f.Exec("SET GLOBAL read_only = 1") }, name != "free")
					stays("read-only still", func() { t.Error("rows are locked for a batch that was refused") }, true)
					f.Exec("SET GLOBAL read_only = 0")

					closes := f.Text("SELECT CONCAT('''', UTC_TIMESTAMP(6) + INTERVAL 1 SECOND, '''')")
					table.barrier.moment = " AND UTC_TIMESTAMP(6) < " + closes
					stays("closing", func() {
						f.Wait("the window to close", func() bool { return f.Number("SELECT UTC_TIMESTAMP(6) >= "+closes) == 1 })
					}, name != "free")
					stays("closed", func() { t.Error("rows are locked for a batch that was refused") }, true)

					table.barrier.moment = ""
					if err := send(t.Context(), table, tables.Key{"1"}, func() {}); err != nil {
						t.Errorf("later: %v", err)
					}
					if left := f.Rows("t") + "/" + f.Rows("child"); left == before {
						t.Error("later nothing has gone either")
					}
				})
			}
		})
	}
}
