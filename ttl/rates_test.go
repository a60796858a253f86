package ttl

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/catalog/setting"
	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/ttl/ttltest"
	"github.com/ttlproxy/ttlproxy/ttl/work"
)

// TestSpeedChangesWhileAJobRuns: a speed by the clock holds for a job that is at work when it begins, be it faster or
// slower than the one before. That is a Monday, a few seconds before ten in the evening.
func TestSpeedChangesWhileAJobRuns(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		for _, c := range []struct{ name, option, setting, value string }{
			{"of all tables", "", setting.RateSchedule, "20; mon 22:00-23:00 1000; tue-sun 22:00-23:00 5"},
			{"of one table", ddl.OptionDeleteRate, "", "20; mon 22:00-23:00 1000; tue-sun 22:00-23:00 5"},
			{"of all tables, slower", "", setting.RateSchedule, "1000; mon 22:00-23:00 20; tue-sun 22:00-23:00 2000"},
			{"of one table, slower", ddl.OptionDeleteRate, "", "1000; mon 22:00-23:00 20; tue-sun 22:00-23:00 2000"},
		} {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				f := newFixture(t, cfg, 0)
				f.Fill("t", 30_000)
				options := map[string]string{}
				if c.option != "" {
					options[c.option] = c.value
				} else {
					f.set(c.setting, c.value)
				}

				m := f.at(utc("05-10 21:59:57"))
				m.db.SetMaxOpenConns(1)
				m.declare("UTC", "1h", options)
				m.mustTick()
				started := time.Now()
				stop := m.works()
				defer stop()
				gone := func() int { return 30_000 - f.Number("SELECT COUNT(*) FROM "+f.Schema+".t") }
				f.Wait("rows to go", func() bool { return gone() > 0 })
				pass := func(d time.Duration) (rows int) {
					before := gone()
					for until := time.Now().Add(d); time.Now().Before(until); work.Wait(t.Context(), 100*time.Millisecond) {
						m.mustTick()
					}
					return gone() - before
				}

				slower := c.value[0] == '1'
				if rows := pass(time.Second); rows > 500 && !slower && time.Since(started) < 3*time.Second {
					t.Errorf("before ten %d rows go in a second", rows)
				}
				m.leap(4 * time.Second)
				if pass(ratesEvery + time.Second); slower {
					if rows := pass(4 * time.Second); rows > 2000 || f.Rows("t") == "15000" {
						t.Errorf("after ten %d rows go in four seconds, and %s are left", rows, f.Rows("t"))
					}
					return
				}
				before, began := gone(), time.Now()
				f.Wait("a thousand rows to go", func() bool {
					m.mustTick()
					return gone() > before+1000
				})
				if took := time.Since(began); took > 20*time.Second {
					t.Errorf("after ten a thousand rows take %v", took)
				}
			})
		}
	})
}

// works has a worker at work until it is told to stop.
func (m *moment) works() (stop func()) {
	ctx, cancel := context.WithCancel(m.f.T.Context())
	var worker sync.WaitGroup
	worker.Go(func() {
		for ctx.Err() == nil {
			m.engine.crew.Work(ctx)
			work.Wait(ctx, 10*time.Millisecond)
		}
	})
	return func() {
		cancel()
		worker.Wait()
	}
}
