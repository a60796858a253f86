package integration

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog/setting"
	"github.com/ttlproxy/ttlproxy/ddl"
)

// limitTrials are those of what bounds how much goes at a time, and how fast.
var limitTrials = map[string]func(*trial){
	setting.ScanBatchSize: func(s *trial) {
		s.log()
		s.sql("SET GLOBAL ttl_delete_rate_limit = 5")
		s.running("")
		s.wait("a block of its own size", func() bool { return len(s.logged(blockEnd, "")) > 0 })
		before := s.logged(blockEnd, "")
		since := s.after("SET GLOBAL ttl_scan_batch_size = 50")
		s.wait("a DELETE by it", func() bool { return s.gone(since) > 0 })
		// who was looking for rows when the statement answered learns of it with the next DELETE
		since = s.after("DO 0")
		where := strings.ReplaceAll(since, "at >", "event_time >")
		s.wait("smaller blocks", func() bool { return len(s.logged(blockEnd, where)) > 3 })
		if first, then := slices.Max(before), slices.Max(s.logged(blockEnd, where)); then > 49 || first < 100 {
			s.Errorf("blocks had %d rows, and then %d", first+1, then+1)
		}
	},
	setting.DeleteBatchSize: func(s *trial) {
		s.sql("SET GLOBAL ttl_delete_rate_limit = 5")
		s.running("")
		if n := s.largest(""); n <= 100 {
			s.Errorf("untouched, a DELETE has deleted %d rows of a table that is due as a whole", n)
		}
		since := s.after("SET GLOBAL ttl_delete_batch_size = 100") // the default, but said
		s.wait("DELETEs", func() bool { return s.gone(since) > 200 })
		if n := s.largest(since); n > 100 {
			s.Errorf("a DELETE has deleted %d rows", n)
		}

		s.sql("SET GLOBAL ttl_delete_rate_limit = 0, ttl_delete_batch_size = 7")
		for keys, due := range map[string]string{
			byID + ", KEY by_at (at)": "id % 50 = 1", "": "id % 2 = 1",
			byID: "id % 3 = 1",
		} {
			s.rows(600, due, keys)
			s.declare("")
			s.wait("all to go",
				func() bool { return s.number("SELECT COUNT(*) FROM %s.%s WHERE at < NOW()", s.schema, s.table) == 0 })
			if n := s.largest(""); n > 7 {
				s.Errorf("with the keys %q a DELETE has deleted %d rows", keys, n)
			}
		}
	},
	ddl.OptionBatchSize: func(s *trial) {
		s.running("TTL_DELETE_RATE = 3000")
		if n := s.largest(""); n <= 30 {
			s.Errorf("before, a DELETE has deleted %d rows", n)
		}
		since := s.after("ALTER TABLE " + s.table + " TTL_DELETE_BATCH_SIZE = 30")
		s.wait("DELETEs", func() bool { return s.gone(since) > 200 })
		if n := s.largest(since); n > 30 {
			s.Errorf("a DELETE has deleted %d rows", n)
		}
	},
	setting.BatchTargetMS: func(s *trial) {
		s.sql("SET GLOBAL ttl_delete_rate_limit = 5, ttl_batch_target_ms = 1000")
		s.running("")
		before := s.largest("")
		since := s.after("SET GLOBAL ttl_batch_target_ms = 1")
		s.wait("small batches", func() bool {
			n := s.number("SELECT COALESCE(MIN(n), 0) FROM "+perDelete, s.schema, s.table, since)
			return n > 0 && n <= 120
		})
		if before < 500 {
			s.Errorf("before that a DELETE had deleted %d rows at most", before)
		}
		s.wait("it to be shown that they take longer", func() bool {
			r := s.reading("batch_time")
			return r.state == "measured" && r.value > 1 && r.threshold == 1 && r.held > 0
		})
	},
	setting.DeleteRateLimit: func(s *trial) {
		s.sql("SET GLOBAL ttl_delete_batch_size = 10")
		tx, err := s.direct.BeginTx(s.Context(), nil)
		if err != nil {
			s.Fatal(err)
		}
		defer tx.Rollback()
		s.running(slowly)
		// What waits for a lock is sent again, and counts again.
		if _, err := tx.ExecContext(s.Context(),
			"SELECT * FROM "+s.schema+"."+s.table+" WHERE id IN (30000, 32000) FOR UPDATE"); err != nil {
			s.Fatal(err)
		}
		since := s.after("SET GLOBAL ttl_delete_rate_limit = 5")
		s.wait("rows to go", func() bool { return s.gone(since) > 0 })
		s.atMost(5, 2, s.deletes)

		s.sql("PAUSE TTL FOR " + s.table)
		s.rows(20_000, "FALSE", byID)
		s.sql("SET GLOBAL ttl_delete_rate_limit = 1")
		s.declare("")
		s.wait("a job that has nothing to delete", func() bool {
			return s.text("SELECT COALESCE(MAX(examined), 0) FROM ttlproxy.job_history WHERE table_name = '%s'",
				s.table) == "20000"
		})
	},
	setting.DeleteRowsLimit:  func(s *trial) { s.slowed("SET GLOBAL ttl_delete_rows_limit = 200", 200, 40) },
	setting.ClusterRowsLimit: func(s *trial) { s.slowed("SET GLOBAL ttl_cluster_rows_limit = 200", 200, 40) },
	setting.RateSchedule: func(s *trial) {
		s.slowed("SET GLOBAL ttl_rate_schedule = '"+s.byTheClock()+"; zone Asia/Tokyo'", 200, 40)
		since := s.after("SET GLOBAL ttl_rate_schedule = ''")
		s.wait("the old speed", func() bool { return s.gone(since) > 1000 })
	},
	setting.ScanRateLimit: func(s *trial) { s.slowed("SET GLOBAL ttl_scan_rate_limit = 300", 300, 600) },
	ddl.OptionDeleteRate: func(s *trial) {
		s.slowed("ALTER TABLE {t} TTL_DELETE_RATE = 200", 200, 40)
		s.sql("ALTER TABLE " + s.table + " TTL_DELETE_RATE = 3000")
		s.slowed("ALTER TABLE {t} TTL_DELETE_RATE = '"+s.byTheClock()+"; zone Asia/Tokyo'", 200, 40)
		s.keepsCount()
	},
	setting.ScanWorkerCount:   func(s *trial) { s.oneWorker("ttl_scan_worker_count") },
	setting.DeleteWorkerCount: func(s *trial) { s.oneWorker("ttl_delete_worker_count") },
	setting.RunningTasks: func(s *trial) {
		for range 4 {
			s.rows(4000, "TRUE", byID)
			s.declare(slowly)
		}
		s.wait("several workers", func() bool { return s.connections("") > 1 })
		since := s.after("SET GLOBAL ttl_running_tasks = 1")
		all := func() []string {
			return s.column(s.direct, "SELECT name FROM "+s.schema+".gone WHERE 1 "+since+
				" GROUP BY name, connection, at ORDER BY at")
		}
		s.wait("one task after the other", func() bool { return len(all()) > 15 })
		changes, order := 0, all()
		for i := 1; i < len(order); i++ {
			if order[i] != order[i-1] {
				changes++
			}
		}
		if changes > len(order)/3 {
			s.Errorf("tasks ran side by side: %v", order)
		}
	},
	setting.EnableIndexScan: func(s *trial) {
		s.log()
		s.rows(seedRows, "id % 20 = 1", byID+", KEY by_at (at)")
		s.declare("TTL_DELETE_RATE = 50")
		s.wait("rows to go by the index", func() bool { return s.gone("") > 0 })
		if pages := "FORCE INDEX \\(`by_at`\\)[^;]* LIMIT (\\d+)"; len(s.logged(pages, "")) == 0 {
			s.Error("the index was not used")
		}
		since := s.after("SET GLOBAL ttl_enable_index_scan = OFF")
		where := strings.ReplaceAll(since, "at >", "event_time >")
		s.wait("a block to be looked for by key", func() bool { return len(s.logged(blockEnd, where)) > 0 })
		since = s.after("DO 0")
		s.wait("rows to go without the index", func() bool { return s.gone(since) > 0 })
	},
}

