package integration

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/report"
	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
	"github.com/ttlproxy/ttlproxy/integration/program"
	"github.com/ttlproxy/ttlproxy/sandbox"
)

// What SHOW TTL says of a table, the page says, the metrics and ttlproxy status say, word for word:
// whatever the verdict is, and whatever keeps everything from being deleted.
func TestEverySurfaceSaysTheSame(t *testing.T) {
	t.Parallel()
	mysqltest.Both(t, func(t *testing.T, server *mysqltest.Server) {
		s := newSurfaces(t, server)
		s.populate()
		s.around()
		s.inFull()
		s.inZone()

		const rebuilt = "NEEDS APPROVAL (the table was rebuilt or replaced outside ttlproxy"
		now := time.Now().UTC()
		elsewhere := func(hours int) string { return now.Add(time.Duration(hours) * time.Hour).Format("15:04 +0000") }

		for _, c := range []struct {
			what string
			do   func()
			halt report.HaltCode
			want map[string]string // what the verdicts begin with; "" for all tables that are not named
		}{
			{"as they are", func() {}, "", map[string]string{
				"keeps": "KEEPING UP", "fails": "FALLING BEHIND (the last job ended as failed: because)",
				"fresh":  "WAITING (the first job",
				"silent": "OFF (", "paused": "PAUSED (PAUSE TTL by root@",
				"windowed": "WAITING FOR WINDOW (outside TTL_WINDOW=",
				"braked":   "NEEDS APPROVAL (4 of 5 rows are due)", "gone": "DISARMED (another table)",
				"remade": rebuilt, "dropped": "DISARMED (column `n` is gone)", "grown": "WAITING (the first job",
			}},
			// What keeps one engine of two is said; the tables are none the worse for it.
			{"one engine of two is stopped", func() { s.stopAnother() }, "", map[string]string{
				"keeps": "KEEPING UP", "fails": "FALLING BEHIND (the last job ended as failed: because)",
				"fresh":  "WAITING (the first job",
				"silent": "OFF (", "paused": "PAUSED (PAUSE TTL by root@",
				"windowed": "WAITING FOR WINDOW (outside TTL_WINDOW=",
				"braked":   "NEEDS APPROVAL (4 of 5 rows are due)", "gone": "DISARMED (another table)",
				"remade": rebuilt, "dropped": "DISARMED (column `n` is gone)", "grown": "WAITING (the first job",
			}},
			{"held back by a check", func() { s.dropAnother(); s.holdBack("web_check: 503") }, report.HaltSignal, map[string]string{
				"works": "PAUSED (at 0 % of its speed, held back by web_check: 503)", "keeps": "KEEPING UP",
				"fresh": "WAITING (the first job",
			}},
			{"outside the window of all", func() {
				s.holdBack("")
				s.sql("SET GLOBAL ttl_job_schedule_window_start_time = '" + elsewhere(2) + "'")
				s.sql("SET GLOBAL ttl_job_schedule_window_end_time = '" + elsewhere(3) + "'")
			}, report.HaltWindow, map[string]string{
				"keeps": "KEEPING UP", "fresh": "WAITING FOR WINDOW (outside ttl_job_schedule_window_start_time",
				"gone":   "DISARMED (another table)",
				"remade": rebuilt, "dropped": "DISARMED (column `n` is gone)",
				"grown": "WAITING FOR WINDOW (outside ttl_job_schedule",
			}},
			{"paused", func() { s.sql("PAUSE TTL") }, report.HaltPaused, map[string]string{
				"": "PAUSED (everything, PAUSE TTL by root@", "silent": "OFF (", "gone": "DISARMED (another table)",
				"braked": "NEEDS APPROVAL (4 of 5 rows are due)",
				"remade": rebuilt, "dropped": "DISARMED (column `n` is gone)",
			}},
			// Switching off ends the open jobs, and what a job asked for with them.
			{
				"switched off", func() { s.sql("RESUME TTL"); s.sql("SET GLOBAL ttl_job_enable = OFF") },
				report.HaltSwitch,
				map[string]string{
					"": "PAUSED (ttl_job_enable is OFF)", "silent": "OFF (", "gone": "DISARMED (another table)",
					"remade": rebuilt, "dropped": "DISARMED (column `n` is gone)",
				},
			},
			{
				"stopped by a file", func() { s.sql("SET GLOBAL ttl_job_enable = ON"); s.stop() }, report.HaltStopped,
				map[string]string{
					"": "PAUSED (the stop file /stop exists (on idle))", "silent": "OFF (",
					"gone": "DISARMED (another table)", "remade": rebuilt, "dropped": "DISARMED (column `n` is gone)",
				},
			},
			{
				"without an engine", func() { s.must(s.store.Leave(t.Context(), s.node)) }, report.HaltNoEngine,
				map[string]string{
					"": "PAUSED (no engine is running", "silent": "OFF (", "gone": "DISARMED (another table)",
					"remade": rebuilt, "dropped": "DISARMED (column `n` is gone)",
				},
			},
			{
				"held", func() { s.must(s.store.Hold(t.Context(), "an unknown server")) }, report.HaltHeld,
				map[string]string{
					"": "PAUSED (the server is held: an unknown server)", "silent": "OFF (",
					"gone": "DISARMED (another table)", "remade": rebuilt, "dropped": "DISARMED (column `n` is gone)",
				},
			},
		} {
			c.do()
			s.agree(c.what, c.halt, c.want)
		}
	})
}

