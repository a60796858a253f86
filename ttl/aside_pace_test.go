package ttl

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
	"github.com/ttlproxy/ttlproxy/ttl/pace"
	"github.com/ttlproxy/ttlproxy/ttl/plan"
	"github.com/ttlproxy/ttlproxy/ttl/signal"
	"github.com/ttlproxy/ttlproxy/ttl/ttltest"
)

// TestAsidesAreHeldBack: while signals or rates leave no time for it, nothing of what partitions have become is counted
// or dropped, and there is something to do for which signals are read. When they do, it goes.
func TestAsidesAreHeldBack(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		for name, hold := range map[string]func(*Engine){
			"a stop": func(e *Engine) { e.duty.Set(0, "a test") },
			"time that is owed": func(e *Engine) {
				e.duty.Set(0.01, "a test")
				e.duty.Took(time.Hour)
			},
			"rows that are owed": func(e *Engine) {
				e.rates.Set(0, pace.Limit{}, 1)
				e.rates.Spend(3600, 0)
			},
			"statements that are owed": func(e *Engine) {
				e.rates.Set(0, pace.Limit{Name: "a test", PerSecond: 1}, 0)
				e.rates.Spend(0, 3600)
			},
			"nobody has looked": func(e *Engine) { e.duty.Rest(true) },
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				f := newFixture(t, cfg, 0)
				f.putAside()
				m := f.at(utc("05-12 13:00:01"))
				m.asides.did = time.Now()
				m.mustTick() // which reads the settings
				m.asides.did = time.Time{}
				hold(m.engine)
				for range 3 {
					m.mustTick()
				}
				f.wantSides("ttlproxy_2_p1,ttlproxy_3_p2")
				if got := f.Text(f.In("SELECT GROUP_CONCAT(DISTINCT state) FROM {t}_c.departure")); got != "kept" {
					t.Errorf("the departures are %s, want them not even tried", got)
				}
				if !m.engine.busy() {
					t.Error("signals are not read")
				}
				if len(m.counted) > 0 && name != "statements that are owed" {
					t.Errorf("%d tables are being counted", len(m.counted))
				}

				m.engine.duty.Set(1, "")
				m.engine.duty.Rest(false)
				m.engine.rates.Set(0, pace.Limit{}, 0)
				m.ticksUntilDropped()
				m.mustTick()
				if m.engine.busy() {
					t.Error("signals are read although there is nothing to do")
				}
			})
		}
	})
}

// TestAsidesAreSpaced: the time that dropping a table has taken is owed before the next one goes.
func TestAsidesAreSpaced(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		f.putAside()
		m := f.at(utc("05-12 13:00:01"))
		m.engine.crew.BeforePacket = func() { m.engine.duty.Set(0.000_001, "a test") }
		for range 3 {
			m.mustTick()
		}
		if got := f.sides(); got == "" || strings.Contains(got, ",") {
			t.Errorf("got tables %q, want that one of two has gone", got)
		}
		m.engine.crew.BeforePacket = func() {}
		m.engine.duty.Set(1, "")
		m.ticksUntilDropped()
	})
}

// ticksUntilDropped ticks until no partition is kept as a table any more: on a busy machine a tick's second for that
// may be too little.
func (m *moment) ticksUntilDropped() {
	m.f.T.Helper()
	m.f.Wait("the tables to go", func() bool {
		m.mustTick()
		return m.f.sides() == ""
	})
}

// TestCountIsHeldBack: a large table whose count is held back is not counted anew when it goes on, if nobody has
// written to it meanwhile.
func TestCountIsHeldBack(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		f.putAside()
		f.large("ttlproxy_2_p1")
		m := f.at(utc("05-12 13:00:01"))
		m.asides.did = time.Now() // only what follows is done
		m.mustTick()
		over, err := m.store.Over(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		over = over[:1]

		soon := func() time.Time { return time.Now().Add(time.Millisecond) }
		m.engine.duty.Set(0.000_001, "a test")
		f.Wait("its count to begin", func() bool { // unless the moment is over before
			m.seeTo(t.Context(), over, soon())
			return m.counted[over[0].SideID] != nil
		})
		count := m.counted[over[0].SideID]
		if rows := count.Rows(); rows > 1200 {
			t.Errorf("%d rows were counted at once beside an application", rows)
		}
		m.engine.duty.Set(0, "a test")
		before := count.Last()
		f.Wait("the next second", f.NextSecond())
		var held, tried bool
		f.Wait("a look", func() bool {
			held, tried = m.seeTo(t.Context(), over, soon())
			return held || tried
		})
		if !held || m.counted[over[0].SideID] != count {
			t.Error("the count does not go on")
		}
		if count.Last() == before {
			t.Error("nobody looks whether somebody writes to the table while its count is held back")
		}

		m.engine.duty.Set(1, "")
		for late := time.Now().Add(mysqltest.Patience); m.counted[over[0].SideID] == count && time.Now().Before(late); {
			m.seeTo(t.Context(), over, soon())
		}
		f.wantSides("ttlproxy_3_p2")
	})
}

// TestAsidesAskSignals: nothing else is to do, and what the leader may not do to the server because of its check, it
// does not do to tables whose grace is over either; their partitions say so.
func TestAsidesAskSignals(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		var asked atomic.Int64
		var good atomic.Bool
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if asked.Add(1); !good.Load() {
				w.WriteHeader(http.StatusServiceUnavailable)
			}
		}))
		defer server.Close()

		f.days()
		m := f.at(utc("05-12 12:00:00"))
		p := m.exchanges("24h")
		m.pass()

		m = f.at(utc("05-12 13:00:01"))
		var err error
		if m.engine.checks, err = (signal.Checks{URL: server.URL}).Signals(); err != nil {
			t.Fatal(err)
		}
		m.engine.duty.Rest(true)
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- m.engine.throttles(ctx) }()
		defer func() {
			stop()
			if err := <-done; err != nil {
				t.Error(err)
			}
		}()

		f.Wait("the check to be asked", func() bool {
			m.mustTick()
			return asked.Load() > 5 && m.engine.duty.Share() == 0
		})
		f.wantSides("ttlproxy_2_p1,ttlproxy_3_p2")
		fates, err := plan.Fates(t.Context(), f.Admin, m.store.(plan.FateSource), p)
		if last := fates[len(fates)-1].Text; err != nil || !strings.Contains(last, "held back by web_check") {
			t.Errorf("the fate of the last one is %q, %v", last, err)
		}

		good.Store(true)
		m.ticksUntilDropped()
	})
}
