package integration

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog/setting"
	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/sandbox"
)

// brakeTrials are those of what waits for a person, or for a server that can be trusted.
var brakeTrials = map[string]func(*trial){
	setting.BrakeMaxRows: func(s *trial) { s.held("ttl_brake_max_rows = 500") },
	setting.BrakeRows:    func(s *trial) { s.held("ttl_brake_percent = 50, ttl_brake_rows = 500") },
	setting.BrakePercent: func(s *trial) { s.held("ttl_brake_percent = 0") },
	setting.BrakeFactor: func(s *trial) {
		s.unusual("SET GLOBAL ttl_brake_factor = 2")
		s.sql("CANCEL TTL JOB FOR " + s.table)
		s.sql("SET GLOBAL ttl_brake_factor = 20")
		s.sql("RUN TTL JOB FOR " + s.table)
		s.wait("all to go", func() bool { return s.gone("") == 240 })
	},
	"TTL_BRAKE_FACTOR": func(s *trial) {
		s.unusual("ALTER TABLE {t} TTL_BRAKE_FACTOR = 2")
		s.sql("ALTER TABLE " + s.table + " TTL_BRAKE_FACTOR = 0")
		s.wait("all to go", func() bool { return s.gone("") == 240 })
	},
	"TTL_MAX_ROWS":    func(s *trial) { s.bounded("TTL_MAX_ROWS = 100", "TTL_MAX_ROWS = 1000") },
	"TTL_MAX_PERCENT": func(s *trial) { s.bounded("TTL_MAX_PERCENT = 10", "TTL_MAX_PERCENT = 90") },
	ddl.OptionForeignKeys: func(s *trial) {
		s.rows(10, "TRUE", byID)
		parent := s.schema + "." + s.table
		child := parent + "_child"
		execAll(s.T, s.direct,
			"CREATE TABLE "+child+" (id INT PRIMARY KEY, parent INT, FOREIGN KEY (parent) REFERENCES "+parent+" (id))",
			"INSERT INTO "+child+" VALUES (1, 4)")

		s.declare("TTL_FK = 'SKIP' TTL_JOB_INTERVAL = '1s'")
		s.wait("what nothing points at to go", func() bool { return s.gone("") == 9 })
		if n := s.gone("AND id = 4"); n > 0 {
			s.Error("a row went that another points at")
		}

		execAll(s.T, s.direct, "DROP TABLE "+child)
		s.wait("the last one to go", func() bool { return s.gone("") == 10 })

		childless := s.parent(3, 1000)
		s.wait("all to go", func() bool { return s.gone("") == 4 })
		childless()
	},
	setting.MaxChildren: func(s *trial) {
		for most, largest := range map[int]int{10: 10, 100: 35} {
			childless := s.parent(35, most)
			s.wait("all to go", func() bool { return s.gone("") == 36 })
			childless()
			if n := s.largest(""); n != largest {
				s.Errorf("of 35 rows that depend on one, %d went at once when %d may, want %d", n, most, largest)
			}
		}
	},
	ddl.OptionView: func(s *trial) {
		s.sql(s.closed())
		s.rows(10, "id <= 6", byID)
		s.declare("TTL_VIEW = 'live_rows'")
		if n := s.number("SELECT COUNT(*) FROM %s.live_rows", s.schema); n != 4 {
			s.Errorf("%d rows are shown, want the 4 that have not expired", n)
		}
	},
	ddl.OptionPartition: func(s *trial) {
		for how, left := range map[string]string{
			ddl.PartitionExchange: "older,later", ddl.PartitionDrop: "older,later",
			ddl.PartitionTruncate: "older,p2020,later",
		} {
			s.divided()
			s.declare("TTL_PARTITION = '" + how + "'")
			s.waitParted("partition p2020 went whole%")
			s.wait("all to go", func() bool { return s.number("SELECT COUNT(*) FROM %s.%s", s.schema, s.table) == 1 })
			s.wantPartitions(left)
		}
	},
	ddl.OptionGrace: func(s *trial) {
		s.divided()
		s.declare("TTL_PARTITION = 'EXCHANGE' TTL_PARTITION_GRACE = '3d'")
		s.waitParted("%keeps them for 72h%")
		s.wantPartitions("older,later")
	},
	ddl.OptionAhead: func(s *trial) {
		s.divided()
		execAll(s.T, s.direct, "DELETE FROM "+s.schema+"."+s.table)
		s.declare("TTL_PARTITION_AHEAD = '400d'")
		s.waitParted("partitions were made: %")
		if got := s.partitions(); !strings.HasPrefix(got, "older,p2020,p2021,p2022,") {
			s.Errorf("the partitions are %s", got)
		}
	},
	setting.PartitionLockWait: func(s *trial) {
		s.sql("SET GLOBAL ttl_partition_lock_wait = '5s'")
		s.divided()
		read := func() (done func() error) {
			reader, err := s.direct.BeginTx(s.Context(), nil)
			if err == nil {
				_, err = reader.ExecContext(s.Context(), "DO (SELECT COUNT(*) FROM "+s.schema+"."+s.table+")")
			}
			if err != nil {
				s.Fatal(err)
			}
			return reader.Rollback
		}
		waiting := func(seconds int) bool {
			return s.number("SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE '%%LOCK TABLES%%' "+
				"AND time >= %d AND info NOT LIKE '%%processlist%%' AND '%s' <> ''", seconds, s.schema) > 0
		}

		done, began := read(), time.Now()
		s.declare("TTL_PARTITION = 'DROP'")
		s.wait("the partition to wait for longer than usual", func() bool {
			if time.Since(began) > 2*time.Second && !waiting(0) { // nobody waits for somebody who has been there for long
				next := read()
				if err := done(); err != nil {
					s.Fatal(err)
				}
				done, began = next, time.Now()
			}
			return waiting(2)
		})
		if err := done(); err != nil {
			s.Fatal(err)
		}
		s.waitParted("partition p2020 went whole%")
		s.wantPartitions("older,later")
	},
	ddl.OptionPlan: func(s *trial) {
		s.rows(100, "id <= 5", byID)
		s.declare("TTL_PLAN = 'QUEUE' TTL_JOB_INTERVAL = '1s'")
		s.wait("the expired rows to go", func() bool { return s.gone("") == 5 })
		s.wait("jobs to go by the queue", func() bool { return s.by("queue") > 0 })
	},
	ddl.OptionShards: func(s *trial) {
		s.rows(100, "FALSE", byID)
		soon := "UPDATE " + s.schema + "." + s.table + " SET at = UTC_TIMESTAMP() - INTERVAL 23 HOUR" // no other is noted
		execAll(s.T, s.direct, soon)
		for shards := range 3 {
			s.declare(fmt.Sprintf("TTL_PLAN = 'QUEUE' TTL_QUEUE_SHARDS = %d TTL_JOB_INTERVAL = '1h'", shards+1))
			s.sql("RUN TTL JOB FOR " + s.table)
			s.wait("entries in each shard", func() bool {
				return s.number("SELECT COUNT(DISTINCT shard) FROM ttlproxy.expiry_entry JOIN ttlproxy.expiry_queue q "+
					"ON q.id = queue_id JOIN ttlproxy.policy p ON p.id = policy_id WHERE table_name = '%s'", s.table) >= shards+1
			})
		}
	},
	setting.Restore: func(s *trial) {
		conn, err := s.db.Conn(s.Context())
		if err != nil {
			s.Fatal(err)
		}
		defer conn.Close()
		restore := func() {
			s.rows(10, "TRUE", byID)
			for _, q := range []string{
				"SET foreign_key_checks = 0", "ALTER TABLE " + s.table + " /*T![ttl] TTL = at + INTERVAL 1 DAY */",
				"SET foreign_key_checks = 1",
			} {
				if _, err := conn.ExecContext(s.Context(), q); err != nil {
					s.Fatal(err)
				}
			}
		}
		restore()
		s.wait("the hold", func() bool { return strings.HasPrefix(s.verdict(), "NEEDS APPROVAL") })
		if n := s.gone(""); n > 0 {
			s.Errorf("%d rows went", n)
		}
		s.sql("SET GLOBAL ttl_restore = 'arm'")
		restore()
		s.wait("all to go", func() bool { return s.gone("") == 10 })
	},
	setting.Around: func(s *trial) {
		s.rows(10, "FALSE", byID)
		s.declare("TTL_JOB_INTERVAL = '1s'")
		name := s.schema + "." + s.table
		execAll(s.T, s.direct, "ALTER TABLE "+name+" ADD COLUMN x INT",
			"INSERT INTO "+name+" (id, at) VALUES (11, '2020-01-01')")
		s.wait("the row to go", func() bool { return s.gone("") == 1 })
		s.sql("SET GLOBAL ttl_around = 'disarm'")
		execAll(s.T, s.direct, "ALTER TABLE "+name+" ADD COLUMN y INT",
			"INSERT INTO "+name+" (id, at) VALUES (12, '2020-01-01')")
		s.wait("the policy to be disarmed", func() bool { return strings.HasPrefix(s.verdict(), "DISARMED") })
		if n := s.gone(""); n > 1 {
			s.Errorf("%d rows went", n)
		}
	},
	setting.AllowReplica: func(s *trial) {
		replica := [3]string{
			"CHANGE REPLICATION SOURCE TO SOURCE_HOST='127.0.0.1', SOURCE_PORT=1, SOURCE_USER='x'",
			"START REPLICA SQL_THREAD", "STOP REPLICA",
		}
		if s.flavour == sandbox.MariaDB {
			replica = [3]string{
				"CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT=1, MASTER_USER='x'",
				"START SLAVE SQL_THREAD", "STOP SLAVE",
			}
		}
		s.sql("SET GLOBAL ttl_allow_replica = ON")
		execAll(s.T, s.direct, replica[0], replica[1])
		defer execAll(s.T, s.direct, replica[2])
		s.running(slowly)
		s.stopsAndGoes("SET GLOBAL ttl_allow_replica = OFF", "SET GLOBAL ttl_allow_replica = ON")
	},
	// The proxy that looks after the catalog remembers it and is excepted.
	// TestStaleCatalogIsHeldByAProxyWithoutMemory and the story catalog_stale have one that does not.
	setting.StaleHold: func(s *trial) {
		s.sql("SET GLOBAL ttl_stale_hold = '1s'")
		s.running(slowly)
	},
	setting.HTTPTrigger: func(s *trial) {
		s.rows(10, "TRUE", byID)
		s.declare("TTL_CRON = '0 3 29 2 *'")
		post := func() int {
			request, err := http.NewRequestWithContext(s.Context(), http.MethodPost,
				"http://proxy/test/ttl/trigger/"+s.schema+"/"+s.table, nil)
			if err != nil {
				s.Fatal(err)
			}
			answer, err := s.http.Do(request)
			if err != nil {
				s.Fatal(err)
			}
			defer answer.Body.Close()
			return answer.StatusCode
		}
		if code := post(); code != http.StatusForbidden {
			s.Errorf("without a token: got %d", code)
		}
		s.sql("SET GLOBAL ttl_http_trigger = ON")
		if code := post(); code != http.StatusOK {
			s.Errorf("got %d", code)
		}
		s.wait("all to go", func() bool { return s.gone("") == 10 })
		s.sql("SET GLOBAL ttl_http_trigger = OFF")
		if code := post(); code != http.StatusForbidden {
			s.Errorf("when it is off again: got %d", code)
		}
	},
}