// TestGoalsAreThoseOfTheTables: whoever set no window has a goal by the time between jobs.
func TestGoalsAreThoseOfTheTables(t *testing.T) {
	t.Parallel()
	mysqltest.Both(t, func(t *testing.T, server *mysqltest.Server) {
		s := newSurfaces(t, server)
		want := map[string]float64{}
		for name, c := range map[string]struct {
			options string
			goal    time.Duration
		}{
			"minutely": {"TTL_JOB_INTERVAL = '1m'", 2 * time.Minute},
			"hourly":   {"TTL_JOB_INTERVAL = '1h'", 2 * time.Hour},
			"always":   {"TTL_JOB_INTERVAL = '1h' TTL_WINDOW = '00:00-23:59'", 2 * time.Hour},
			"nightly":  {"TTL_JOB_INTERVAL = '1h' TTL_WINDOW = '22:00-06:00'", 48 * time.Hour},
		} {
			s.sql("CREATE TABLE " + name + " (id INT PRIMARY KEY, at DATETIME) TTL = at + INTERVAL 1 DAY " + c.options)
			s.ended(name, catalog.JobFinished, "")
			want[name] = c.goal.Seconds()
		}

		if got := s.goals(len(want)); !maps.Equal(got, want) {
			t.Errorf("the goals are %v, want %v", got, want)
		}
		metrics := s.get("/metrics")
		for name, goal := range want {
			m := fmt.Sprintf("ttlproxy_table_goal_seconds{partition=\"\",schema=%q,table=%q} %g\n", s.table, name, goal)
			if !strings.Contains(metrics, m) {
				t.Errorf("there is no metric %s", m)
			}
		}
	})
}

// goals are those of the page, as soon as it shows so many tables.
func (s *surfaces) goals(tables int) map[string]float64 {
	s.Helper()
	var page struct {
		Tables []struct {
			Table string
			Goal  float64 `json:"goal_seconds"`
		}
	}
	for deadline := time.Now().Add(mysqltest.Patience); len(page.Tables) < tables && time.Now().Before(deadline); {
		s.must(json.Unmarshal([]byte(s.get("/api/v1/status")), &page))
	}

	goals := map[string]float64{}
	for _, line := range page.Tables {
		goals[line.Table] = line.Goal
	}
	return goals
}

