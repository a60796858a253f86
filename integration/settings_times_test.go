package integration

import (
	"fmt"

	"github.com/ttlproxy/ttlproxy/catalog/setting"
	"github.com/ttlproxy/ttlproxy/ddl"
)

// timeTrials are those of when jobs run, and of what is old enough for them.
var timeTrials = map[string]func(*trial){
	setting.JobEnable: func(s *trial) {
		s.running(slowly + " TTL_JOB_INTERVAL = '1m'")
		s.quiet("SET GLOBAL ttl_job_enable = OFF")
		since := s.after("SET GLOBAL ttl_job_enable = ON")
		s.wait("another job", func() bool {
			_, err := s.db.ExecContext(s.Context(), "RUN TTL JOB FOR "+s.table)
			return err == nil && s.gone(since) > 0 // the nodes say a moment later that they are no longer stopped
		})
	},
	"TTL_ENABLE": func(s *trial) {
		s.running(slowly)
		s.quiet("ALTER TABLE " + s.table + " TTL_ENABLE = 'OFF'")
	},
	setting.WindowStart: func(s *trial) {
		s.running(slowly)
		s.stopsAndGoes(s.closed(), "SET GLOBAL ttl_job_schedule_window_start_time = '"+s.clock("-1 MINUTE")+" +0000'")
	},
	setting.WindowEnd: func(s *trial) {
		s.running(slowly)
		s.stopsAndGoes(s.closed(), "SET GLOBAL ttl_job_schedule_window_end_time = '"+s.clock("2 MINUTE")+" +0000'")
	},
	ddl.OptionWindow: func(s *trial) {
		s.running(slowly)
		s.stopsAndGoes(fmt.Sprintf("ALTER TABLE %s TTL_WINDOW = '%s-%s'",
			s.table, s.clock("2 HOUR"), s.clock("3 HOUR")),
			fmt.Sprintf("ALTER TABLE %s TTL_WINDOW = '%s-%s'", s.table, s.clock("-2 MINUTE"), s.clock("3 HOUR")))
	},
	setting.DefaultJobInterval: func(s *trial) {
		s.sql("SET GLOBAL ttl_default_job_interval = '2s'")
		s.rows(10, "TRUE", byID+", KEY (at)")
		s.declare("")
		s.wait("the first run", func() bool { return s.gone("") == 10 })
		s.sql("INSERT INTO " + s.table + " VALUES (11, '2020-01-01', '')")
		s.wait("the second", func() bool { return s.gone("") == 11 })
	},
	"TTL_JOB_INTERVAL": func(s *trial) { s.hastened("TTL_JOB_INTERVAL = '1s'") },
	ddl.OptionMaxLag:   func(s *trial) { s.hastened("TTL_MAX_LAG = '2s'") }, // a run in half of that
	"TTL_CRON": func(s *trial) {
		s.rows(10, "TRUE", byID)
		s.declare("TTL_CRON = '0 3 29 2 *'")
		s.quiet("DO 0")
		s.sql("ALTER TABLE " + s.table + " TTL_CRON = ''")
		s.wait("the interval to count again", func() bool { return s.gone("") == 10 })
	},
	setting.JobTimeout: func(s *trial) {
		s.running(slowly)
		execAll(s.T, s.direct, "UPDATE ttlproxy.job SET created_at = created_at - INTERVAL 5 MINUTE")
		s.sql("SET GLOBAL ttl_job_timeout = '2m'")
		s.wait("the end", func() bool {
			return s.number("SELECT COUNT(*) FROM ttlproxy.job_history WHERE table_name = '%s' AND state = 'timed out'",
				s.table) == 1
		})
	},
	setting.HistoryDays: func(s *trial) {
		s.rows(10, "TRUE", byID)
		s.declare("")
		count := func() int {
			return s.number("SELECT COUNT(*) FROM ttlproxy.job_history WHERE table_name = '%s'", s.table)
		}
		s.wait("a job", func() bool { return count() == 1 })
		execAll(s.T, s.direct, "UPDATE ttlproxy.job_history SET finished_at = finished_at - INTERVAL 10 DAY,"+
			" created_at = created_at - INTERVAL 10 DAY")
		s.sql("SET GLOBAL ttl_history_days = 11")
		if count() != 1 {
			s.Error("ten days are less than eleven")
		}
		s.sql("SET GLOBAL ttl_history_days = 9")
		s.wait("it to be forgotten", func() bool { return count() == 0 })
	},
	"TTL": func(s *trial) {
		s.rows(10, "id <= 4", byID)
		s.declare("")
		s.wait("what is due to go", func() bool { return s.gone("") == 4 })
	},
	setting.DefaultTimeZone: func(s *trial) {
		for zone, want := range map[string]int{"+09:00": 1, "-09:00": 0} {
			s.rows(1, "TRUE", byID)
			s.sql("UPDATE " + s.table + " SET at = UTC_TIMESTAMP() - INTERVAL 22 HOUR")
			s.sql("SET GLOBAL ttl_default_time_zone = '" + zone + "'")
			s.sql("ALTER TABLE " + s.table + " TTL = at + INTERVAL 1 DAY")
			s.wait("the first run", func() bool {
				return s.number("SELECT COUNT(*) FROM ttlproxy.job_history WHERE table_name = '%s' AND state = "+
					"'finished'", s.table) > 0
			})
			if n := s.gone(""); n != want {
				s.Errorf("in %s %d rows went, want %d", zone, n, want)
			}
		}
	},
	"TTL_TIME_ZONE": func(s *trial) {
		s.rows(1, "TRUE", byID)
		s.sql("UPDATE " + s.table + " SET at = UTC_TIMESTAMP() - INTERVAL 22 HOUR")
		s.declare("TTL_TIME_ZONE = '-09:00' TTL_JOB_INTERVAL = '1m'")
		s.quiet("DO 0")
		s.sql("ALTER TABLE " + s.table + " TTL_TIME_ZONE = '+09:00'")
		s.sql("RUN TTL JOB FOR " + s.table)
		s.wait("it to be due", func() bool { return s.gone("") == 1 })
	},
	setting.DateFloor: func(s *trial) {
		s.rows(seedRows, "id % 2 = 0", byID)
		s.sql("UPDATE " + s.table + " SET at = '1999-01-01' WHERE id % 2 = 1")
		s.declare(slowly)
		s.wait("old rows to go", func() bool { return s.gone("AND id % 2 = 1") > 0 })
		since := s.after("SET GLOBAL ttl_date_floor = '2000-01-01'")
		s.wait("others to go on", func() bool { return s.gone(since) > 50 })
		if n := s.gone(since + " AND id % 2 = 1"); n > 0 {
			s.Errorf("%d rows went from before the floor", n)
		}
	},
}

