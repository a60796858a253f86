package work

import (
	"strings"
	"testing"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
	"github.com/ttlproxy/ttlproxy/ttl/pace"
	"github.com/ttlproxy/ttlproxy/ttl/plan"
)

// TestLongKeysFitInAPacket: of rows with long keys no more are named at a time than a server takes that takes no more
// than a megabyte.
func TestLongKeysFitInAPacket(t *testing.T) {
	t.Parallel()
	for _, flavour := range mysqltest.Flavours {
		t.Run(string(flavour), func(t *testing.T) {
			t.Parallel()
			cfg := mysqltest.Start(t, flavour, "--max-allowed-packet=1M").Config("")
			for name, use := range map[string]func(*walk, *serverTable){
				"range":     func(w *walk, _ *serverTable) { w.sparse, w.named = true, true },
				"index":     func(w *walk, _ *serverTable) { w.way = plan.WalkIndex },
				"contested": func(w *walk, t *serverTable) { w.named = true; t.contested.meet(0) },
				"careful":   func(w *walk, _ *serverTable) { w.named = true },
				"along":     func(w *walk, _ *serverTable) { w.named, w.along = true, true },
				"cascade": func(w *walk, t *serverTable) {
					w.named, w.along = true, true
					t.along.forest.Cascade()
				},
			} {
				t.Run(name, func(t *testing.T) {
					f := newFixture(t, cfg, 0)
					f.Fill("t", 2400)
					f.Exec(f.In("ALTER TABLE {t}.t MODIFY id VARCHAR(1400) CHARACTER SET latin1 NOT NULL, ADD INDEX (made)"),
						f.In("UPDATE {t}.t SET id = CONCAT(id, REPEAT('x', 1100))"))
					if name == "along" || name == "cascade" {
						f.Exec(f.In("CREATE TABLE {t}.child (id VARCHAR(1400) CHARACTER SET latin1 PRIMARY KEY, t VARCHAR(1400) "+
							"CHARACTER SET latin1, FOREIGN KEY (t) REFERENCES {t}.t (id) ON DELETE CASCADE)"),
							f.In("CREATE TABLE {t}.grand (id INT PRIMARY KEY, c VARCHAR(1400) CHARACTER SET latin1, "+
								"FOREIGN KEY (c) REFERENCES {t}.child (id) ON DELETE CASCADE)"),
							f.In("INSERT INTO {t}.child SELECT id, (SELECT MIN(id) FROM {t}.t WHERE made < '2025-01-01') FROM {t}.t "+
								"LIMIT 900"),
							f.In("INSERT INTO {t}.child SELECT CONCAT('a', id), id FROM {t}.t"))
					}
					f.Open()
					table := f.serverTable()
					table.contested = newContested()
					if name == "along" || name == "cascade" {
						table.along = &along{forest: f.forest(), same: "TRUE"}
					}
					w := newWalk(table, plan.WalkRange, plan.Range{}, pace.NewBatchSize(largestBlock, largestBlock, time.Hour),
						pace.NewRates(NewMetrics(nil).Waited), f.noPoison)
					w.key = table.statements.Key
					use(w, table)
					if name == "careful" {
						defer f.Hold("SELECT * FROM {t} WHERE made > '2025-01-01' LIMIT 1 FOR UPDATE",
							"SELECT * FROM {t} WHERE id LIKE '1001x%' FOR UPDATE")()
					}
					f.toEnd(w)
					w.revisit(t.Context(), revisits)
					want := "1200"
					if name == "careful" {
						want = "1201"
					}
					if left := f.Rows("t"); left != want {
						t.Errorf("%s rows are left, want %s", left, want)
					}

					keys := []tables.Key{}
					for range 1000 {
						keys = append(keys, tables.Key{tables.Value("1" + string(make([]byte, 1100)))})
					}
					if _, err := table.dueAmong(t.Context(), plan.Range{}, keys); err != nil {
						t.Error(err)
					}
					_, err := table.read(t.Context(), "SELECT '"+strings.Repeat("x", 2<<20)+"'", 1)
					if classify(err) != maybeExecuted {
						t.Errorf("what is too long all the same ends by %v", err)
					}
				})
			}
		})
	}
}