// What stops a server is said of everything and of every table, whether its job is due or not, and also if no node can
// write that down.
func TestEverySurfaceSaysWhatStopsTheServer(t *testing.T) {
	t.Parallel()
	applier := map[sandbox.Flavour][3]string{
		sandbox.MariaDB: {
			"CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT=1, MASTER_USER='x'", "START SLAVE SQL_THREAD",
			"STOP SLAVE",
		},
		sandbox.MySQL: {
			"CHANGE REPLICATION SOURCE TO SOURCE_HOST='127.0.0.1', SOURCE_PORT=1, SOURCE_USER='x'",
			"START REPLICA SQL_THREAD", "STOP REPLICA",
		},
	}
	for _, flavour := range mysqltest.Flavours {
		t.Run(string(flavour), func(t *testing.T) {
			t.Parallel()
			server := mysqltest.Start(t, flavour)
			s := newSurfaces(t, server)
			s.sql("CREATE TABLE keeps (id INT PRIMARY KEY, at DATETIME) TTL = at + INTERVAL 1 DAY TTL_TIME_ZONE = 'UTC'")
			s.sql("CREATE TABLE fresh (id INT PRIMARY KEY, at DATETIME) TTL = at + INTERVAL 1 DAY TTL_TIME_ZONE = 'UTC'")
			s.ended("keeps", catalog.JobFinished, "")
			root := server.Open(t, "")
			a := applier[flavour]
			for _, c := range []struct{ begin, end, why string }{
				{"SET GLOBAL read_only = 1", "SET GLOBAL read_only = 0", "the server is read-only"},
				{
					"SET GLOBAL binlog_format = 'STATEMENT'", "SET GLOBAL binlog_format = 'ROW'",
					catalog.BinlogPause,
				},
				{a[1], a[2], "the server applies replication ("},
			} {
				if c.begin == a[1] {
					execAll(t, root, a[0])
				}
				execAll(t, root, c.begin)
				s.agree(c.begin, report.HaltServer, map[string]string{"": "PAUSED (" + c.why})
				execAll(t, root, c.end)
			}
			s.agree("as it was", "", map[string]string{"keeps": "KEEPING UP", "fresh": "WAITING (the first job"})
		})
	}
}

// surfaces is a proxy with everything that shows its state.
type surfaces struct {
	*testing.T
	args   []string
	store  *catalog.Store
	db     *sql.DB // through the proxy
	http   *http.Client
	direct *sql.DB // to the server
	node   uint64
	table  string // schema of the tables

	another uint64 // a second node, while it is there
}

// newSurfaces starts a proxy without an engine, and makes its catalog believe in one that lives for
// ever and does nothing.
func newSurfaces(t *testing.T, server *mysqltest.Server) *surfaces {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "status")

	s := &surfaces{T: t, args: proxyArgs(server), table: server.Database(t)}
	p := program.Start(t, program.Config{Args: append(s.args, "--status=unix:"+socket)})
	config := server.Config(s.table)
	config.Net, config.Addr = "tcp", p.Addr
	s.db = mysqltest.Open(t, config)
	s.db.SetMaxOpenConns(1) // one session, for its time zone
	s.http = &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", socket)
		},
	}}

	schema := strings.TrimPrefix(s.args[len(s.args)-1], "--catalog-schema=")
	connector, err := catalog.Connector(server.Config(""))
	if err != nil {
		t.Fatal(err)
	}

	s.direct = sql.OpenDB(connector)
	t.Cleanup(func() { s.direct.Close() })
	if s.store, err = catalog.OpenExisting(t.Context(), s.direct, catalog.Config{Schema: schema}); err != nil {
		t.Fatal(err)
	}
	if s.node, err = s.store.Join(t.Context(), catalog.Node{Name: "idle", Engine: true}); err != nil {
		t.Fatal(err)
	}

	execAll(t, s.direct, fmt.Sprintf("UPDATE %s.node SET heartbeat_at = '2099-01-01' WHERE id = %d", schema, s.node))
	return s
}

// optionsInFull are options that say when and how fast.
const optionsInFull = "TTL_CRON = '0 3 * * 1' TTL_WINDOW = '02:00-05:00' TTL_DELETE_RATE = 500 " +
	"TTL_DELETE_BATCH_SIZE = 50 TTL_MAX_ROWS = 7000"