// atMost demands that a counter goes no faster from now on, once a burst was spent.
func (s *trial) atMost(perSecond, burst int, count func() int) {
	s.Helper()
	began, before := time.Now(), count()
	n := 0
	s.wait("the count", func() bool { n = count() - before; return n >= burst+perSecond })
	if allowed := int(time.Since(began).Seconds()*float64(perSecond)) + burst; n > allowed {
		s.Errorf("counted %d in %v, want at most %d a second", n, time.Since(began), perSecond)
	}
}

// slowed demands that a statement makes a fast job delete at most so many rows a second, once what was under way at the
// old speed has gone.
func (s *trial) slowed(statement string, perSecond, burst int) {
	s.Helper()
	s.running("TTL_DELETE_RATE = 1000")
	since := s.after(strings.ReplaceAll(statement, "{t}", s.table))
	s.wait("rows to go", func() bool { return s.gone(since) > 0 })
	s.atMost(perSecond, burst, func() int { return s.gone(since) })
}

// keepsCount demands that a slow job counts rows as examined when it has passed them, which it foresees by.
func (s *trial) keepsCount() {
	s.Helper()
	s.running("TTL_DELETE_RATE = 100")
	s.wait("some hundred rows to go", func() bool { return s.gone("") > 800 })
	job := "SHOW TTL JOBS FOR " + s.table + " WHERE Rows_examined "
	if got := s.column(s.db, job+"> 3 * Rows_deleted OR Percent > 100 * 3 * Rows_deleted / Rows_due"); len(got) > 0 {
		s.Errorf("a job with little done says it has done much: job %v", got)
	}
}

