package ttl

import (
	"strings"
	"sync/atomic"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/ttl/ttltest"
)

// TestGrownMidJob: a column that is added around the proxy stops the job that runs before another
// row goes. The next one goes on from what it finds.
func TestGrownMidJob(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		f.Fill("t", 20_000)
		p := f.DeclareEvery("t", "1h")
		if _, err := f.Store.Consent(t.Context(), "test", p.ID, p.Version, catalog.Consent{}); err != nil {
			t.Fatal(err)
		}

		var packets atomic.Int64
		var before, after atomic.Value
		defer f.run(func(c *Config) {
			c.beforePacket = func() {
				switch packets.Add(1) {
				case 3:
					f.Exec("ALTER TABLE " + f.Schema + ".t ADD COLUMN x INT")
					before.Store(f.Rows("t"))
				case 4:
					after.Store(f.Rows("t"))
				default:
				}
			}
		})()

		f.Wait("the expired rows to go", func() bool { return f.Rows("t") == "10000" })
		if before.Load() != after.Load() {
			t.Errorf("%v rows when the column was added, and %v at the next batch", before.Load(), after.Load())
		}

		ended := "SELECT COALESCE(GROUP_CONCAT(CONCAT(state, ' ', reason, ' ', policy_version) ORDER BY job_id " +
			"SEPARATOR '; '), '')" +
			" FROM " + f.Schema + "_c.job_history"
		f.Wait("two jobs to end", func() bool { return strings.Contains(f.Text(ended), "finished") })
		if got := f.Text(ended); !strings.HasPrefix(got,
			"cancelled the table was altered outside ttlproxy; column `x` int") ||
			!strings.HasSuffix(got, " is new; another job is planned 1; finished  2") {
			t.Errorf("got %s, want a job that was cancelled for the column, and one of the next version", got)
		}
	})
}
