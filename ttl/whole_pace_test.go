package ttl

import (
	"context"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/ttl/ttltest"
	"github.com/ttlproxy/ttlproxy/ttl/work"
)

// TestWholeIsSpaced: the time that it has taken to let a partition go is owed before the next one goes, be it that no
// row of it was counted.
func TestWholeIsSpaced(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		for _, how := range []string{ddl.PartitionDrop, ddl.PartitionExchange, ddl.PartitionTruncate} {
			t.Run(how, func(t *testing.T) {
				f := newFixture(t, cfg, 0)
				f.manyDays()
				f.Exec(f.In("INSERT INTO {t}.t SELECT id + 100000, made + INTERVAL 1 DAY FROM {t}.t PARTITION (p1)"),
					f.In("ANALYZE TABLE {t}.t"))
				m := f.at(utc("05-12 12:00:00"))
				m.whole(how)
				m.mustTick()
				m.mustTick()
				m.engine.crew.BeforePacket = func() {
					if f.Text(f.In("SELECT COUNT(*) FROM {t}_c.departure WHERE state = 'ready'")) == "1" {
						m.engine.duty.Set(0.000_001, "a test")
					}
				}
				ctx, stop := context.WithCancel(t.Context())
				done := make(chan struct{})
				go func() {
					defer close(done)
					m.engine.crew.Work(ctx)
				}()
				f.Wait("p1 to go", func() bool { // who read the table would be in its way
					return f.Text(f.In("SELECT COUNT(*) FROM {t}_c.task JOIN {t}_c.job ON job.id = job_id "+
						"WHERE job.plan = 'whole' AND task.state = 'finished'")) != "0"
				})
				work.Wait(ctx, aWhile)
				stop()
				<-done
				left := f.Text(f.In("SELECT CONCAT_WS(',', IF(SUM(made < '2027-05-10') > 10000, 'p1', NULL), " +
					"IF(SUM(made >= '2027-05-10' AND made < '2027-05-11') > 10000, 'p2', NULL)) FROM {t}.t"))
				if left != "p2" {
					t.Errorf("partitions %q are left, want p2", left)
				}
			})
		}
	})
}

// TestWholeStopsInItsTurn: a stop that comes while a partition waits for its turn holds for it, and nobody waits behind
// it for the turn; when it is over, the partition goes.
func TestWholeStopsInItsTurn(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		f.days()
		m := f.at(utc("05-12 12:00:00"))
		m.whole(ddl.PartitionDrop)
		m.mustTick()
		m.mustTick()
		asked := f.whileItWaitsForItsTurn(func() { m.engine.duty.Set(0, "a test") })
		done := make(chan struct{})
		go func() {
			defer close(done)
			m.engine.crew.Work(t.Context())
		}()
		if asked() == 0 {
			t.Fatal("no partition has waited for its turn")
		}
		work.Wait(t.Context(), aWhile)
		if got := f.divided(); !strings.HasSuffix(got, "p0,p1,p2,p3,p4") {
			t.Errorf("%s is left while nothing may be deleted", got)
		}
		f.Wait("the turn to be free", func() bool {
			return f.Text("SELECT IS_FREE_LOCK('"+f.Store.Turn()+"')") == "1"
		})

		m.engine.duty.Set(1, "")
		<-done
		if got := f.divided(); got != "5,8 in p0,p3,p4" {
			t.Errorf("%s is left", got)
		}
	})
}
