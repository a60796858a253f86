package ttl

import (
	"strconv"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/catalog/setting"
	"github.com/ttlproxy/ttlproxy/ttl/ttltest"
)

// TestClusterLimitIsShared: two nodes delete no more together than ttl_cluster_rows_limit says,
// feel a change within seconds, and one inherits the share of the other.
func TestClusterLimitIsShared(t *testing.T) {
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		f.Fill("t", 20_000)
		f.Fill("u", 20_000)
		f.set(setting.ClusterRowsLimit, "600")
		f.DeclareEvery("t", "1h")
		f.DeclareEvery("u", "1h")
		left := func() int {
			n, err := strconv.Atoi(f.Text("SELECT (SELECT COUNT(*) FROM " + f.Schema + ".t) + (SELECT COUNT(*) FROM " +
				f.Schema + ".u)"))
			if err != nil {
				t.Fatal(err)
			}
			return n
		}

		share := func(e *Engine, want float64) func() bool {
			return func() bool { _, rows, _ := e.rates.Limits(); return rows == want }
		}
		began := time.Now()
		one, stopOne := f.engineOf(nil)
		two, stopTwo := f.engineOf(nil)
		defer stopTwo()

		f.Wait("both to have their share", func() bool { return share(one, 300)() && share(two, 300)() })
		even, before := time.Now(), left()
		f.Wait("a while", elapsed(2*time.Second))

		// Each node may be a second's worth ahead, and a batch that was on its way before comes
		// on top of that.
		if gone, most := before-left(), int(600*time.Since(even).Seconds())+2*600; gone > most {
			t.Errorf("%d rows went in %v, want at most %d", gone, time.Since(even), most)
		}
		if gone := 40_000 - left(); gone == 0 {
			t.Errorf("no row has gone in %v", time.Since(began))
		}

		f.set(setting.ClusterRowsLimit, "1000")
		f.Wait("the change to be felt", func() bool { return share(one, 500)() && share(two, 500)() })
		stopOne()
		f.Wait("the share of the node that left", share(two, 1000))
		f.set(setting.ClusterRowsLimit, "0")
		f.Wait("the expired rows to go", func() bool { return f.remaining("t")+f.remaining("u") == 20_000 })
	})
}

// TestLeadershipIsHandedOver: the node that leads starts jobs and cleans up; the next one does when
// it leaves, or when nothing is heard of it, and what the first one still tries then is refused.
func TestLeadershipIsHandedOver(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		f.Fill("t", 20)
		start := utc("05-10 12:00:00")
		first := f.at(start)
		first.declare("UTC", "10s", nil)

		tick := func(m *moment) bool {
			t.Helper()
			m.mustTick()
			return m.leads
		}
		if second := f.at(start); !tick(first) || tick(second) {
			t.Fatal("of two nodes not the first one alone leads")
		}

		old := first.lease

		// Nothing is heard of it: its lease runs out then, and not sooner.
		if tick(f.at(start.Add(leaseFor - time.Second))) {
			t.Error("another node leads although the lease has not run out")
		}

		next := f.at(start.Add(leaseFor + 2*time.Second)) // when its node counts as gone, too
		if !tick(next) {
			t.Fatal("nobody leads after the lease has run out")
		}
		if next.lease.Fence <= old.Fence {
			t.Errorf("the fence is %d, and was %d before", next.lease.Fence, old.Fence)
		}

		f.Exec("INSERT INTO " + f.Schema + "_c.job_history (job_id, policy_id, policy_version, schema_name, table_name," +
			" state, reason, cutoff, trigger_kind, plan, plan_reason, tasks, tasks_finished, examined, deleted," +
			" refreshed, failed, skipped, note, created_at, finished_at)" +
			" SELECT 999, policy_id, policy_version, schema_name, table_name, 'finished', '', cutoff, 'schedule'," +
			" 'range', '', 0, 0, 0, 0, 0, 0, 0, '', '2020-01-01', '2020-01-01' FROM " + f.Schema + "_c.job LIMIT 1")
		if _, err := first.engine.store.Keep(t.Context(), old, leaseFor, 90); err == nil {
			t.Error("the node that led before still cleans up")
		}
		if n := f.Text("SELECT COUNT(*) FROM " + f.Schema + "_c.job_history WHERE job_id = 999"); n != "1" {
			t.Error("the node that led before has cleaned up")
		}

		// The job that the first one owned is looked after by the next one, once its node counts as
		// gone.
		if owner := f.Text("SELECT MAX(owner) FROM " + f.Schema +
			"_c.job"); owner != strconv.FormatUint(next.engine.node.Load(), 10) {
			t.Errorf("the job belongs to node %s, want %d", owner, next.engine.node.Load())
		}

		next.engine.leave(t.Context(), next.engine.node.Load())
		if !tick(f.at(start.Add(16 * time.Second))) {
			t.Error("nobody leads right after the leader has left")
		}
	})
}
