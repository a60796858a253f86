package ttl

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
)

// The cost of a job, as the server counts it. Each flavour has a server of its own here, which
// counts the rows that its storage engine hands out (performance_schema) and writes every statement
// down (the general log).

func eachCountingServer(t *testing.T, run func(t *testing.T, cfg *mysql.Config)) {
	t.Helper()
	for _, flavour := range mysqltest.Flavours {
		t.Run(string(flavour), func(t *testing.T) {
			t.Parallel()
			s := mysqltest.Start(t, flavour, "--performance-schema=ON", "--log-output=TABLE")
			run(t, s.Config(""))
		})
	}
}

// fetched is how many rows of table t the server has read so far.
func (f *fixture) fetched() int {
	f.T.Helper()
	return f.Number("SELECT COALESCE(SUM(COUNT_FETCH), 0) FROM performance_schema.table_io_waits_summary_by_table" +
		" WHERE OBJECT_SCHEMA = '" + f.Schema + "' AND OBJECT_NAME = 't'")
}

// fillIndexed makes a table with an index on time in which one row in a thousand is due, and every
// 500th has no date.
func (f *fixture) fillIndexed(rows int) (due int) {
	f.T.Helper()
	f.Fill("t", rows)
	// The index comes last: entries that an UPDATE has left behind would still be counted by the
	// optimizer.
	f.Exec("UPDATE "+f.Schema+
		".t SET made = CASE WHEN id % 1000 = 1 THEN '2020-01-01' + INTERVAL id SECOND WHEN id % 500 = 2 THEN NULL "+
		"ELSE '2037-01-01' END",
		"ALTER TABLE "+f.Schema+".t ADD INDEX (made)", "ANALYZE TABLE "+f.Schema+".t")
	return rows / 1000
}

// TestFewDueRowsAreReadTwice: with an index on time and one row in a thousand due, the server reads
// each of those twice, in the index and where it is deleted; MySQL a third time, to lock it before anything is
// deleted. Of the others it reads those without a date, once, to say how many never expire.
func TestFewDueRowsAreReadTwice(t *testing.T) {
	t.Parallel()
	eachCountingServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		due := f.fillIndexed(200_000)
		p := f.Declare("t")
		// Before a policy has passed the brake for the first time it is seen whether there are 1,000 rows.
		if _, err := f.Store.Consent(t.Context(), "test", p.ID, p.Version, catalog.Consent{}); err != nil {
			t.Fatal(err)
		}
		f.Exec("SET GLOBAL general_log = ON")
		before := f.fetched()
		stop := f.run(nil)
		f.Wait("the job to end", func() bool {
			return f.Text("SELECT COALESCE(MAX(CONCAT_WS(' ', state, plan, deleted, examined)), '') FROM "+f.Schema+
				"_c.job_history WHERE deleted > 0") ==
				fmt.Sprintf("finished index %d %d", due, due)
		})
		stop()
		read, dateless := f.fetched()-before, f.Number("SELECT COUNT(*) FROM "+f.Schema+".t WHERE made IS NULL")

		times := 2
		if !f.Store.Server().MariaDB {
			times = 3
		}
		// One more row tells, before each job, whether anything is due.
		if read > times*due+dateless+5 {
			t.Errorf("the server read %d rows to delete %d, by\n%.2000s", read, due,
				strings.Join(f.statementsNaming("`"+f.Schema+"`.`t`"), "\n"))
		}
	})
}

// TestNothingDueCostsFiveStatements: with an index on time, a job that finds nothing due sends at
// most five statements that name the user's table.
func TestNothingDueCostsFiveStatements(t *testing.T) {
	t.Parallel()
	eachCountingServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		f.fillIndexed(20_000)
		f.Exec("DELETE FROM " + f.Schema + ".t WHERE made < NOW()")
		p := f.Declare("t")
		f.Exec("SET GLOBAL general_log = ON")
		stop := f.run(nil)
		for n := range 3 { // nobody else makes one that would find nothing
			f.Wait("a job to end", func() bool {
				return f.Text("SELECT COALESCE(SUM(runs), 0) > "+strconv.Itoa(n)+" FROM "+f.Schema+
					"_c.job_history WHERE state = 'finished'") == "1"
			})
			f.request(p)
		}
		stop()
		f.Exec("SET GLOBAL general_log = OFF")
		jobs := f.Number("SELECT SUM(runs) FROM " + f.Schema + "_c.job_history")

		named := slices.DeleteFunc(f.statementsNaming("`"+f.Schema+"`.`t`"), func(s string) bool {
			return strings.HasPrefix(s, "(SELECT ") // a look, without a job
		})
		// The first one asks MySQL for its number, and whether there are rows to judge a policy by.
		if most := 5*jobs + 2; len(named) == 0 || len(named) > most {
			t.Errorf("%d jobs sent %d statements on the table, want at most five each:\n%.2000s",
				jobs, len(named), strings.Join(named, "\n"))
		}
	})
}

// statementsNaming lists the statements of the general log that name a table.
func (f *fixture) statementsNaming(table string) (all []string) {
	f.T.Helper()
	rows, err := f.Admin.QueryContext(f.T.Context(),
		"SELECT CONVERT(argument USING utf8mb4) FROM mysql.general_log WHERE command_type IN ('Query', 'Execute') "+
			"AND LOCATE(?, argument) > 0 AND LOCATE('general_log', argument) = 0", table)
	if err != nil {
		f.T.Fatal(err)
	}
	defer rows.Close()

	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			f.T.Fatal(err)
		}
		all = append(all, s)
	}

	if err := rows.Err(); err != nil {
		f.T.Fatal(err)
	}

	return all
}
