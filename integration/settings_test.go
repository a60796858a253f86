package integration

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"net"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/setting"
	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
	"github.com/ttlproxy/ttlproxy/integration/program"
	"github.com/ttlproxy/ttlproxy/sandbox"
)

// TestEverySettingDoesWhatItSays turns every setting and every table option on a real server and looks from outside, at what
// the server counts, logs and keeps, whether it does what its description says: for a job that is running, where there can be
// one, from the moment that the statement has answered.
func TestEverySettingDoesWhatItSays(t *testing.T) {
	t.Parallel()
	for _, s := range setting.All() {
		if _, tested := settingTrials[s.Name]; !tested {
			t.Errorf("nothing shows that %s does what it says", s.Name)
		}
	}
	for _, name := range ddl.OptionNames() {
		if _, tested := optionTrials[name]; !tested {
			t.Errorf("nothing shows that the option %s does what it says", name)
		}
	}

	for _, flavour := range mysqltest.Flavours {
		t.Run(string(flavour), func(t *testing.T) {
			t.Parallel()
			on := newTrial(t, flavour)
			for _, all := range []map[string]func(*trial){settingTrials, optionTrials} {
				for _, name := range slices.Sorted(maps.Keys(all)) {
					t.Run(name, func(t *testing.T) { on.in(t, all[name]) })
				}
			}
		})
	}
}

// trial is a server of its own with a proxy in front.
type trial struct {
	*testing.T
	flavour sandbox.Flavour
	direct  *sql.DB // to the server
	db      *sql.DB // through the proxy
	http    *http.Client
	schema  string
	catalog string
	tables  int
	table   string // the last one
}

// seedRows is how many rows there are to fill tables from.
const seedRows = 32_768

func newTrial(t *testing.T, flavour sandbox.Flavour) *trial {
	t.Helper()
	server := mysqltest.Start(t, flavour, "--log-output=TABLE")
	args := proxyArgs(server)[:2] // with an engine
	status := filepath.Join(t.TempDir(), "status")
	p := program.Start(t, program.Config{Args: append(args, "--catalog-schema=ttlproxy", "--status=unix:"+status)})

	s := &trial{T: t, flavour: flavour, direct: server.Open(t, ""), schema: server.Database(t), catalog: "ttlproxy"}
	c := server.Config(s.schema)
	c.Addr = p.Addr
	s.db = mysqltest.Open(t, c)
	s.http = &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", status)
		},
	}}

	// A trigger tells of each row who has deleted it, and when the statement began: that is the same for all rows of one DELETE.
	execAll(t, s.direct, "CREATE TABLE "+s.schema+".gone (name VARCHAR(20), id INT, connection BIGINT, at DATETIME(6), KEY (name, at))",
		"CREATE TABLE "+s.schema+".seed (id INT PRIMARY KEY)", "INSERT INTO "+s.schema+".seed VALUES (1)")
	for have := 1; have < seedRows; have *= 2 {
		execAll(t, s.direct, fmt.Sprintf("INSERT INTO %[1]s.seed SELECT id + %[2]d FROM %[1]s.seed", s.schema, have))
	}
	return s
}

// in runs one trial, and leaves everything as it was.
func (s *trial) in(t *testing.T, run func(*trial)) {
	whole := s.T
	s.T = t
	defer func() { s.T = whole }()
	s.sql("SET GLOBAL ttl_brake_percent = 100")
	defer func() {
		for _, each := range setting.All() {
			s.sql("SET GLOBAL " + each.Name + " = DEFAULT")
		}
		rows := s.column(s.direct, "SELECT table_name FROM information_schema.tables WHERE table_schema = '"+s.schema+"' AND table_name LIKE 't%'")
		for _, name := range rows {
			s.sql("DROP TABLE " + name)
		}
		execAll(s.T, s.direct, "SET GLOBAL general_log = OFF", "TRUNCATE TABLE mysql.general_log", "DELETE FROM "+s.schema+".gone")
	}()
	run(s)
}

func (s *trial) sql(statement string) {
	s.Helper()
	execAll(s.T, s.db, statement)
}

// refused demands that a statement is answered with an error.
func (s *trial) refused(statement string) {
	s.Helper()
	if _, err := s.db.ExecContext(s.Context(), statement); err == nil {
		s.Errorf("%s was answered with OK", statement)
	}
}

