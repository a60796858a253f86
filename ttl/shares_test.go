package ttl

import (
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/ttl/ttltest"
)

// believed makes t, with an index on time, and has the server take it for a table of so many rows.
func (f *fixture) believed(rows string) {
	f.T.Helper()
	f.Exec(f.In("CREATE TABLE {t}.t (id INT PRIMARY KEY AUTO_INCREMENT, made DATETIME, "+
		"pad VARCHAR(200) NOT NULL DEFAULT '"+strings.Repeat("x", 100)+"', KEY (made)) "+
		"STATS_PERSISTENT = 1 STATS_AUTO_RECALC = 0"), f.In("ANALYZE TABLE {t}.t"),
		f.In("UPDATE mysql.innodb_table_stats SET n_rows = "+rows+", clustered_index_size = 2000 WHERE "+
			"database_name = '{t}' AND table_name = 't'"),
		f.In("RENAME TABLE {t}.t TO {t}.x"), f.In("RENAME TABLE {t}.x TO {t}.t"))
}

// old puts so many rows into t, of which some are due.
func (f *fixture) old(rows, due string) {
	f.T.Helper()
	f.Exec(f.In("INSERT INTO {t}.t (made) WITH RECURSIVE d AS (SELECT 0 AS n UNION ALL SELECT n + 1 FROM d WHERE " +
		"n < 399) SELECT IF((a.n + b.n) % 100 < " + due + ", '2001-01-01' + INTERVAL b.n SECOND, " +
		"NOW() + INTERVAL 1 YEAR) " +
		"FROM d a JOIN d b LIMIT " + rows))
}

// TestSharesOfWhatIsThere: a share of a table is one of its rows, and not of those that the server believes in, which
// may be three times as many.
func TestSharesOfWhatIsThere(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		for name, c := range map[string]struct {
			due     string
			options map[string]string
			why     string
		}{
			"of one run":   {"30", map[string]string{ddl.OptionMaxPercent: "20"}, "more than TTL_MAX_PERCENT = 20"},
			"of the brake": {"60", nil, "more than ttl_brake_rows = 10000 and ttl_brake_percent = 50"},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				f := newBrakedFixture(t, cfg, 0)
				f.believed("270000")
				f.old("90000", c.due)
				f.at(time.Now()).declare("UTC", "1h", c.options)
				defer f.run(nil)()
				f.Wait("the run to be held, or to end", func() bool {
					state := f.Text("SELECT COALESCE(MAX(state), '') FROM " + f.Schema + "_c.job")
					return state == string(catalog.JobNeedsApproval) ||
						f.Number("SELECT COUNT(*) FROM "+f.Schema+"_c.job_history") > 0
				})
				why := f.Text("SELECT COALESCE(MAX(reason), '') FROM " + f.Schema + "_c.job")
				if !strings.Contains(why, c.why) {
					t.Errorf("the reason is %q, want %q", why, c.why)
				}
				if left := f.Rows("t"); left != "90000" {
					t.Errorf("%s rows are left, want all", left)
				}
			})
		}
	})
}

// TestEmptiedTableApprovesNothing: a table that the server takes for a large one, because it was one, has nothing to
// judge a policy by: what is loaded again is a surprise.
func TestEmptiedTableApprovesNothing(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newBrakedFixture(t, cfg, 0)
		f.believed("300000")
		f.Declare("t")
		defer f.run(nil)()
		f.Wait("the first job",
			func() bool { return f.Number("SELECT COALESCE(SUM(runs), 0) FROM "+f.Schema+"_c.job_history") > 0 })
		f.old("9000", "100")
		if why := f.needsApproval(); !strings.Contains(why, "9000 of 9000 rows (100 %) are due") {
			t.Errorf("the reason is %q, want the rows", why)
		}
		if left := f.Rows("t"); left != "9000" {
			t.Errorf("%s rows are left, want all", left)
		}
	})
}