// held demands that a new policy on 600 due rows of 900 waits for approval once settings were set,
// and deletes nothing.
func (s *trial) held(settings string) {
	s.Helper()
	for _, set := range []string{"ttl_brake_percent = 99", settings} {
		s.rows(900, "id <= 600", byID)
		s.sql("SET GLOBAL " + set)
		s.declare("")

		if set == settings {
			s.wait("the brake", func() bool { return strings.HasPrefix(s.verdict(), "NEEDS APPROVAL") })
			if n := s.gone(""); n > 0 {
				s.Errorf("%d rows went", n)
			}
			return
		}

		s.wait("all to go without", func() bool { return s.gone("") == 600 })
	}
}

// by counts the jobs of the last table that have finished by a plan.
func (s *trial) by(plan string) int {
	s.Helper()
	return s.number("SELECT COUNT(*) FROM ttlproxy.job_history WHERE table_name = '%s' AND plan = '%s' "+
		"AND state = 'finished'", s.table, plan)
}

// unusual demands that the third run of a table, ten times what each before has found, waits for
// approval once a factor was set.
func (s *trial) unusual(factor string) {
	s.Helper()
	s.sql("SET GLOBAL ttl_brake_percent = 50")
	s.rows(2000, "id <= 20", byID)
	s.declare("")
	s.wait("the first run", func() bool { return s.gone("") == 20 })
	s.wait("its end", func() bool { return s.number("SELECT COUNT(*) FROM ttlproxy.job") == 0 })
	s.sql("UPDATE " + s.table + " SET at = '2020-01-01' WHERE id <= 40")
	s.sql("RUN TTL JOB FOR " + s.table)
	s.wait("the second run", func() bool { return s.gone("") == 40 })
	s.wait("its end", func() bool { return s.number("SELECT COUNT(*) FROM ttlproxy.job") == 0 })
	s.sql("UPDATE " + s.table + " SET at = '2020-01-01' WHERE id <= 240")
	s.sql("SET GLOBAL ttl_brake_percent = 1, ttl_brake_rows = 50")
	s.sql(strings.ReplaceAll(factor, "{t}", s.table))
	s.refused("RUN TTL JOB FOR " + s.table)
	s.wait("the brake", func() bool { return strings.HasPrefix(s.verdict(), "NEEDS APPROVAL") })

	if n := s.gone(""); n != 40 {
		s.Errorf("%d rows went", n)
	}
}

