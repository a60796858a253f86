package integration

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
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
		s.reasons()
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
			{
				"one of two engines stopped by a file", func() { s.other = s.join("other"); s.stop(s.other) }, "",
				map[string]string{
					"keeps": "KEEPING UP", "fails": "FALLING BEHIND (the last job ended as failed: because)",
					"fresh": "WAITING (the first job", "silent": "OFF (", "paused": "PAUSED (PAUSE TTL by root@",
					"windowed": "WAITING FOR WINDOW (outside TTL_WINDOW=",
					"braked":   "NEEDS APPROVAL (4 of 5 rows are due)", "gone": "DISARMED (another table)",
					"remade": rebuilt, "dropped": "DISARMED (column `n` is gone)", "grown": "WAITING (the first job",
				},
			},
			{
				"held back by a check", func() { s.leave(&s.other); s.holdBack("web_check: 503") }, report.HaltSignal,
				map[string]string{
					"works": "PAUSED (at 0 % of its speed, held back by web_check: 503)", "keeps": "KEEPING UP",
					"fresh": "WAITING (the first job",
				},
			},
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
			{"held", func() { s.must(s.store.Hold(t.Context(), "a clone")) }, report.HaltHeld, map[string]string{
				"": "PAUSED (the server is held: a clone)", "silent": "OFF (", "gone": "DISARMED (another table)",
				"braked": "NEEDS APPROVAL (4 of 5 rows are due)",
				"remade": rebuilt, "dropped": "DISARMED (column `n` is gone)",
			}},
			// Switching off ends the open jobs, and what a job asked for with them.
			{
				"switched off", func() { s.trust(); s.sql("RESUME TTL"); s.sql("SET GLOBAL ttl_job_enable = OFF") },
				report.HaltSwitch,
				map[string]string{
					"": "PAUSED (ttl_job_enable is OFF)", "silent": "OFF (", "gone": "DISARMED (another table)",
					"remade": rebuilt, "dropped": "DISARMED (column `n` is gone)",
				},
			},
			{
				"stopped by a file", func() { s.sql("SET GLOBAL ttl_job_enable = ON"); s.stop(s.node) }, report.HaltStopped,
				map[string]string{
					"": "PAUSED (the stop file /stop exists (on idle))", "silent": "OFF (",
					"gone": "DISARMED (another table)", "remade": rebuilt, "dropped": "DISARMED (column `n` is gone)",
				},
			},
			{
				"without an engine", func() { s.leave(&s.node) }, report.HaltNoEngine,
				map[string]string{
					"": "PAUSED (no engine is running", "silent": "OFF (", "gone": "DISARMED (another table)",
					"remade": rebuilt, "dropped": "DISARMED (column `n` is gone)",
				},
			},
		} {
			c.do()
			s.agree(c.what, c.halt, c.want)
			if s.other != 0 {
				s.checked("stopped: 1 of 2 engines: the stop file /stop exists (on other)")
			}
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

// surfaces is a proxy with everything that shows its state.
type surfaces struct {
	*testing.T
	args   []string
	store  *catalog.Store
	db     *sql.DB // through the proxy
	http   *http.Client
	direct *sql.DB // to the server
	node   uint64
	other  uint64 // a second engine, while there is one
	table  string // schema of the tables
	says   func() // what the node records again and again; nil for nothing
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
	s.http = statusClient(socket)

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
	s.node = s.join("idle")
	return s
}

// join makes the catalog believe in an engine that lives for ever and does nothing.
func (s *surfaces) join(name string) uint64 {
	s.Helper()
	node, err := s.store.Join(s.Context(), catalog.Node{Name: name, Engine: true})
	s.must(err)
	s.everLiving(node)
	return node
}

func (s *surfaces) everLiving(node uint64) {
	s.Helper()
	execAll(s.T, s.direct, fmt.Sprintf("UPDATE %s.node SET heartbeat_at = '2099-01-01' WHERE id = %d",
		s.store.Schema(), node))
}

// optionsInFull are options that say when and how fast.
const optionsInFull = "TTL_CRON = '0 3 * * 1' TTL_WINDOW = '02:00-05:00' TTL_DELETE_RATE = 500 " +
	"TTL_DELETE_BATCH_SIZE = 50 TTL_MAX_LAG = '30d' TTL_MAX_ROWS = 7000"

// inFull demands that every surface shows the whole policy.
func (s *surfaces) inFull() {
	s.Helper()
	want := map[string]string{
		"Schedule": "cron 0 3 * * 1", "Window": "02:00-05:00", "Delete_rate": "500",
		"Batch_size": "50", "Max_lag": "30d", "Other_options": "TTL_MAX_ROWS='7000'",
	}
	row := s.list("SHOW TTL TABLES FOR silent")[0]
	view := s.list(fmt.Sprintf("SELECT * FROM %s.policies WHERE `table` = '%s.silent'", s.store.Schema(), s.table))[0]
	explained := map[string]string{}

	for _, line := range s.list("EXPLAIN TTL silent") {
		explained[line["Property"]] = line["Value"]
	}

	for name, value := range want {
		friendly := strings.ToLower(strings.ReplaceAll(name, "_", " "))
		if row[name] != value || view[friendly] != value || explained[friendly] != value {
			s.Errorf("%s: SHOW TTL TABLES has %q, the view %q, EXPLAIN TTL %q, want %q",
				name, row[name], view[friendly], explained[friendly], value)
		}
	}

	page := s.get("/api/v1/tables/" + s.table + "/silent")
	for _, part := range []string{
		`"schedule":"cron 0 3 * * 1"`, `"TTL_WINDOW":"02:00-05:00"`, `"TTL_DELETE_RATE":"500"`,
		`"TTL_DELETE_BATCH_SIZE":"50"`, `"TTL_MAX_LAG":"30d"`, `"TTL_MAX_ROWS":"7000"`,
	} {
		if !strings.Contains(page, part) {
			s.Errorf("the page's JSON has no %s: %s", part, page)
		}
	}
}

// reasons demands that the view and the page's JSON give the reason that SHOW TTL TABLES gives, also while the table, or
// everything, is paused.
func (s *surfaces) reasons() {
	s.Helper()
	s.reason("fresh", "armed", "")
	s.reason("remade", "armed", "the table was rebuilt or replaced outside ttlproxy")
	s.reason("dropped", "disarmed", "column `n` is gone")
	s.sql("PAUSE TTL FOR gone")
	s.reason("gone", "disarmed", "another table")
	s.sql("PAUSE TTL")
	s.reason("gone", "disarmed", "another table")
	s.sql("RESUME TTL")
	s.sql("RESUME TTL FOR gone")
}

// reason demands that of one table.
func (s *surfaces) reason(table, state, begin string) {
	s.Helper()
	row := s.list("SHOW TTL TABLES FOR " + table)[0]
	view := s.list(fmt.Sprintf("SELECT * FROM %s.policies WHERE `table` = '%s.%s'", s.store.Schema(), s.table, table))[0]
	var page struct {
		Tables []struct{ State, Reason string }
	}
	s.must(json.Unmarshal([]byte(s.get("/api/v1/tables/"+s.table+"/"+table)), &page))

	want := fmt.Sprintf("%s (%s)", state, row["Reason"])
	for surface, said := range map[string]string{
		"SHOW TTL TABLES": fmt.Sprintf("%s (%s)", row["State"], row["Reason"]),
		"the view":        fmt.Sprintf("%s (%s)", view["state"], view["reason"]),
		"the page's JSON": fmt.Sprintf("%s (%s)", page.Tables[0].State, page.Tables[0].Reason),
	} {
		if said != want || !strings.HasPrefix(row["Reason"], begin) {
			s.Errorf("%s says of %s that it is %s, want %s, beginning with %s", surface, table, said, want, begin)
		}
	}
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
	half := s.job("works", catalog.JobRunning, "")
	execAll(s.T, s.direct, fmt.Sprintf("UPDATE %s.task SET deleted = 2, examined = 2 WHERE job_id = %d", s.store.Schema(), half.ID))
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
		if s.says != nil {
			s.says()
		}
		said := s.inSQL("SHOW TTL TABLES")
		if wrong = beginsWrong(said, want); wrong == "" {
			wrong = s.differs(said)
		}
		if wrong == "" {
			wrong = s.halted(halt)
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

	if word, there := words["works"]; there {
		return s.ends(report.Word(word))
	}
	return ""
}

// ends finds a surface that says otherwise whether the end of a job that is open can be told.
func (s *surfaces) ends(works report.Word) string {
	s.Helper()
	var page struct {
		Jobs []struct {
			Table string
			End   *time.Time `json:"expected_end"`
		}
	}
	s.must(json.Unmarshal([]byte(s.get("/api/v1/status")), &page))
	onPage := false
	for _, j := range page.Jobs {
		onPage = onPage || j.Table == "works" && j.End != nil
	}
	out, err := s.program("status")
	s.must(err)

	inSQL := s.list("SHOW TTL JOBS FOR works")[0]["Expected_end"] != ""
	onTerminal := regexp.MustCompile(`(?m)\.works .* left `).Match(out)
	if want := !works.Waits(); inSQL != want || onPage != want || onTerminal != want {
		return fmt.Sprintf("the job of works is %s, its end is told by SHOW TTL JOBS: %v, by the page: %v, by ttlproxy status: %v",
			works, inSQL, onPage, onTerminal)
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
	body, err := bodyOf(s.Context(), s.http, path)
	s.must(err)
	return body
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

// program runs another command of ttlproxy on the same server.
func (s *surfaces) program(arguments ...string) ([]byte, error) {
	s.Helper()
	arguments = append(arguments, s.args...)
	arguments = slices.DeleteFunc(arguments, func(a string) bool { return strings.HasPrefix(a, "--engine=") })
	return exec.CommandContext(s.Context(), program.Build(s.T), arguments...).Output()
}