// inFull demands that every surface shows the whole policy.
func (s *surfaces) inFull() {
	s.Helper()
	s.showsPolicy("silent", map[string]string{
		"Schedule": "cron 0 3 * * 1", "Window": "02:00-05:00", "Delete_rate": "500",
		"Batch_size": "50", "Other_options": "TTL_MAX_ROWS='7000'",
	}, []string{
		`"schedule":"cron 0 3 * * 1"`, `"TTL_WINDOW":"02:00-05:00"`, `"TTL_DELETE_RATE":"500"`,
		`"TTL_DELETE_BATCH_SIZE":"50"`, `"TTL_MAX_ROWS":"7000"`,
	})

	s.sql("CREATE TABLE goal (id INT PRIMARY KEY, at DATETIME) TTL = at + INTERVAL 1 DAY TTL_MAX_LAG = '90m'")
	s.showsPolicy("goal", map[string]string{"Max_lag": "90m"}, []string{`"TTL_MAX_LAG":"90m"`})
	s.sql("DROP TABLE goal")
}

// showsPolicy compares what lists say of a policy, by the names of their columns, and parts of the page's JSON.
func (s *surfaces) showsPolicy(table string, want map[string]string, parts []string) {
	s.Helper()
	row := s.list("SHOW TTL TABLES FOR " + table)[0]
	view := s.list(fmt.Sprintf("SELECT * FROM %s.policies WHERE `table` = '%s.%s'", s.store.Schema(), s.table, table))[0]
	explained := map[string]string{}

	for _, line := range s.list("EXPLAIN TTL " + table) {
		explained[line["Property"]] = line["Value"]
	}

	for name, value := range want {
		friendly := strings.ToLower(strings.ReplaceAll(name, "_", " "))
		if row[name] != value || view[friendly] != value || explained[friendly] != value {
			s.Errorf("%s: SHOW TTL TABLES has %q, the view %q, EXPLAIN TTL %q, want %q",
				name, row[name], view[friendly], explained[friendly], value)
		}
	}

	lacks := func(page string) func(string) bool {
		return func(part string) bool { return !strings.Contains(page, part) }
	}
	for deadline := time.Now().Add(mysqltest.Patience); ; { // the page looks once a second
		page := s.get("/api/v1/tables/" + s.table + "/" + table)
		if !slices.ContainsFunc(parts, lacks(page)) {
			return
		}
		if time.Now().After(deadline) {
			s.Fatalf("the page's JSON has not all of %v: %s", parts, page)
		}
	}
}

// inZone demands that times in sentences are those of the session's zone, as in columns.
func (s *surfaces) inZone() {
	s.Helper()
	s.sql("SET time_zone = '+05:30'")
	s.sql("PAUSE TTL FOR fresh UNTIL '2037-01-02 03:04:05'")

	verdict := s.list("SHOW TTL TABLES FOR fresh")[0]["Verdict"]
	if !strings.HasSuffix(verdict, " until 2037-01-02 03:04:05+05:30)") {
		s.Errorf("in a session of +05:30 the verdict is %s", verdict)
	}

	view := s.list(fmt.Sprintf("SELECT * FROM %s.policies WHERE `table` = '%s.fresh'", s.store.Schema(), s.table))[0]
	if view["state"] != "paused" || !strings.Contains(view["reason"], "until 2037-01-01 21:34:05+00:00") {
		s.Errorf("the view says %v", view)
	}

	execAll(s.T, s.direct, "UPDATE "+s.store.Schema()+".pause SET until = UTC_TIMESTAMP(6) WHERE policy_id <> 0")
	view = s.list(fmt.Sprintf("SELECT * FROM %s.policies WHERE `table` = '%s.fresh'", s.store.Schema(), s.table))[0]
	if view["state"] != "armed" {
		s.Errorf("when the pause is over, the view says %v", view)
	}

	s.sql("PAUSE TTL FOR paused")
	s.sql("SET time_zone = DEFAULT")
}

