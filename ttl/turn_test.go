package ttl

import (
	"context"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	dto "github.com/prometheus/client_model/go"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/setting"
	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/ttl/ttltest"
)

// blocked is the time for which a node's whole partitions may have kept others waiting.
func (m *moment) blocked() time.Duration {
	m.f.T.Helper()
	var now dto.Metric
	if err := m.engine.crew.Metrics.Blocked.Write(&now); err != nil {
		m.f.T.Fatal(err)
	}
	return time.Duration(now.GetCounter().GetValue() * float64(time.Second))
}

// daysTwice is days, of two tables, of which partitions go whole.
func (f *fixture) daysTwice(at time.Time) {
	f.T.Helper()
	f.days()
	f.Exec(f.In("CREATE TABLE {t}.u LIKE {t}.t"), f.In("INSERT INTO {t}.u SELECT * FROM {t}.t"))
	f.at(at).whole(ddl.PartitionDrop)
	if _, err := f.at(at).engine.store.Declare(f.T.Context(), catalog.Client{Account: "test"}, catalog.Declaration{
		Table: catalog.Table{Schema: f.Schema, Name: "u"},
		Rule: catalog.Rule{
			Column: "made", Literal: "1", Unit: "DAY", Enabled: true, JobInterval: "1h", TimeZone: "UTC",
			ZoneSource: catalog.ZoneFromTable, Options: map[string]string{ddl.OptionPartition: ddl.PartitionDrop},
		},
	}); err != nil {
		f.T.Fatal(err)
	}
}

// together has several nodes do all there is to do, each with two workers. A partition that is ready waits for a
// second one, as far as that comes.
func (f *fixture) together(nodes ...*moment) {
	f.T.Helper()
	const ready = "SELECT COUNT(*) FROM {t}_c.departure WHERE state = 'ready'"
	wait := func() {
		if f.Text(f.In(ready)) != "1" {
			return
		}
		for late := time.After(2 * time.Second); f.Text(f.In(ready)) == "1"; {
			select {
			case <-late:
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	}

	var all sync.WaitGroup
	for _, m := range nodes {
		m.mustTick()
		m.engine.crew.BeforePacket = wait
	}
	for _, m := range nodes {
		for range 2 {
			all.Go(func() { m.engine.crew.Work(f.T.Context()) })
		}
	}
	all.Wait()
}

// mostWaiting looks again and again, until it is stopped, how many sessions wait for tables in order to lock them.
func (f *fixture) mostWaiting() (stop func() int) {
	ctx, end := context.WithCancel(f.T.Context())
	most := make(chan int, 1)
	go func() {
		largest := 0
		for ctx.Err() == nil {
			n := 0
			if err := f.Admin.QueryRowContext(ctx, f.In("SELECT COUNT(*) FROM information_schema.processlist "+
				"WHERE state LIKE 'Waiting for table%' AND info LIKE '%LOCK TABLES%{t}%'")).Scan(&n); err != nil {
				break
			}
			largest = max(largest, n)
		}
		most <- largest
	}()
	return func() int {
		end()
		return <-most
	}
}

// TestWholeTakesTurns: two nodes with two workers each want to let partitions of two tables go that somebody uses.
// In a minute each table is tried once, and no two of them at once: others never wait for more than one.
func TestWholeTakesTurns(t *testing.T) {
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		// After a short wait, the user of the table is not seen yet by the second one; during a long one, nor by two.
		for _, wait := range []string{"1s", "4s"} {
			f := newFixture(t, cfg, 0)
			at := utc("05-12 12:00:00")
			f.daysTwice(at)
			f.set(setting.PartitionLockWait, wait)
			nodes := []*moment{f.at(at), f.at(at)}

			letGo := f.Hold("SELECT COUNT(*) FROM {t}", f.In("SELECT COUNT(*) FROM {t}.u"))
			waiting := f.mostWaiting()
			f.together(nodes...)
			if n := waiting(); n > 1 {
				t.Errorf("%s: %d sessions waited for tables at once, want one at most", wait, n)
			}

			// Those who see the reader, when it is old enough, do not try.
			if got := f.Number(f.In("SELECT COALESCE(MAX(n), 0) FROM (SELECT SUM(reason LIKE '%wait: somebody uses%') AS n " +
				"FROM {t}_c.departure WHERE state = 'waits' GROUP BY policy_id) x")); got > 1 {
				t.Errorf("%s: got %d tries of a table, want one at most", wait, got)
			}

			letGo()
			f.at(utc("05-12 12:01:01")).pass()
			for _, table := range []string{"t", "u"} {
				if got := f.Rows(table); got != "2" {
					t.Errorf("%s: a minute later %s rows of %s are left, want 2", wait, got, table)
				}
			}
		}
	})
}

// TestNobodyWaitsForWhatIsPaused: what is said between the tries of a partition to leave a table that somebody uses
// ends them: nobody waits behind one more.
func TestNobodyWaitsForWhatIsPaused(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		for name, turn := range switches() {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				f := newFixture(t, cfg, 0)
				f.days()
				m := f.at(utc("05-12 12:00:00"))
				m.engine.cfg.StopFile = filepath.Join(t.TempDir(), "stop")
				p := m.whole(ddl.PartitionDrop)

				letGo, turned := func() {}, false
				m.engine.crew.BeforePacket = func() {
					if turned || f.Text(f.In("SELECT COUNT(*) FROM {t}_c.departure WHERE state = 'ready'")) == "0" {
						return
					}
					letGo, turned = f.Hold("SELECT COUNT(*) FROM {t}"), true
					if err := turn(t.Context(), f, p, m.engine.cfg.StopFile); err != nil {
						t.Error(err)
					}
				}
				m.mustTick()
				m.engine.crew.Work(t.Context())
				letGo()
				if !turned {
					t.Fatal("no partition was ready to go")
				}
				if got := m.blocked(); got > 0 {
					t.Errorf("others may have waited for %v", got)
				}
			})
		}
	})
}