// divided makes a table with two rows that are due, one of them in a partition that may go whole.
func (s *trial) divided() {
	s.Helper()
	s.tables++
	s.table = fmt.Sprintf("t%d", s.tables)
	name := s.schema + "." + s.table
	execAll(s.T, s.direct, "CREATE TABLE "+name+" (id INT NOT NULL, at DATETIME) PARTITION BY RANGE COLUMNS (at) ("+
		"PARTITION older VALUES LESS THAN ('2020-01-01'), PARTITION p2020 VALUES LESS THAN ('2021-01-01'), "+
		"PARTITION later VALUES LESS THAN (MAXVALUE))",
		"INSERT INTO "+name+" VALUES (1, '2019-01-01'), (2, '2020-02-02'), (3, '2037-01-01')")
}

// waitParted waits for a partition of the last table to leave or to be made, without a look at the table: whoever
// looks at it all the time uses it, and a partition waits for that.
func (s *trial) waitParted(event string) {
	s.Helper()
	s.wait(event, func() bool {
		return s.number("SELECT COUNT(*) FROM %s.event WHERE schema_name = '%s' AND table_name = '%s' AND text LIKE '%s'",
			s.catalog, s.schema, s.table, event) > 0
	})
}

func (s *trial) wantPartitions(want string) {
	s.Helper()
	if got := s.partitions(); got != want {
		s.Errorf("the partitions are %s, want %s", got, want)
	}
}