func (s *trial) column(db *sql.DB, query string) (all []string) {
	s.Helper()
	rows, err := db.QueryContext(s.Context(), query)
	if err != nil {
		s.Fatalf("%s: %v", query, err)
	}
	defer rows.Close()
	for rows.Next() {
		var one string
		if err := rows.Scan(&one); err != nil {
			s.Fatal(err)
		}
		all = append(all, one)
	}
	if err := rows.Err(); err != nil {
		s.Fatal(err)
	}
	return all
}

// text is one value from the server.
func (s *trial) text(format string, args ...any) string {
	s.Helper()
	all := s.column(s.direct, fmt.Sprintf(format, args...))
	if len(all) != 1 {
		s.Fatalf("%s: got %v", fmt.Sprintf(format, args...), all)
	}
	return all[0]
}

func (s *trial) number(format string, args ...any) int {
	s.Helper()
	n, err := strconv.Atoi(s.text(format, args...))
	if err != nil {
		s.Fatal(err)
	}
	return n
}

func (s *trial) wait(what string, until func() bool) {
	s.Helper()
	for deadline := time.Now().Add(program.Patience); !until(); {
		if time.Now().After(deadline) {
			s.Fatalf("%s did not happen: %v", what, s.column(s.db, "SELECT CONCAT_WS(' ', state, reason, plan) FROM ttlproxy.job"))
		}
		select {
		case <-s.Context().Done():
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// rows makes a table of rows, which are due where a condition says so.
func (s *trial) rows(n int, due, keys string) {
	s.Helper()
	s.tables++
	s.table = fmt.Sprintf("t%d", s.tables)
	name := s.schema + "." + s.table
	execAll(s.T, s.direct,
		"CREATE TABLE "+name+" (id INT NOT NULL, at DATETIME, pad CHAR(20)"+keys+")",
		fmt.Sprintf("INSERT INTO %s SELECT id, IF(%s, '2020-01-01', '2037-01-01'), 'x' FROM %s.seed WHERE id <= %d", name, due, s.schema, n),
		fmt.Sprintf("CREATE TRIGGER %s.%s_gone AFTER DELETE ON %[1]s.%[2]s FOR EACH ROW"+
			" INSERT INTO %[1]s.gone VALUES ('%[2]s', OLD.id, CONNECTION_ID(), NOW(6))", s.schema, s.table))
}

const byID = ", PRIMARY KEY (id)"

// declare gives the last table its TTL.
func (s *trial) declare(options string) {
	s.Helper()
	if !strings.Contains(options, "TTL_TIME_ZONE") {
		options += " TTL_TIME_ZONE = 'UTC'"
	}
	s.sql("ALTER TABLE " + s.table + " TTL = at + INTERVAL 1 DAY " + options)
}

// running makes a job that goes on for long, if options or settings make it slow.
func (s *trial) running(options string) {
	s.Helper()
	s.rows(seedRows, "TRUE", byID)
	s.declare(options)
	s.wait("the job to delete", func() bool { return s.gone("") > 0 })
}

// slowly keeps a job at work for a minute.
const slowly = "TTL_DELETE_RATE = 500"

// gone counts the rows of the last table that are gone, as far as a condition holds for them.
func (s *trial) gone(where string) int {
	s.Helper()
	return s.number("SELECT COUNT(*) FROM %s.gone WHERE name = '%s' %s", s.schema, s.table, where)
}

// largest is the most rows that one DELETE has deleted.
func (s *trial) largest(where string) int {
	s.Helper()
	return s.number("SELECT COALESCE(MAX(n), 0) FROM "+perDelete, s.schema, s.table, where)
}

// perDelete is a table of the rows that each DELETE has deleted.
const perDelete = "(SELECT COUNT(*) AS n FROM %s.gone WHERE name = '%s' %s GROUP BY connection, at) x"

// after is the condition on rows that are gone by statements that began after something had answered.
func (s *trial) after(statement string) string {
	s.Helper()
	s.sql(statement)
	return "AND at > '" + s.text("SELECT NOW(6)") + "'"
}

// quiet demands that no row goes for a while after a statement has answered.
func (s *trial) quiet(statement string) {
	s.Helper()
	since := s.after(statement)
	until := s.text("SELECT NOW(6) + INTERVAL 700000 MICROSECOND")
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

// atMost demands that a counter goes no faster from now on, once a burst was spent.
func (s *trial) atMost(perSecond, burst int, count func() int) {
	s.Helper()
	began, before := time.Now(), count()
	n := 0
	s.wait("the count", func() bool { n = count() - before; return n >= burst+2*perSecond })
	if allowed := int(time.Since(began).Seconds()*float64(perSecond)) + burst; n > allowed {
		s.Errorf("counted %d in %v, want at most %d a second", n, time.Since(began), perSecond)
	}
}

// connections counts who has deleted since.
func (s *trial) connections(since string) int {
	s.Helper()
	return s.number("SELECT COUNT(DISTINCT connection) FROM %s.gone WHERE 1 %s", s.schema, since)
}

// oneWorker demands that a setting of 1 makes one worker of those that deleted from four tables.
func (s *trial) oneWorker(setting string) {
	s.Helper()
	for range 4 {
		s.rows(4000, "TRUE", byID)
		s.declare(slowly)
	}
	s.wait("several workers", func() bool { return s.connections("") > 1 })
	since := s.after("SET GLOBAL " + setting + " = 1")
	all := func() int { return s.number("SELECT COUNT(*) FROM %s.gone WHERE 1 %s", s.schema, since) }
	s.wait("one to go on", func() bool { return all() > 100 })
	if n := s.connections(since); n != 1 {
		s.Errorf("%d workers delete", n)
	}
}

// held demands that a new policy on 600 due rows of 900 waits for approval once settings were set, and deletes nothing.
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

func (s *trial) verdict() string {
	s.Helper()
	rows, err := s.db.QueryContext(s.Context(), "SHOW TTL TABLES FOR "+s.table)
	if err != nil {
		s.Fatal(err)
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		s.Fatal(err)
	}
	values, into := make([]sql.NullString, len(names)), make([]any, len(names))
	for i := range values {
		into[i] = &values[i]
	}
	verdict := ""
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			s.Fatal(err)
		}
		for i, name := range names {
			if name == "Verdict" {
				verdict = values[i].String
			}
		}
	}
	if err := rows.Err(); err != nil {
		s.Fatal(err)
	}
	return verdict
}

// clock is a time of day, by the server's clock in UTC.
func (s *trial) clock(offset string) string {
	s.Helper()
	return s.text("SELECT DATE_FORMAT(UTC_TIMESTAMP() + INTERVAL %s, '%%H:%%i')", offset)
}

// closed is a window of two hours from now.
func (s *trial) closed() string {
	s.Helper()
	return fmt.Sprintf("SET GLOBAL ttl_job_schedule_window_start_time = '%s +0000', ttl_job_schedule_window_end_time = '%s +0000'",
		s.clock("2 HOUR"), s.clock("3 HOUR"))
}

// deletes is what the server has counted, in either form of the statement.
func (s *trial) deletes() (sum int) {
	s.Helper()
	for _, counter := range []string{"Com_delete", "Com_delete_multi"} {
		var name string
		var n int
		if err := s.direct.QueryRowContext(s.Context(), "SHOW GLOBAL STATUS LIKE '"+counter+"'").Scan(&name, &n); err != nil {
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
	query := "SELECT CONVERT(argument USING utf8mb4) FROM mysql.general_log WHERE argument LIKE '%`" + s.table + "`%' " + where
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

var settingTrials = map[string]func(*trial){
	setting.JobEnable: func(s *trial) {
		s.running(slowly + " TTL_JOB_INTERVAL = '1m'")
		s.quiet("SET GLOBAL ttl_job_enable = OFF")
		since := s.after("SET GLOBAL ttl_job_enable = ON")
		s.wait("another job", func() bool {
			_, err := s.db.ExecContext(s.Context(), "RUN TTL JOB FOR "+s.table)
			return err == nil && s.gone(since) > 0 // the nodes say a moment later that they are no longer stopped
		})
	},
	setting.ScanBatchSize: func(s *trial) {
		s.log()
		s.sql("SET GLOBAL ttl_delete_rate_limit = 5")
		s.running("")
		s.wait("a block of its own size", func() bool { return len(s.logged(blockEnd, "")) > 0 })
		before := s.logged(blockEnd, "")
		since := s.after("SET GLOBAL ttl_scan_batch_size = 50")
		s.wait("a DELETE by it", func() bool { return s.gone(since) > 0 })
		since = s.after("DO 0") // who was looking for rows when the statement answered learns of it with the next DELETE
		where := strings.ReplaceAll(since, "at >", "event_time >")
		s.wait("smaller blocks", func() bool { return len(s.logged(blockEnd, where)) > 3 })
		if most := maxOf(s.logged(blockEnd, where)); most > 49 || maxOf(before) < 100 {
			s.Errorf("blocks had %d rows, and then %d", maxOf(before)+1, most+1)
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
		for keys, due := range map[string]string{byID + ", KEY by_at (at)": "id % 50 = 1", "": "id % 2 = 1", byID: "id % 3 = 1"} {
			s.rows(2000, due, keys)
			s.declare("")
			s.wait("all to go", func() bool { return s.number("SELECT COUNT(*) FROM %s.%s WHERE at < NOW()", s.schema, s.table) == 0 })
			if n := s.largest(""); n > 7 {
				s.Errorf("with the keys %q a DELETE has deleted %d rows", keys, n)
			}
		}
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
		if _, err := tx.ExecContext(s.Context(), "SELECT * FROM "+s.schema+"."+s.table+" WHERE id IN (30000, 32000) FOR UPDATE"); err != nil {
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
			return s.text("SELECT COALESCE(MAX(examined), 0) FROM ttlproxy.job_history WHERE table_name = '%s'", s.table) == "20000"
		})
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
			return s.column(s.direct, "SELECT name FROM "+s.schema+".gone WHERE 1 "+since+" GROUP BY name, connection, at ORDER BY at")
		}
		s.wait("one task after the other", func() bool { return len(all()) > 30 })
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
	setting.WindowStart: func(s *trial) {
		s.running(slowly)
		s.stopsAndGoes(s.closed(), "SET GLOBAL ttl_job_schedule_window_start_time = '"+s.clock("-1 MINUTE")+" +0000'")
	},
	setting.WindowEnd: func(s *trial) {
		s.running(slowly)
		s.stopsAndGoes(s.closed(), "SET GLOBAL ttl_job_schedule_window_end_time = '"+s.clock("2 MINUTE")+" +0000'")
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
		s.wait("rows to go without", func() bool { return s.gone(since) > 0 })
		if len(s.logged(blockEnd, strings.ReplaceAll(since, "at >", "event_time >"))) == 0 {
			s.Error("no block was looked for by key")
		}
	},
	setting.DeleteRowsLimit: func(s *trial) {
		s.running("TTL_DELETE_RATE = 3000")
		since := s.after("SET GLOBAL ttl_delete_rows_limit = 200")
		s.atMost(200, 40, func() int { return s.gone(since) })
	},
	setting.ScanRateLimit: func(s *trial) {
		s.running("TTL_DELETE_RATE = 3000")
		since := s.after("SET GLOBAL ttl_scan_rate_limit = 300")
		s.atMost(300, 600, func() int { return s.gone(since) })
	},
	setting.ClusterRowsLimit: func(s *trial) {
		s.running("TTL_DELETE_RATE = 3000")
		since := s.after("SET GLOBAL ttl_cluster_rows_limit = 200")
		s.atMost(200, 40, func() int { return s.gone(since) })
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
	},
	setting.BrakeMaxRows: func(s *trial) { s.held("ttl_brake_max_rows = 500") },
	setting.BrakeRows:    func(s *trial) { s.held("ttl_brake_percent = 50, ttl_brake_rows = 500") },
	setting.BrakePercent: func(s *trial) { s.held("ttl_brake_percent = 0") },
	setting.BrakeFactor: func(s *trial) {
		s.sql("SET GLOBAL ttl_brake_percent = 50")
		s.rows(2000, "id <= 20", byID)
		s.declare("")
		s.wait("the first run", func() bool { return s.gone("") == 20 })
		s.wait("its end", func() bool { return s.number("SELECT COUNT(*) FROM ttlproxy.job") == 0 })
		s.sql("UPDATE " + s.table + " SET at = '2020-01-01' WHERE id <= 220")
		s.sql("SET GLOBAL ttl_brake_percent = 1, ttl_brake_rows = 50, ttl_brake_factor = 2")
		s.refused("RUN TTL JOB FOR " + s.table)
		s.wait("the brake", func() bool { return strings.HasPrefix(s.verdict(), "NEEDS APPROVAL") })
		if n := s.gone(""); n != 20 {
			s.Errorf("%d rows went", n)
		}
		s.sql("CANCEL TTL JOB FOR " + s.table)
		s.sql("SET GLOBAL ttl_brake_factor = 20")
		s.sql("RUN TTL JOB FOR " + s.table)
		s.wait("all to go", func() bool { return s.gone("") == 220 })
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
				"SET foreign_key_checks = 0", "ALTER TABLE " + s.table + " /*T![ttl] TTL = at + INTERVAL 1 DAY */", "SET foreign_key_checks = 1",
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
		execAll(s.T, s.direct, "ALTER TABLE "+name+" ADD COLUMN x INT", "INSERT INTO "+name+" (id, at) VALUES (11, '2020-01-01')")
		s.wait("the row to go", func() bool { return s.gone("") == 1 })
		s.sql("SET GLOBAL ttl_around = 'disarm'")
		execAll(s.T, s.direct, "ALTER TABLE "+name+" ADD COLUMN y INT", "INSERT INTO "+name+" (id, at) VALUES (12, '2020-01-01')")
		s.wait("the policy to be disarmed", func() bool { return strings.HasPrefix(s.verdict(), "DISARMED") })
		if n := s.gone(""); n > 1 {
			s.Errorf("%d rows went", n)
		}
	},
	setting.AllowReplica: func(s *trial) {
		replica := [3]string{
			"CHANGE REPLICATION SOURCE TO SOURCE_HOST='127.0.0.1', SOURCE_PORT=1, SOURCE_USER='x'", "START REPLICA SQL_THREAD", "STOP REPLICA",
		}
		if s.flavour == sandbox.MariaDB {
			replica = [3]string{"CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT=1, MASTER_USER='x'", "START SLAVE SQL_THREAD", "STOP SLAVE"}
		}
		s.sql("SET GLOBAL ttl_allow_replica = ON")
		execAll(s.T, s.direct, replica[0], replica[1])
		defer execAll(s.T, s.direct, replica[2])
		s.running(slowly)
		s.stopsAndGoes("SET GLOBAL ttl_allow_replica = OFF", "SET GLOBAL ttl_allow_replica = ON")
	},
	// The proxy that looks after the catalog remembers it and is excepted. TestStaleCatalogIsHeldByAProxyWithoutMemory has one that
	// does not.
	setting.StaleHold: func(s *trial) {
		s.sql("SET GLOBAL ttl_stale_hold = '1s'")
		s.running(slowly)
	},
	setting.DefaultJobInterval: func(s *trial) {
		s.sql("SET GLOBAL ttl_default_job_interval = '2s'")
		s.rows(10, "TRUE", byID+", KEY (at)")
		s.declare("")
		s.wait("the first run", func() bool { return s.gone("") == 10 })
		s.sql("INSERT INTO " + s.table + " VALUES (11, '2020-01-01', '')")
		s.wait("the second", func() bool { return s.gone("") == 11 })
	},
	setting.DefaultTimeZone: func(s *trial) {
		for zone, want := range map[string]int{"+09:00": 1, "-09:00": 0} {
			s.rows(1, "TRUE", byID)
			s.sql("UPDATE " + s.table + " SET at = UTC_TIMESTAMP() - INTERVAL 22 HOUR")
			s.sql("SET GLOBAL ttl_default_time_zone = '" + zone + "'")
			s.sql("ALTER TABLE " + s.table + " TTL = at + INTERVAL 1 DAY")
			s.wait("the first run", func() bool {
				return s.number("SELECT COUNT(*) FROM ttlproxy.job_history WHERE table_name = '%s' AND state = 'finished'", s.table) > 0
			})
			if n := s.gone(""); n != want {
				s.Errorf("in %s %d rows went, want %d", zone, n, want)
			}
		}
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
	setting.JobTimeout: func(s *trial) {
		s.running(slowly)
		execAll(s.T, s.direct, "UPDATE ttlproxy.job SET state_at = state_at - INTERVAL 5 MINUTE")
		s.sql("SET GLOBAL ttl_job_timeout = '2m'")
		s.wait("the end", func() bool {
			return s.number("SELECT COUNT(*) FROM ttlproxy.job_history WHERE table_name = '%s' AND state = 'timed out'", s.table) == 1
		})
	},
	setting.HTTPTrigger: func(s *trial) {
		s.rows(10, "TRUE", byID)
		s.declare("TTL_CRON = '0 3 29 2 *'")
		post := func() int {
			request, err := http.NewRequestWithContext(s.Context(), http.MethodPost, "http://proxy/test/ttl/trigger/"+s.schema+"/"+s.table, nil)
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

func maxOf(all []int) (most int) {
	for _, n := range all {
		most = max(most, n)
	}
	return most
}

var optionTrials = map[string]func(*trial){
	"TTL": func(s *trial) {
		s.rows(10, "id <= 4", byID)
		s.declare("")
		s.wait("what is due to go", func() bool { return s.gone("") == 4 })
	},
	"TTL_ENABLE": func(s *trial) {
		s.running(slowly)
		s.quiet("ALTER TABLE " + s.table + " TTL_ENABLE = 'OFF'")
	},
	"TTL_JOB_INTERVAL": func(s *trial) {
		s.rows(10, "TRUE", byID+", KEY (at)")
		s.declare("TTL_JOB_INTERVAL = '1d'")
		s.wait("the first run", func() bool { return s.gone("") == 10 })
		s.sql("INSERT INTO " + s.table + " VALUES (11, '2020-01-01', '')")
		s.quiet("DO 0")
		s.sql("ALTER TABLE " + s.table + " TTL_JOB_INTERVAL = '1s'")
		s.wait("the second", func() bool { return s.gone("") == 11 })
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
	"TTL_CRON": func(s *trial) {
		s.rows(10, "TRUE", byID)
		s.declare("TTL_CRON = '0 3 29 2 *'")
		s.quiet("DO 0")
		s.sql("ALTER TABLE " + s.table + " TTL_CRON = ''")
		s.wait("the interval to count again", func() bool { return s.gone("") == 10 })
	},
	catalog.OptionWindow: func(s *trial) {
		s.running(slowly)
		s.stopsAndGoes(fmt.Sprintf("ALTER TABLE %s TTL_WINDOW = '%s-%s'", s.table, s.clock("2 HOUR"), s.clock("3 HOUR")),
			fmt.Sprintf("ALTER TABLE %s TTL_WINDOW = '%s-%s'", s.table, s.clock("-2 MINUTE"), s.clock("3 HOUR")))
	},
	catalog.OptionDeleteRate: func(s *trial) {
		s.running("TTL_DELETE_RATE = 3000")
		since := s.after("ALTER TABLE " + s.table + " TTL_DELETE_RATE = 200")
		s.atMost(200, 40, func() int { return s.gone(since) })
	},
	catalog.OptionBatchSize: func(s *trial) {
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
	catalog.OptionMaxLag: func(s *trial) {
		s.rows(10, "TRUE", byID+", KEY (at)")
		s.declare("TTL_JOB_INTERVAL = '1d'")
		s.wait("the first run", func() bool { return s.gone("") == 10 })
		s.sql("INSERT INTO " + s.table + " VALUES (11, '2020-01-01', '')")
		s.quiet("DO 0")
		s.sql("ALTER TABLE " + s.table + " TTL_MAX_LAG = '2s'")
		s.wait("a run in half of that", func() bool { return s.gone("") == 11 })
	},
	"TTL_BRAKE_FACTOR": func(s *trial) {
		s.sql("SET GLOBAL ttl_brake_percent = 50")
		s.rows(2000, "id <= 20", byID)
		s.declare("")
		s.wait("the first run", func() bool { return s.gone("") == 20 })
		s.wait("its end", func() bool { return s.number("SELECT COUNT(*) FROM ttlproxy.job") == 0 })
		s.sql("UPDATE " + s.table + " SET at = '2020-01-01' WHERE id <= 220")
		s.sql("SET GLOBAL ttl_brake_percent = 1, ttl_brake_rows = 50")
		s.sql("ALTER TABLE " + s.table + " TTL_BRAKE_FACTOR = 2")
		s.refused("RUN TTL JOB FOR " + s.table)
		s.wait("the brake", func() bool { return strings.HasPrefix(s.verdict(), "NEEDS APPROVAL") })
		s.sql("ALTER TABLE " + s.table + " TTL_BRAKE_FACTOR = 0")
		s.wait("all to go", func() bool { return s.gone("") == 220 })
	},
	"TTL_MAX_ROWS":    func(s *trial) { s.bounded("TTL_MAX_ROWS = 100", "TTL_MAX_ROWS = 1000") },
	"TTL_MAX_PERCENT": func(s *trial) { s.bounded("TTL_MAX_PERCENT = 10", "TTL_MAX_PERCENT = 90") },
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