// populate makes a table for each verdict.
func (s *surfaces) populate() {
	s.Helper()
	now := time.Now().UTC()
	window := fmt.Sprintf("TTL_WINDOW = '%s-%s'", now.Add(2*time.Hour).Format("15:04"),
		now.Add(3*time.Hour).Format("15:04"))
	for name, options := range map[string]string{
		"keeps": "", "fails": "", "fresh": "", "silent": "TTL_ENABLE = 'OFF' " + optionsInFull, "paused": "",
		"windowed": window, "braked": "", "gone": "", "works": "",
	} {
		s.sql("CREATE TABLE " + name +
			" (id INT PRIMARY KEY, at DATETIME) TTL = at + INTERVAL 1 DAY TTL_TIME_ZONE = 'UTC' " + options)
	}

	s.ended("keeps", catalog.JobFinished, "")
	s.ended("fails", catalog.JobFailed, "because")
	s.job("braked", catalog.JobNeedsApproval, "4 of 5 rows are due")
	s.job("works", catalog.JobRunning, "")
	s.sql("PAUSE TTL FOR paused")
	gone := s.policy("gone")
	s.must(s.store.Disarm(s.Context(), "test", gone.ID, gone.Version, "another table"))
}

// around changes tables around the proxy, and looks at them as an engine would.
func (s *surfaces) around() {
	s.Helper()
	for name, statement := range map[string]string{
		"grown": "ADD COLUMN x INT", "remade": "ENGINE = InnoDB",
		"dropped": "DROP COLUMN n",
	} {
		s.sql("CREATE TABLE " + name +
			" (id INT PRIMARY KEY, at DATETIME, n INT) TTL = at + INTERVAL 1 DAY TTL_TIME_ZONE = 'UTC'")
		s.sql("INSERT INTO " + name + " VALUES (1, '2020-01-01', 1)")
		execAll(s.T, s.direct, "ALTER TABLE "+s.table+"."+name+" "+statement)
		_, _, err := s.store.Recognize(s.Context(), "test", s.policy(name))
		s.must(err)
	}
}

func (s *surfaces) policy(table string) catalog.Policy {
	s.Helper()
	p, err := s.store.Policy(s.Context(), catalog.Table{Schema: s.table, Name: table})
	s.must(err)
	return p
}

// job starts a job as an engine would.
func (s *surfaces) job(table string, state catalog.JobState, reason string) catalog.Job {
	s.Helper()
	due, rows := uint64(4), uint64(5)
	job, err := s.store.CreateJob(s.Context(), catalog.NewJob{
		Policy: s.policy(table), State: state, Reason: reason, Owner: s.node, Cutoff: time.Now().AddDate(0, 0, -1), DueAt: time.Now(),
		CutoffLiteral: "'2026-01-01 00:00:00'",
		Facts:         catalog.JobFacts{Plan: "range", EstimatedRows: &due, TableRows: &rows}, Tasks: []catalog.TaskRange{{}},
	})
	s.must(err)
	return job
}

// ended is a job that has come to its end.
func (s *surfaces) ended(table string, end catalog.JobState, reason string) {
	s.Helper()
	job := s.job(table, catalog.JobRunning, "")
	s.must(s.store.FinishJob(s.Context(), job.ID, job.Fence, end, reason))
}

// holdBack makes the node say that a check of its own lets nothing go, or that none does.
func (s *surfaces) holdBack(why string) {
	s.Helper()
	s.must(s.store.SetThrottle(s.Context(), catalog.Throttle{Node: s.node, Own: catalog.Own{HeldBy: why}}))
	execAll(s.T, s.direct, "UPDATE "+s.store.Schema()+".throttle SET measured_at = '2099-01-01'")
}

// stop makes the node say that it is stopped.
func (s *surfaces) stop() {
	s.Helper()
	s.must(s.store.Beat(s.Context(), s.node, 1, catalog.StopFile, "the stop file /stop exists"))
	execAll(s.T, s.direct, fmt.Sprintf("UPDATE %s.node SET heartbeat_at = '2099-01-01' WHERE id = %d",
		s.store.Schema(), s.node))
}

// stopAnother is another node, which says that it is stopped.
func (s *surfaces) stopAnother() {
	s.Helper()
	var err error
	s.another, err = s.store.Join(s.Context(), catalog.Node{
		Name: "another", Engine: true, Stop: catalog.StopFile, Status: "the stop file /stop exists",
	})
	s.must(err)
	execAll(s.T, s.direct, fmt.Sprintf("UPDATE %s.node SET heartbeat_at = '2099-01-01' WHERE id = %d",
		s.store.Schema(), s.another))
}