// quiet demands that no row goes for a while after a statement has answered.
func (s *trial) quiet(statement string) {
	s.Helper()
	since := s.after(statement)
	until := s.text("SELECT NOW(6) + INTERVAL 400000 MICROSECOND")
	s.wait("a while", func() bool { return s.text("SELECT NOW(6) > '%s'", until) == "1" })
	if n := s.gone(since); n > 0 {
		s.Errorf("%d rows went after %s had answered", n, statement)
	}
}

// stopsAndGoes demands that a statement stops a running job at once, and another lets it go on.
func (s *trial) stopsAndGoes(stop, goOn string) {
	s.Helper()
	s.quiet(stop)
	since := s.after(goOn)
	s.wait("the job to go on", func() bool { return s.gone(since) > 0 })
}

// clock is a time of day, by the server's clock in UTC.
func (s *trial) clock(offset string) string {
	s.Helper()
	return s.text("SELECT DATE_FORMAT(UTC_TIMESTAMP() + INTERVAL %s, '%%H:%%i')", offset)
}

// closed is a window of two hours from now.
func (s *trial) closed() string {
	s.Helper()
	return fmt.Sprintf("SET GLOBAL ttl_job_schedule_window_start_time = '%s +0000', ttl_job_schedule_window_end_time "+
		"= '%s +0000'",
		s.clock("2 HOUR"), s.clock("3 HOUR"))
}

// hastened demands that an option makes the next run of a table that has one a day come at once.
func (s *trial) hastened(option string) {
	s.Helper()
	s.rows(10, "TRUE", byID+", KEY (at)")
	s.declare("TTL_JOB_INTERVAL = '1d'")
	s.wait("the first run", func() bool { return s.gone("") == 10 })
	s.sql("INSERT INTO " + s.table + " VALUES (11, '2020-01-01', '')")
	s.quiet("DO 0")
	s.sql("ALTER TABLE " + s.table + " " + option)
	s.wait("the second", func() bool { return s.gone("") == 11 })
}
