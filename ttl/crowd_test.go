package ttl

import (
	"fmt"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/ttl/ttltest"
)

// crowd puts as many rows of a day that has expired into p1.
func (f *fixture) crowd(from, rows int) {
	f.T.Helper()
	f.Exec(f.In(fmt.Sprintf("INSERT INTO {t}.t WITH RECURSIVE d AS (SELECT 0 AS n UNION ALL SELECT n + 1 FROM d WHERE "+
		"n < 449) SELECT %d + a.n * 450 + b.n, '2027-05-09 01:00:00' + INTERVAL a.n SECOND FROM d a JOIN d b LIMIT %d",
		from, rows)))
}

// TestWholeIsWhatWasCounted: rows that are put into a partition when it has been counted, and waits for its turn or is
// about to go, are bounded as all others are: the run deletes no more than it may. If nobody puts any there, the
// partition goes.
func TestWholeIsWhatWasCounted(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		for name, c := range map[string]struct {
			rows, late int
			index      bool
			most       int
		}{
			"few":                          {100, 5000, false, 1000},
			"few, of an index":             {100, 5000, true, 1000},
			"many that are believed":       {40_000, 70_000, true, 100_000},
			"many that were counted":       {110_000, 150_000, false, 250_000},
			"many, nearly all that may go": {110_000, 50_000, false, 120_000},
		} {
			for _, moment := range []string{"nobody", "in its turn", "at the last moment"} {
				t.Run(name+", "+moment, func(t *testing.T) {
					f := newFixture(t, cfg, 0)
					f.days()
					if c.index {
						f.Exec(f.In("ALTER TABLE {t}.t ADD KEY (made)"))
					}
					f.crowd(1000, c.rows)
					f.Exec(f.In("ANALYZE TABLE {t}.t"))
					f.Wait("the second in which it was written to be over", f.NextSecond())
					m := f.at(utc("05-12 12:00:00"))
					m.declare("UTC", "1h", map[string]string{
						ddl.OptionPartition: ddl.PartitionDrop, ddl.OptionMaxRows: fmt.Sprint(c.most),
					})
					all := f.Number(f.In("SELECT COUNT(*) FROM {t}.t"))
					late := 0
					put := func(now string) {
						if late == 0 && now == moment {
							late = c.late
							f.crowd(1_000_000, late)
						}
					}
					asked := f.whileItWaitsForItsTurn(func() { put("in its turn") })
					m.engine.crew.BeforePacket = func() {
						if f.Text(f.In("SELECT COUNT(*) FROM {t}_c.departure WHERE state = 'ready' AND "+
							"partition_name = 'p1'")) == "1" {
							put("at the last moment")
						}
					}
					m.pass()
					if asked() == 0 || (late == 0) != (moment == "nobody") {
						t.Fatalf("no partition has waited for its turn, or %d rows came late", late)
					}
					gone := all + late - f.Number(f.In("SELECT COUNT(*) FROM {t}.t"))
					if gone > c.most {
						t.Errorf("%d rows are gone, of which %d may go", gone, c.most)
					}
					if got := f.divided(); late == 0 && got != "5,8 in p0,p3,p4" {
						t.Errorf("%s is left", got)
					}
				})
			}
		}
	})
}