func (s *surfaces) dropAnother() {
	s.Helper()
	s.must(s.store.Leave(s.Context(), s.another))
	s.another = 0
}

// stopped finds a surface that does not say which engine is stopped while the other is not.
func (s *surfaces) stopped() string {
	s.Helper()
	if s.another == 0 {
		return ""
	}

	const why = "1 of 2 engines: the stop file /stop exists (on another)"
	inSQL := s.status()
	if inSQL["Engines"] != "2" || inSQL["Engines_stopped"] != "1" || inSQL["Stopped_by"] != why {
		return fmt.Sprintf("SHOW TTL STATUS says %v", inSQL)
	}

	terminal, err := s.program("status")
	s.must(err)
	check, _ := s.program("check") // which fails when there is anything to say
	for surface, text := range map[string]string{
		"the page's JSON": s.get("/api/v1/status"), "ttlproxy status": string(terminal),
		"ttlproxy check": string(check),
	} {
		if !strings.Contains(text, why) {
			return fmt.Sprintf("%s does not say %q: %s", surface, why, text)
		}
	}
	if m := `ttlproxy_node_stopped{node="another",reason="stop file"} 1`; !strings.Contains(s.get("/metrics"), m) {
		return "there is no metric " + m
	}
	return ""
}

// status is SHOW TTL STATUS by name.
func (s *surfaces) status() map[string]string {
	s.Helper()
	values := map[string]string{}
	for _, row := range s.list("SHOW TTL STATUS") {
		values[row["Variable_name"]] = row["Value"]
	}
	return values
}

func (s *surfaces) sql(statement string) {
	s.Helper()
	execAll(s.T, s.db, statement)
}

func (s *surfaces) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// agree waits until all surfaces say what is wanted: each of them looks at the catalog anew every
// second.
func (s *surfaces) agree(what string, halt report.HaltCode, want map[string]string) {
	s.Helper()
	var wrong string
	for deadline := time.Now().Add(mysqltest.Patience); time.Now().Before(deadline); {
		said := s.inSQL("SHOW TTL TABLES")
		if wrong = beginsWrong(said, want); wrong == "" {
			wrong = s.differs(said)
		}
		if wrong == "" {
			wrong = s.halted(halt)
		}
		if wrong == "" {
			wrong = s.stopped()
		}
		if wrong == "" {
			return
		}

		<-time.After(100 * time.Millisecond)
	}

	s.Fatalf("%s: %s", what, wrong)
}

// beginsWrong compares verdicts with what they should begin with.
func beginsWrong(said, want map[string]string) string {
	for table, verdict := range said {
		begin, named := want[table]
		if !named {
			begin = want[""]
		}
		if !strings.HasPrefix(verdict, begin) {
			return fmt.Sprintf("SHOW TTL TABLES says %s of %s, want %s", verdict, table, begin)
		}
	}
	return ""
}

// differs finds a surface that says something else.
func (s *surfaces) differs(said map[string]string) string {
	words := map[string]string{}
	for table, verdict := range said {
		words[table], _, _ = strings.Cut(verdict, " (")
	}

	for name, other := range map[string]struct{ got, want map[string]string }{
		"SHOW TTL JOBS":   {s.inSQL("SHOW TTL JOBS"), said},
		"the page's JSON": {s.onPage(), said},
		"ttlproxy status": {s.onTerminal(), said},
		"the metrics":     {s.inMetrics(), words},
	} {
		if !maps.Equal(other.got, other.want) {
			return fmt.Sprintf("%s: got %v, want %v", name, other.got, other.want)
		}
	}

	return ""
}

