package ttl

import (
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/ttl/ttltest"
)

// TestWaitingJobIsRecounted: a job that waits for approval says how many rows are due now, and how many are usual;
// what is approved is what was shown, be it that more has come since.
func TestWaitingJobIsRecounted(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newBrakedFixture(t, cfg, 0)
		old := func(rows string) { // before all others, where the job has yet to come by
			f.Exec(f.In("INSERT INTO {t}.t SELECT (SELECT COALESCE(MIN(id), 10000) FROM {t}.t AS a) - ROW_NUMBER() OVER (), " +
				"'2001-01-01' FROM information_schema.COLUMNS LIMIT " + rows))
		}
		f.Exec(f.In("CREATE TABLE {t}.t (id INT PRIMARY KEY, made DATETIME)"))
		old("1150")
		f.Exec(f.In("INSERT INTO {t}.t SELECT 10000 + ROW_NUMBER() OVER (), '2900-01-01' FROM information_schema.COLUMNS LIMIT 50"))
		p := f.Declare("t")
		defer f.run(func(c *Config) { c.recountEvery = 50 * time.Millisecond })()

		says := func(want ...string) func() bool {
			return func() bool {
				why := f.needsApproval()
				for _, w := range want {
					if !strings.Contains(why, w) {
						return false
					}
				}
				return true
			}
		}
		due := func() int { return f.Number("SELECT COALESCE(SUM(estimated_rows), 0) FROM " + f.Schema + "_c.job") }
		events := func() int {
			return f.Number("SELECT COUNT(*) FROM " + f.Schema + "_c.event WHERE kind = 'needs approval'")
		}

		f.Wait("the job to ask", says("1150 of 1200 rows", "nobody knows yet how many are usual", "SEEN 1150 ROWS"))
		old("20")
		f.Wait("the new figure", says("1170 of 1220 rows", "SEEN 1170 ROWS"))
		if got := due(); got != 1170 {
			t.Errorf("the job has %d rows due, want 1170", got)
		}
		if got := events(); got != 1 {
			t.Errorf("%d events, want one: an approval of what was seen covers the rest", got)
		}

		old("1000")
		f.Wait("the figure after an import", says("2170 of 2220 rows", "SEEN 2170 ROWS"))
		f.Wait("another event", func() bool { return events() == 2 })

		f.consent(p, catalog.Consent{Seen: new(uint64(1500))})
		f.Wait("what was seen to go", func() bool { return f.Rows("t") == "419" })
		f.Wait("the job to ask again", says("the run may delete 1801 rows", "369 of 419 rows", "SEEN 369 ROWS"))

		f.Exec("DELETE FROM " + f.Schema + ".t WHERE made = '2001-01-01' AND id % 2 = 0")
		left := f.Number("SELECT COUNT(*) FROM "+f.Schema+".t") - 50
		f.Wait("what is left", func() bool { return due() == 1801+left })
		f.consent(p, catalog.Consent{})
		f.Wait("the rest to go", func() bool { return f.Rows("t") == "50" })
	})
}

// TestPartitionsAreRecounted: the jobs of a partitioned table say the same, of the table as a whole.
func TestPartitionsAreRecounted(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newBrakedFixture(t, cfg, 0)
		f.Exec("CREATE TABLE "+f.Schema+".t (id INT AUTO_INCREMENT, made DATETIME, PRIMARY KEY (id, made)) PARTITION BY "+
			"RANGE COLUMNS (made) (PARTITION a VALUES LESS THAN ('2001-01-01'), PARTITION b VALUES LESS THAN ('2002-01-01'))",
			"INSERT INTO "+f.Schema+".t (made) SELECT '2000-05-05' FROM information_schema.COLUMNS LIMIT 1200",
			"INSERT INTO "+f.Schema+".t (made) SELECT '2001-05-05' FROM information_schema.COLUMNS LIMIT 300")
		p := f.Declare("t")
		defer f.run(func(c *Config) { c.recountEvery = 50 * time.Millisecond })()
		f.needsApproval()

		f.Exec("DELETE FROM " + f.Schema + ".t WHERE made < '2001-01-01' AND id % 2 = 0")
		f.Wait("both jobs to say it", func() bool {
			return f.Number("SELECT COUNT(*) FROM "+f.Schema+"_c.job WHERE reason LIKE '900 of 900 rows % SEEN 900 ROWS %'") == 2
		})
		f.consent(p, catalog.Consent{})
		if got := f.Number("SELECT MIN(bound) FROM " + f.Schema + "_c.job"); got < 1081 {
			t.Errorf("the run may delete %d rows, want 1081 at least", got)
		}
		f.Wait("all to go", func() bool { return f.Rows("t") == "0" })
	})
}
