package ttl

import (
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/ttl/ttltest"
)

// TestOthersGoOnBesideHeldPartitions: partitions that were rebuilt around the proxy wait for a person, with their
// rows. Each later run takes the others, and the first one in which something is due beside them; what was held
// and is dropped is in nobody's way.
func TestOthersGoOnBesideHeldPartitions(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		now := utc("05-10 12:00:00")
		f.divide(now, 6)
		m := f.at(now)
		p := m.declare("UTC", "1h", nil)
		if _, err := m.engine.store.Consent(t.Context(), "ann@%", p.ID, p.Version, catalog.Consent{}); err != nil {
			t.Fatal(err)
		}
		m.pass()

		// p0 and p1 are before 11 May; p2 is of that day.
		refill := func(rows ...string) {
			t.Helper()
			f.Exec(f.In("INSERT INTO {t}.t VALUES " + strings.Join(rows, ", ")))
		}
		wantLeft := func(after time.Duration, want string) {
			t.Helper()
			f.at(now.Add(after)).pass()
			if got := f.Text(f.In("SELECT GROUP_CONCAT(id ORDER BY id) FROM {t}.t")); got != want {
				t.Errorf("after %v rows %s are left, want %s", after, got, want)
			}
		}

		wantHeld := func(want string) {
			t.Helper()
			holds, err := f.Store.Holds(t.Context())
			var got []string
			for _, h := range holds[p.ID].Places {
				got = append(got, h.Partition)
			}
			if err != nil || strings.Join(got, ",") != want {
				t.Errorf("%v, %v are held, want %s", got, err, want)
			}
			if n := f.Number(f.In("SELECT COUNT(*) FROM {t}_c.job")); n != 0 {
				t.Errorf("%d jobs are open", n)
			}
			known := f.Text(f.In("SELECT GROUP_CONCAT(partition_name ORDER BY 1) FROM {t}_c.schedule " +
				"WHERE partition_name <> ''"))
			if !strings.HasPrefix(known, want) {
				t.Errorf("partitions %s are known to have run, want those that are held first: %s", known, want)
			}
		}

		refill("(11, '2027-05-01')", "(12, '2027-05-09 11:00:00')")
		f.Exec(f.In("ALTER TABLE {t}.t REBUILD PARTITION p0, p1"))
		wantLeft(time.Hour, "4,5,11,12")
		wantHeld("p0,p1")
		refill("(13, '2027-05-10 13:00:00')")
		wantLeft(26*time.Hour, "4,5,11,12")
		refill("(14, '2027-05-10 14:00:00')", "(15, '2027-05-01')")
		wantLeft(28*time.Hour, "4,5,11,12,15")

		f.Exec(f.In("ALTER TABLE {t}.t DROP PARTITION p0"))
		refill("(16, '2027-05-10 15:00:00')")
		wantLeft(30*time.Hour, "4,5,12")
		wantLeft(31*time.Hour, "4,5,12")
		wantHeld("p1")
		if got := f.Text(f.In("SELECT GROUP_CONCAT(DISTINCT state) FROM {t}_c.policy")); got != "armed" {
			t.Errorf("the policy is %s", got)
		}
	})
}