// halted finds a surface that does not say what keeps everything from being deleted.
func (s *surfaces) halted(code report.HaltCode) string {
	s.Helper()
	var page struct {
		Halted *struct{ Code, Why string }
	}
	s.must(json.Unmarshal([]byte(s.get("/api/v1/status")), &page))
	inSQL := s.status()
	said, deleting := page.Halted, "OFF"
	if said == nil {
		said, deleting = &struct{ Code, Why string }{}, "ON"
	}
	if said.Code != string(code) || inSQL["Deleting"] != deleting || inSQL["Halted_by"] != said.Why {
		return fmt.Sprintf("the page says %+v, SHOW TTL STATUS %v, want %s", *said, inSQL, code)
	}
	if code == "" {
		return ""
	}

	metrics := []string{fmt.Sprintf("ttlproxy_halted{reason=%q} 1", code)}
	if code == report.HaltHeld {
		metrics = append(metrics, "ttlproxy_held 1")
	}
	if code == report.HaltStopped {
		metrics = append(metrics, `ttlproxy_node_stopped{node="idle",reason="stop file"} 1`)
	}

	for _, m := range metrics {
		if !strings.Contains(s.get("/metrics"), m) {
			return "there is no metric " + m
		}
	}

	if code == report.HaltSignal {
		return "" // a job may be asked for
	}
	_, err := s.db.ExecContext(s.Context(), "RUN TTL JOB FOR fresh")
	word := report.Halt{Code: code}.Verdict().Word
	if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("cannot run now: %s (%s", word, said.Why)) {
		return fmt.Sprintf("RUN TTL JOB is answered with %v", err)
	}

	return ""
}

// inSQL reads the verdicts of a list.
func (s *surfaces) inSQL(list string) map[string]string {
	s.Helper()
	said := map[string]string{}
	for _, row := range s.list(list) {
		said[row["Table_name"]] = row["Verdict"]
	}
	return said
}

// list reads a list row by row.
func (s *surfaces) list(query string) (all []map[string]string) {
	s.Helper()
	rows, err := s.db.QueryContext(s.Context(), query)
	s.must(err)
	defer rows.Close()

	names, err := rows.Columns()
	s.must(err)

	for rows.Next() {
		values := make([]sql.NullString, len(names))
		into := make([]any, len(names))
		for i := range values {
			into[i] = &values[i]
		}

		s.must(rows.Scan(into...))
		row := map[string]string{}
		for i, name := range names {
			row[name] = values[i].String
		}

		all = append(all, row)
	}

	s.must(rows.Err())
	return all
}

// get asks the status listener.
func (s *surfaces) get(path string) string {
	s.Helper()
	request, err := http.NewRequestWithContext(s.Context(), http.MethodGet, "http://proxy"+path, nil)
	s.must(err)
	answer, err := s.http.Do(request)
	s.must(err)
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	s.must(err)
	return string(body)
}

func (s *surfaces) onPage() map[string]string {
	s.Helper()
	var page struct {
		Tables []struct {
			Table   string
			Verdict struct{ Word, Detail string }
		}
	}

	s.must(json.Unmarshal([]byte(s.get("/api/v1/status")), &page))
	said := map[string]string{}
	for _, t := range page.Tables {
		said[t.Table] = t.Verdict.Word
		if t.Verdict.Detail != "" {
			said[t.Table] += " (" + t.Verdict.Detail + ")"
		}
	}

	return said
}

var verdictSeries = regexp.MustCompile(`ttlproxy_table_verdict\{.*table="(\w+)",verdict="([A-Z ]+)"\} 1`)

func (s *surfaces) inMetrics() map[string]string {
	s.Helper()
	said := map[string]string{}
	for _, found := range verdictSeries.FindAllStringSubmatch(s.get("/metrics"), -1) {
		said[found[1]] = found[2]
	}
	return said
}

func (s *surfaces) onTerminal() map[string]string {
	s.Helper()
	out, err := s.program("status", "tables", "--format=json")
	s.must(err)

	var rows []map[string]any
	s.must(json.Unmarshal(out, &rows))
	said := map[string]string{}

	for _, row := range rows {
		said[fmt.Sprint(row["table_name"])] = fmt.Sprint(row["verdict"])
	}

	return said
}

// program runs a command of the program on the catalog.
func (s *surfaces) program(command ...string) ([]byte, error) {
	s.Helper()
	isEngine := func(a string) bool { return strings.HasPrefix(a, "--engine=") }
	command = append(command, slices.DeleteFunc(slices.Clone(s.args), isEngine)...)
	return exec.CommandContext(s.Context(), program.Build(s.T), command...).Output()
}