// partitions are those of the last table.
func (s *trial) partitions() string {
	s.Helper()
	return strings.Join(s.column(s.direct, fmt.Sprintf("SELECT partition_name FROM information_schema.partitions "+
		"WHERE table_schema = '%s' AND table_name = '%s' ORDER BY partition_ordinal_position", s.schema, s.table)), ",")
}

// bounded demands that an option holds a run of 600 rows of 900, and another value lets it go.
func (s *trial) bounded(holds, lets string) {
	s.Helper()
	s.rows(900, "id <= 600", byID)
	s.declare(holds)
	s.wait("the hold", func() bool { return strings.HasPrefix(s.verdict(), "NEEDS APPROVAL") })
	if n := s.gone(""); n > 0 {
		s.Errorf("%d rows went", n)
	}
	s.sql("ALTER TABLE " + s.table + " " + lets)
	s.wait("all to go", func() bool { return s.gone("") == 600 })
}

// parent makes a row that is due with some that go with it, up to a number of them at once, in a table
// that can be dropped.
func (s *trial) parent(children, most int) (childless func()) {
	s.Helper()
	s.rows(1, "TRUE", byID)
	parent := s.schema + "." + s.table
	child := parent + "_child"
	execAll(s.T, s.direct,
		"CREATE TABLE "+child+" (id INT PRIMARY KEY, parent INT, FOREIGN KEY (parent) REFERENCES "+parent+" (id))",
		fmt.Sprintf("INSERT INTO %s SELECT id, 1 FROM %s.seed WHERE id <= %d", child, s.schema, children),
		fmt.Sprintf("CREATE TRIGGER %s_gone AFTER DELETE ON %s FOR EACH ROW"+
			" INSERT INTO %s.gone VALUES ('%s', OLD.id, CONNECTION_ID(), NOW(6))", child, child, s.schema, s.table))
	s.sql(fmt.Sprintf("SET GLOBAL ttl_fk_max_children = %d", most))
	s.declare("TTL_FK = 'CHILDREN' TTL_JOB_INTERVAL = '1s'")
	return func() { execAll(s.T, s.direct, "DROP TABLE "+child) }
}
