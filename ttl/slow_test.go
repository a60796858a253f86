package ttl

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/tables"
	"github.com/ttlproxy/ttlproxy/ttl/ttltest"
)

// slowStore is a catalog that takes longer to be read than a tick has for starting jobs, and for
// checking running ones.
type slowStore struct{ tickerStore }

func (s slowStore) Pulse(ctx context.Context, node uint64, lease string) (catalog.Pulse, error) {
	time.Sleep(max(startFor, reconsiderFor) + 100*time.Millisecond)
	return s.tickerStore.Pulse(ctx, node, lease)
}

// TestSlowCatalogStarvesNothing: however long a tick takes for other things, one job that is due
// starts, and one that waits is asked whether it still has to.
func TestSlowCatalogStarvesNothing(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		f.Fill("t", 20)
		m := f.at(utc("05-10 12:00:00"))
		m.declare("UTC", "1h", nil)
		m.store = slowStore{m.store}
		m.news <- struct{}{} // and somebody asks for something all the time

		tick := func() {
			t.Helper()
			m.known.forget()
			m.settingsAt = m.pulse.Now.Add(time.Minute) // as if they had changed: then a job that is new is looked at, too
			m.mustTick()
		}

		if tick(); f.waits() != "running" {
			t.Fatalf("the job that is due is %q", f.waits())
		}

		f.Exec(f.In("UPDATE {t}_c.policy SET options = JSON_OBJECT('TTL_SPARE', '1')"))
		if tick(); !strings.HasPrefix(f.waits(), "paused: ") {
			t.Errorf("the job is %q under a rule that is not understood", f.waits())
		}

		f.Exec(f.In("UPDATE {t}_c.policy SET options = JSON_OBJECT()"))
		if tick(); f.waits() != "running" {
			t.Errorf("the job is %q after its reason to wait has gone", f.waits())
		}
	})
}

// slowAnswers is a catalog in which each question about a job takes all the time that a tick has for them.
type slowAnswers struct {
	tickerStore
	asked []uint64 // policies
}

func (s *slowAnswers) Identities(ctx context.Context, policy uint64) (tables.Incarnation, error) {
	s.asked = append(s.asked, policy)
	time.Sleep(reconsiderFor + 10*time.Millisecond)
	return s.tickerStore.Identities(ctx, policy)
}

// TestJobsAreReconsideredInTurn: where there is no time for all jobs at a tick, and the first of them
// have to be asked again before all have been, the others still come.
func TestJobsAreReconsideredInTurn(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		for i := range 3 {
			f.Fill(fmt.Sprint("t", i), 20)
			f.DeclareEvery(fmt.Sprint("t", i), "1h")
		}

		m := f.at(utc("05-10 12:00:00"))
		f.Wait("all jobs to start", func() bool {
			m.mustTick()
			return f.jobs() == "3"
		})
		store := &slowAnswers{tickerStore: m.store}
		m.store = store

		for range 3 {
			for job, at := range m.reconsidered {
				m.reconsidered[job] = at.Add(-reconsiderEvery) // as if it took that long
			}
			m.settingsAt = m.pulse.Now.Add(time.Minute)
			m.mustTick()
		}
		if asked := slices.Compact(slices.Sorted(slices.Values(store.asked))); len(asked) != 3 {
			t.Errorf("policies %v were asked about", store.asked)
		}
	})
}
