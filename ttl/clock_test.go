package ttl

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/ttl/ttltest"
)

// TestDoubtedClockStartsNothing: while the database's clock cannot be right no cutoff is computed
// by it.
func TestDoubtedClockStartsNothing(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		f.Fill("t", 20)
		f.at(utc("05-10 12:00:00")).declare("UTC", "1h", nil)
		m := f.at(utc("05-10 12:00:00"))
		m.clock.Skew = 0 // as in real life
		m.pass()

		if stop, why := m.engine.standing(); f.jobs() != "0" || stop != catalog.StopClock ||
			!strings.Contains(why, "more than a day apart") {
			t.Errorf("%s jobs have started, and the node is stopped by %q: %q", f.jobs(), stop, why)
		}
		if f.at(utc("05-10 12:00:00")).pass(); f.jobs() != "1" {
			t.Errorf("%s jobs have started by a clock that is believed, want 1", f.jobs())
		}
	})
}

// leap sets the clock of the engine's database on while it runs.
func (m *moment) leap(by time.Duration) {
	m.f.T.Helper()
	m.db.SetMaxOpenConns(1)
	if _, err := m.db.ExecContext(m.f.T.Context(),
		fmt.Sprintf("SET timestamp = UNIX_TIMESTAMP() + %d", int(by.Seconds()))); err != nil {
		m.f.T.Fatal(err)
	}
}

// again is what an engine that stays does at each tick.
func (m *moment) again() {
	m.f.T.Helper()
	for range 3 {
		m.mustTick()
		m.workUntilCalled(m.f.T.Context())
	}
}

// TestLeapDeletesNothing: when the clock leaps further than time has passed here, nothing is judged
// by it until it is back, or until a person says that it is right; a witness stops all nodes
// for that.
func TestLeapDeletesNothing(t *testing.T) {
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		f.Exec("CREATE TABLE "+f.Schema+".t (id INT PRIMARY KEY, made DATETIME)",
			// the second is due at 16:00
			"INSERT INTO "+f.Schema+".t VALUES (1, '2027-05-01'), (2, '2027-05-09 16:00:00')")
		m := f.at(utc("05-10 12:00:00"))
		m.declare("UTC", "1h", nil)
		expect := func(when, rows, held string) {
			t.Helper()
			m.again()
			_, got := m.engine.standing()
			if f.Rows("t") != rows || !strings.Contains(got, held) || held == "" && got != "" {
				t.Errorf("%s: %s rows are left, and the node is held by %q; want %s and %q",
					when, f.Rows("t"), got, rows, held)
			}
		}

		expect("at first", "1", "")
		m.leap(8 * time.Hour)
		expect("eight hours later within a second", "1", "the server's clock jumped by ")
		m.leap(-8 * time.Hour)
		expect("back again", "1", "")

		f.Exec("UPDATE " + f.Schema + "_c.generation SET advanced_at = '2027-05-10 11:59:58'")

		witness, err := catalog.NewWitness(m.engine.store, "", slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}

		check := func() {
			t.Helper()
			if err := witness.Check(t.Context()); err != nil {
				t.Fatal(err)
			}
		}

		check()
		m.leap(8 * time.Hour)
		expect("leapt anew", "1", "the server's clock jumped by ")
		check()
		m.again()

		pause, err := m.engine.store.GlobalPause(t.Context())
		if err != nil || !pause.Held || !strings.Contains(pause.HeldReason, "jumped by ") ||
			!strings.Contains(pause.HeldReason, "TRUST TTL SERVER") {
			t.Errorf("the witness has let it be: %+v, %v", pause, err)
		}

		f.at(utc("05-10 20:00:00")).pass()
		if f.Rows("t") != "1" {
			t.Error("a node that was started after the leap has deleted by it")
		}
		if err := m.engine.store.Trust(t.Context(), "test", m.engine.store.Server().Key()); err != nil {
			t.Fatal(err)
		}

		check()
		expect("after a person has said that the time is right", "0", "")
	})
}

// TestSilenceOfOneNode: where only this machine stood still, others know, and work goes on.
func TestSilenceOfOneNode(t *testing.T) {
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		f.Fill("t", 20)
		m := f.at(utc("05-10 12:00:00"))
		m.declare("UTC", "1h", nil)
		m.again()
		m.leap(8 * time.Hour) // as it looks from here

		if m.again(); f.jobs() != "1" {
			t.Fatalf("%s jobs have started, want 1", f.jobs())
		}

		witness, err := catalog.NewWitness(m.engine.store, "", slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}

		f.Exec("UPDATE " + f.Schema + "_c.generation SET advanced_at = '2027-05-10 19:59:58'") // by another node
		for range 2 {
			if err := witness.Check(t.Context()); err != nil {
				t.Fatal(err)
			}
		}

		m.again()
		if stop, why := m.engine.standing(); f.jobs() != "2" || stop != "" || why != "" {
			t.Errorf("%s jobs have started, and the node is held by %q; want 2 and none", f.jobs(), why)
		}
	})
}