// byTheClock are speeds of which only the slow one is for today, in Tokyo.
func (s *trial) byTheClock() string {
	s.Helper()
	today := strings.ToLower(s.text("SELECT LEFT(DAYNAME(UTC_TIMESTAMP() + INTERVAL 9 HOUR), 3)"))
	tomorrow := strings.ToLower(s.text("SELECT LEFT(DAYNAME(UTC_TIMESTAMP() + INTERVAL 33 HOUR), 3)"))
	return "9000; " + today + " 200; " + tomorrow + " 00:00-01:00 200; " + tomorrow + " 01:01-23:59 8000"
}

// connections counts who has deleted since.
func (s *trial) connections(since string) int {
	s.Helper()
	return s.number("SELECT COUNT(DISTINCT connection) FROM %s.gone WHERE 1 %s", s.schema, since)
}

// oneWorker demands that a setting of 1 makes one worker of those that deleted from four tables. It may have another
// connection once it has heard of the setting, and never goes back.
func (s *trial) oneWorker(setting string) {
	s.Helper()
	for range 4 {
		s.rows(4000, "TRUE", byID)
		s.declare(slowly)
	}
	s.wait("several workers", func() bool { return s.connections("") > 1 })
	since := s.after("SET GLOBAL " + setting + " = 1")
	all := func() []string {
		return s.column(s.direct, "SELECT connection FROM "+s.schema+".gone WHERE 1 "+since+
			" GROUP BY connection, at ORDER BY at")
	}
	s.wait("one to go on", func() bool { return len(all()) > 10 })
	order := all()
	turns := slices.Compact(slices.Clone(order))
	if different := slices.Compact(slices.Sorted(slices.Values(order))); len(turns) > len(different) {
		s.Errorf("workers delete side by side: %v", order)
	}
}

// deletes is what the server has counted, in either form of the statement.
func (s *trial) deletes() (sum int) {
	s.Helper()
	for _, counter := range []string{"Com_delete", "Com_delete_multi"} {
		var name string
		var n int
		if err := s.direct.QueryRowContext(s.Context(), "SHOW GLOBAL STATUS LIKE '"+counter+"'").Scan(&name,
			&n); err != nil {
			s.Fatal(err)
		}
		sum += n
	}
	return sum
}

// logged lists what of the statements about the last table a pattern finds.
func (s *trial) logged(pattern, where string) (found []int) {
	s.Helper()
	re := regexp.MustCompile(pattern)
	query := "SELECT CONVERT(argument USING utf8mb4) FROM mysql.general_log WHERE argument LIKE '%`" + s.table +
		"`%' " + where
	for _, text := range s.column(s.direct, query) {
		if m := re.FindStringSubmatch(text); m != nil {
			n, err := strconv.Atoi(m[1])
			if err != nil {
				s.Fatal(err)
			}
			found = append(found, n)
		}
	}

	return found
}

func (s *trial) log() { execAll(s.T, s.direct, "SET GLOBAL general_log = ON") }

// blockEnd finds how many rows a block is to have, less one.
const blockEnd = `LIMIT 1 OFFSET (\d+)`
