package ttl

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
	"github.com/ttlproxy/ttlproxy/sandbox"
	"github.com/ttlproxy/ttlproxy/ttl/ttltest"
)

// manyDays is days with 32,768 rows in p1, and an index on their dates.
func (f *fixture) manyDays() {
	f.T.Helper()
	f.days()
	f.Exec(f.In("ALTER TABLE {t}.t ADD KEY (made)"), f.In("INSERT INTO {t}.t WITH RECURSIVE d AS (SELECT 0 AS n "+
		"UNION ALL SELECT n + 1 FROM d WHERE n < 181) SELECT 1000 + a.n * 182 + b.n, "+
		"'2027-05-09 01:00:00' + INTERVAL a.n SECOND FROM d a JOIN d b LIMIT 32766"), f.In("ANALYZE TABLE {t}.t"))
}

// TestWholeByItsIndex: where the first and the last entry of an index tell that all rows of a large partition go,
// these are not read. How many they are is then what the server believes; it is counted where that might exceed
// what the run may delete.
func TestWholeByItsIndex(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		for name, c := range map[string]struct {
			most  string
			about bool
		}{
			"far fewer than allowed": {"1000000", true}, "about as many as allowed": {"55000", false},
		} {
			t.Run(name, func(t *testing.T) {
				f := newFixture(t, cfg, 0)
				f.manyDays()
				options := map[string]string{ddl.OptionPartition: ddl.PartitionDrop, ddl.OptionMaxRows: c.most}
				m := f.at(utc("05-12 12:00:00"))
				m.declare("UTC", "1h", options)
				m.pass()
				if got := f.divided(); got != "5,8 in p0,p3,p4" {
					t.Fatalf("%s is left", got)
				}
				text := f.Text(f.In("SELECT text FROM {t}_c.event WHERE kind = 'partition' AND text LIKE 'partition p1 %'"))
				if strings.Contains(text, "about") != c.about || !c.about && !strings.Contains(text, "with 32768 rows") {
					t.Errorf("the event says %q", text)
				}
				read := f.Number(f.In("SELECT examined FROM {t}_c.job_history WHERE partition_name = 'p1'"))
				if c.about != (read == 0) {
					t.Errorf("%d rows of it were read", read)
				}
				if gone := f.Number(f.In("SELECT deleted FROM {t}_c.job_history WHERE partition_name = 'p1'")); gone < 16_384 ||
					gone > 65_536 {
					t.Errorf("%d rows count as deleted, of 32768", gone)
				}
			})
		}
	})
}

// TestWholeByOldStatistics: what the server believes may have been true long ago. The file says how much more there may
// be, and so the run stops at its bound.
func TestWholeByOldStatistics(t *testing.T) {
	t.Parallel()
	ttltest.EachServer(t, func(t *testing.T, cfg *mysql.Config) {
		f := newFixture(t, cfg, 0)
		f.manyDays()
		f.Exec(f.In("ALTER TABLE {t}.t STATS_PERSISTENT = 1, STATS_AUTO_RECALC = 0"), f.In("ANALYZE TABLE {t}.t"))
		believed := f.In("SELECT table_rows FROM information_schema.partitions WHERE table_schema = '{t}' AND " +
			"table_name = 't' AND partition_name = 'p1'")
		f.Exec(f.In("CREATE TABLE {t}.stats AS SELECT * FROM mysql.innodb_table_stats WHERE database_name = '{t}'"))
		for _, more := range []string{"100000", "200000"} {
			f.Exec(f.In("INSERT INTO {t}.t SELECT id + " + more + ", made FROM {t}.t PARTITION (p1) WHERE id < 100000"))
		}
		// As after a restart, or when the server has closed the table meanwhile; ANALYZE may have been a tenth too high.
		f.Exec(f.In("UPDATE mysql.innodb_table_stats s JOIN {t}.stats o USING (database_name, table_name) SET s.n_rows = "+
			"LEAST(o.n_rows, 32768), s.clustered_index_size = o.clustered_index_size, s.sum_of_other_index_sizes = "+
			"o.sum_of_other_index_sizes"), f.In("RENAME TABLE {t}.t TO {t}.x"),
			f.In("RENAME TABLE {t}.x TO {t}.t"))
		if rows := f.Number(believed); rows > 36_000 {
			t.Fatalf("the server believes in %d rows", rows)
		}

		m := f.at(utc("05-12 12:00:00"))
		m.declare("UTC", "1h", map[string]string{ddl.OptionPartition: ddl.PartitionDrop, ddl.OptionMaxRows: "80000"})
		m.pass()
		if left := f.Number(f.In("SELECT COUNT(*) FROM {t}.t PARTITION (p1)")); left < 18_000 {
			t.Errorf("%d rows of p1 are left, of 98304", left)
		}
	})
}

// TestWholeByItsIndexAgainstTheBounds: a row at either end that does not go keeps the partition, wherever its bounds
// say that it should be.
func TestWholeByItsIndexAgainstTheBounds(t *testing.T) {
	t.Parallel()
	for name, odd := range map[string]string{"first": "1969-01-01", "last": "2030-01-01"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, mysqltest.Shared(t, sandbox.MySQL).Config(""), 0)
			f.manyDays()
			f.Exec(f.In("CREATE TABLE {t}.u LIKE {t}.t"), f.In("ALTER TABLE {t}.u REMOVE PARTITIONING"),
				f.In("INSERT INTO {t}.u SELECT * FROM {t}.t PARTITION (p1)"),
				f.In("INSERT INTO {t}.u VALUES (9, '"+odd+"')"),
				f.In("ALTER TABLE {t}.t EXCHANGE PARTITION p1 WITH TABLE {t}.u WITHOUT VALIDATION"),
				f.In("ANALYZE TABLE {t}.t"))
			m := f.at(utc("05-12 12:00:00"))
			m.declare("UTC", "30m", map[string]string{ddl.OptionPartition: ddl.PartitionDrop})
			m.pass()
			if got := f.Text(f.In("SELECT COALESCE(SUM(id = 9), 0) FROM {t}.t PARTITION (p1)")); got != "1" {
				t.Errorf("the row of %s is gone", odd)
			}
			why := f.Text(f.In("SELECT reason FROM {t}_c.departure WHERE partition_name = 'p1'"))
			if !strings.Contains(why, "never do: 1") {
				t.Errorf("the reason is %q", why)
			}
		})
	}
}

// TestWholeAgainstAnImport: rows that are imported into a partition when it has been judged, which MySQL does not
// look at, keep it from going, by an index or by InnoDB's id of what was imported.
func TestWholeAgainstAnImport(t *testing.T) {
	t.Parallel()
	for name, index := range map[string]string{"indexed": ", ADD KEY (made)", "counted": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, mysqltest.Shared(t, sandbox.MySQL).Config(""), 0)
			f.days()
			files := f.Text("SELECT @@datadir")
			if _, err := os.Stat(filepath.Join(files, f.Schema)); err != nil {
				t.Skip("the server's files are not here")
			}
			f.Exec(f.In("ALTER TABLE {t}.t COMMENT = 'x'"+index), f.In("CREATE TABLE {t}.u LIKE {t}.t"),
				f.In("ALTER TABLE {t}.u REMOVE PARTITIONING"), f.In("INSERT INTO {t}.u VALUES (9, '2030-01-01')"))
			m := f.at(utc("05-12 12:00:00"))
			m.whole(ddl.PartitionDrop)
			m.engine.crew.BeforePacket = func() {
				if f.Text(f.In("SELECT COUNT(*) FROM {t}_c.departure WHERE state = 'ready' AND partition_name = 'p1'")) == "1" {
					m.engine.crew.BeforePacket = func() {}
					f.importOver("t", "PARTITION p1", "t#p#p1", files)
				}
			}
			m.pass()
			if got := f.divided(); !strings.HasPrefix(got, "5,8,9 in p0,p1,") {
				t.Errorf("%s is left; departures: %s", got, f.Text(f.In("SELECT GROUP_CONCAT(partition_name, ' ', state, ': ', "+
					"reason ORDER BY partition_name SEPARATOR '; ') FROM {t}_c.departure")))
			}
		})
	}
}
