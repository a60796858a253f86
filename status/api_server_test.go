package status

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/report"
	"github.com/ttlproxy/ttlproxy/catalog/setting"
	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
)

// scene is an API on a real catalog with one policy, and an engine that does nothing.
type scene struct {
	*testing.T
	api    *api
	store  *catalog.Store
	db     *sql.DB
	policy catalog.Policy
}

func onCatalog(t *testing.T, test func(s *scene)) {
	t.Helper()
	mysqltest.Both(t, func(t *testing.T, server *mysqltest.Server) { test(newScene(t, server)) })
}

func newScene(t *testing.T, server *mysqltest.Server) *scene {
	t.Helper()
	schema := server.Database(t)
	connector, err := catalog.Connector(server.Config(""))
	if err != nil {
		t.Fatal(err)
	}

	db := sql.OpenDB(connector)
	t.Cleanup(func() { db.Close() })
	store, err := catalog.Open(t.Context(), db, catalog.Config{Schema: server.Database(t), Version: "test"})
	if err != nil {
		t.Fatal(err)
	}

	for _, q := range []string{
		"CREATE TABLE " + schema + ".session (id BIGINT PRIMARY KEY, at DATETIME NOT NULL)",
		"INSERT INTO " + schema +
			".session VALUES (1, '2020-01-01 00:00:00'), (2, '2020-01-02 00:00:00'), (3, '2999-01-01 00:00:00')",
	} {
		if _, err := db.ExecContext(t.Context(), q); err != nil {
			t.Fatal(err)
		}
	}

	p, err := store.Declare(t.Context(), catalog.Client{Account: "ann@%"}, catalog.Declaration{
		Table: catalog.Table{Schema: schema, Name: "session"},
		Rule: catalog.Rule{
			Column: "at", Literal: "1", Unit: "DAY", Enabled: true, JobInterval: "1h", TimeZone: "UTC",
			ZoneSource: catalog.ZoneFromTable,
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Join(t.Context(), catalog.Node{Name: "idle", Engine: true}); err != nil {
		t.Fatal(err)
	}

	return &scene{
		t, newAPI(newGate(testToken), Config{Version: "test"}, store, db, slog.New(slog.DiscardHandler)),
		store, db, p,
	}
}

// ask puts a request to the API; {table} in the path is the scene's table.
func (s *scene) ask(method, path, token, body string) (int, string) {
	s.Helper()
	table := s.policy.Table.Schema + "/" + s.policy.Table.Name
	r := httptest.NewRequest(method, strings.ReplaceAll(path, "{table}", table),
		strings.NewReader(body)).WithContext(s.Context())
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	w := httptest.NewRecorder()
	s.api.handler().ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

// want asks with the token, and demands an answer.
func (s *scene) want(method, path, body string, code int, text string) {
	s.Helper()
	if got, answer := s.ask(method, path, testToken, body); got != code || !strings.Contains(answer, text) {
		s.Errorf("%s %s %s: got %d %s, want %d with %q", method, path, body, got, answer, code, text)
	}
}

// job starts a job, as an engine would.
func (s *scene) job() catalog.Job {
	s.Helper()
	now, err := s.store.Clock(s.Context())
	if err != nil {
		s.Fatal(err)
	}

	due := uint64(2)
	job, err := s.store.CreateJob(s.Context(), catalog.NewJob{
		Policy: s.policy, Cutoff: now.AddDate(0, 0, -1), CutoffLiteral: "'2026-01-01 00:00:00'",
		Facts: catalog.JobFacts{Plan: "range", EstimatedRows: &due}, Tasks: []catalog.TaskRange{{}},
	})
	if err != nil {
		s.Fatal(err)
	}

	return job
}

// rowError writes a row down that could not be deleted.
func (s *scene) rowError(key string) {
	s.Helper()
	err := s.store.RecordRowError(s.Context(), catalog.RowError{
		PolicyID: s.policy.ID, Table: s.policy.Table, Key: `["` + key + `"]`, Number: 1451, Reason: "a child",
	})
	if err != nil {
		s.Fatal(err)
	}
}

// TestSpeedSaysHowOldItIs: of each signal that may hold deletion back, the page is told when it said so.
func TestSpeedSaysHowOldItIs(t *testing.T) {
	t.Parallel()
	onCatalog(t, func(s *scene) {
		node, err := s.store.Join(s.Context(), catalog.Node{Name: "measures", Engine: true})
		if err != nil {
			s.Fatal(err)
		}
		lag := catalog.Signal{
			Name: "replica_lag", Source: "db2:3306", State: catalog.Measured, Value: 3200, Threshold: 1000,
			Unit: "ms", Held: 0.25, Age: 90,
		}
		if err := s.store.SetThrottle(s.Context(), catalog.Throttle{
			Node: node, Decides: true, Share: 0.5, HeldBy: "replica_lag", Signals: []catalog.Signal{lag},
		}); err != nil {
			s.Fatal(err)
		}

		code, answer := s.ask(http.MethodGet, "/api/v1/status", testToken, "")
		var got overview
		if err := json.Unmarshal([]byte(answer), &got); err != nil || code != http.StatusOK {
			s.Fatalf("got %d, %v: %s", code, err, answer)
		}
		if n := len(got.Throttle.Readings); n != 1 || got.Throttle.Share != 0.5 {
			s.Fatalf("got %d readings and a share of %v", n, got.Throttle.Share)
		}
		r := got.Throttle.Readings[0]
		if age := got.Now.Sub(r.At); r.Source != lag.Source || r.Held != lag.Held || age < time.Minute || age > 3*time.Minute {
			s.Errorf("got %+v, %s old", r, age)
		}
	})
}

// sample records so many rows deleted in a minute, and moves the record back in time.
func (s *scene) sample(node uint64, age time.Duration, deleted float64) {
	s.Helper()
	rows := map[string]catalog.SampleRows{s.policy.Table.Schema + "." + s.policy.Table.Name: {Deleted: deleted}}
	err := s.store.RecordSample(s.Context(), catalog.Sample{
		Node: node, Length: time.Minute, Tables: rows, Phases: map[string]float64{"delete": 30},
		Signals: map[string]catalog.SampleSignal{"deleted_rows_per_second": {Value: deleted / 60, Threshold: 500}},
	})
	if err != nil {
		s.Fatal(err)
	}

	_, err = s.db.ExecContext(s.Context(),
		fmt.Sprintf("UPDATE %s.sample SET at = at - INTERVAL %d SECOND WHERE at > UTC_TIMESTAMP(3) - INTERVAL 30 SECOND",
			s.store.Schema(), int(age.Seconds())))
	if err != nil {
		s.Fatal(err)
	}
}

func TestActionsDoWhatTheySay(t *testing.T) {
	t.Parallel()
	onCatalog(t, func(s *scene) {
		const table = "/api/v1/tables/{table}/"
		s.want("POST", table+"cancel", "", http.StatusConflict, "no open job")
		job := s.job()
		s.want("POST", table+"run", "", http.StatusConflict, fmt.Sprintf("job %d is open already", job.ID))
		s.want("GET", "/api/v1/status", "", 200, `"due":2,`)
		s.want("GET", fmt.Sprintf("/api/v1/jobs/%d/tasks", job.ID), "", 200, `"state":"waiting"`)
		s.want("POST", table+"cancel", "", 200, fmt.Sprintf(`"jobs":[%d]`, job.ID))
		s.want("GET", "/api/v1/history", "", 200, `"state":"cancelled"`)

		s.want("POST", table+"pause", `{"reason":"migration","minutes":5}`, 200, "Nothing more is deleted until")

		p, err := s.store.PolicyByID(s.Context(), s.policy.ID)
		if err != nil || !p.Paused.Paused || p.Paused.Reason != "migration" ||
			time.Until(p.Paused.Until) > 6*time.Minute {
			s.Errorf("after the pause: got %+v, %v", p.Paused, err)
		}

		s.want("POST", table+"run", "", http.StatusConflict, "cannot run now: PAUSED (PAUSE TTL by status page")
		s.want("POST", table+"resume", "", 200, "Resumed")
		s.want("POST", "/api/v1/pause", `{"reason":"fire"}`, 200, "Paused")
		s.want("GET", "/api/v1/status", "", 200, `"reason":"fire"`)
		s.want("POST", table+"run", "", http.StatusConflict,
			"cannot run now: PAUSED (everything, PAUSE TTL by status page")
		s.want("POST", "/api/v1/resume", "", 200, "Resumed")
		s.want("POST", table+"run", "", 200, "starts within seconds")

		s.want("POST", table+"approve", `{"version":99}`, http.StatusConflict, "has changed")
		s.want("POST", table+"approve", fmt.Sprintf(`{"version":%d}`, p.Version), 200, "up to 3 rows")
		s.want("GET", "/api/v1/events", "", 200, `"kind":"approved"`)
	})
}

// TestApprovalIsForWhatWasShown: over HTTP, too, an approval covers the rows that whoever gave it has seen and a fifth
// more, or as many as are named; not what the next run finds, which may be anything by then.
func TestApprovalIsForWhatWasShown(t *testing.T) {
	t.Parallel()
	onCatalog(t, func(s *scene) {
		approve := func(body string, rows uint64, exactly bool) {
			s.Helper()
			s.want("POST", "/api/v1/tables/{table}/approve", body, 200, report.Agreed(&rows))
			p, err := s.store.PolicyByID(s.Context(), s.policy.ID)
			if got := p.Approval; err != nil || got.Rows == nil || *got.Rows != rows || got.Exactly != exactly {
				s.Errorf("after %q: got %+v, %v, want %d rows", body, got, err, rows)
			}
		}

		approve("", 3, false) // two are due
		approve(`{"seen":100}`, 121, false)
		approve(`{"up_to":7,"reason":"the old shop"}`, 7, true)
		s.want("GET", "/api/v1/events", "", 200, "up to 7 rows: the old shop")

		var err error // else the number that was named since would be the job's
		if s.policy, err = s.store.PolicyByID(s.Context(), s.policy.ID); err != nil {
			s.Fatal(err)
		}
		job := s.job() // which has found two
		s.asks(job.ID)
		approve("", 3, false)
		s.asks(job.ID)
		approve(`{"seen":100}`, 121, false)
	})
}

// asks makes a job wait for approval.
func (s *scene) asks(id uint64) {
	s.Helper()
	job, err := s.store.Job(s.Context(), id)
	if err == nil {
		err = s.store.Ask(s.Context(), "test", job, "far more than usual")
	}
	if err != nil {
		s.Fatal(err)
	}
}

func TestMistakesAreTold(t *testing.T) {
	t.Parallel()
	onCatalog(t, func(s *scene) {
		s.want("POST", "/api/v1/tables/no/such/pause", "", http.StatusNotFound, "has no TTL policy")
		s.want("GET", "/api/v1/tables/no/such/preview", "", http.StatusNotFound, "has no TTL policy")
		s.want("POST", "/api/v1/pause", `{"minutes":-1}`, http.StatusBadRequest, "minutes: want")
		s.want("POST", "/api/v1/pause", `{"mintues":1}`, http.StatusBadRequest, "mintues")
		s.want("POST", "/api/v1/pause", `[`, http.StatusBadRequest, "body: ")
		s.want("GET", "/api/v1/history?limit=0", "", http.StatusBadRequest, "limit: want")
		s.want("GET", "/api/v1/series?hours=999", "", http.StatusBadRequest, "hours: want")
		s.want("GET", "/api/v1/jobs/x/tasks", "", http.StatusBadRequest, "job: want")
		s.want("GET", "/api/v1/tables/{table}", "", 200, `"verdict":{"word":"WAITING"`)
		s.want("GET", "/api/v1/settings", "", 200, `"alias":"tidb_ttl_job_enable"`)
	})
}

func TestKeysAndDatesNeedTheToken(t *testing.T) {
	t.Parallel()
	onCatalog(t, func(s *scene) {
		s.rowError("4711")
		for path, secret := range map[string]string{
			"/api/v1/errors": "4711",
			"/api/v1/errors?schema=" + s.policy.Table.Schema + "&table=session": "4711",
			"/api/v1/tables/{table}/preview":                                    `"oldest_due":"2020-01-01`,
		} {
			if code, body := s.ask("GET", path, "", ""); code != 200 || strings.Contains(body, secret) {
				s.Errorf("%s without the token: got %d %s", path, code, body)
			}
			s.want("GET", path, "", 200, secret)
		}

		s.want("GET", "/api/v1/tables/{table}/preview", "", 200, `"rows_due":2,"exact":true`)
	})
}

// TestWhatSQLHidesNeedsTheToken: SHOW TTL hides some columns from accounts that may not read the table. So does JSON
// from readers without the token, and metrics, which need none, do not have them.
func TestWhatSQLHidesNeedsTheToken(t *testing.T) {
	t.Parallel()
	named := map[string]string{ // what such a column is called in JSON; empty if it is not there for anybody
		"TABLES Oldest_undeletable": "oldest_undeletable", "TABLES Oldest_expired": "",
		"JOBS Oldest_expired": "", "HISTORY Oldest_expired": "",
		"ERRORS Row_key": "key", "ERRORS Reason": "reason",
		"TASKS Range_start": "", "TASKS Range_end": "", "TASKS Position": "",
	}
	onCatalog(t, func(s *scene) {
		s.rowError("4711")
		s.undeletable()
		for _, list := range []ddl.List{
			ddl.ListTables, ddl.ListJobs, ddl.ListTasks, ddl.ListHistory, ddl.ListErrors, ddl.ListNodes, ddl.ListStatus,
			ddl.ListVariables, ddl.ListEvents, ddl.ListThrottle,
		} {
			l, err := report.Load(s.Context(), s.store, list, catalog.Filter{Limit: 10})
			if err != nil {
				s.Fatal(err)
			}

			for _, c := range l.Columns {
				name, known := named[string(list)+" "+c.Name]
				if known != c.Secret {
					s.Errorf("%s of %s: got secret %v, and in the test %v", c.Name, list, c.Secret, known)
				}
				if name != "" {
					s.wantSecret(list, name)
				}
			}
		}

		metrics := prometheus.NewRegistry()
		metrics.MustRegister(NewCollector(s.store, slog.New(slog.DiscardHandler)))
		families, err := metrics.Gather()
		if text := fmt.Sprint(families); err != nil || strings.Contains(text, "oldest_undeletable") {
			s.Errorf("metrics: got %s, %v", text, err)
		}
	})
}

// undeletable lets a job find a row that it cannot delete.
func (s *scene) undeletable() {
	s.Helper()
	job := s.job()
	if err := s.store.FinishJob(s.Context(), job.ID, job.Fence, catalog.JobFinished, ""); err != nil {
		s.Fatal(err)
	}
	_, err := s.db.ExecContext(s.Context(), "UPDATE "+s.store.Schema()+
		".schedule SET undeletable = 1, oldest_undeletable = '2001-02-03', undeletable_version = last_version")
	if err != nil {
		s.Fatal(err)
	}
}

// wantSecret demands that what JSON shows of a list has a value of that name for the bearer of the token alone.
func (s *scene) wantSecret(list ddl.List, name string) {
	s.Helper()
	value := fmt.Sprintf(`"%s":"`, name)
	paths := []string{"/api/v1/status", "/api/v1/tables/{table}"}
	if list == ddl.ListErrors {
		paths = []string{"/api/v1/errors"}
	}

	for _, path := range paths {
		s.want("GET", path, "", 200, value)
		if code, body := s.ask("GET", path, "", ""); code != 200 || strings.Contains(body, value) {
			s.Errorf("%s without the token: got %d %s, want no %s", path, code, body, name)
		}
	}
}

// TestChartsShowTheLastDay: also after a restart, and from every proxy.
func TestChartsShowTheLastDay(t *testing.T) {
	t.Parallel()
	const unknown = -1
	onCatalog(t, func(s *scene) {
		deleted := func(a *api, hours int) float64 {
			r := httptest.NewRequest("GET", fmt.Sprintf("/api/v1/series?hours=%d", hours), nil).WithContext(s.Context())
			w := httptest.NewRecorder()
			a.handler().ServeHTTP(w, r)

			var got series
			if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
				s.Fatalf("%v: %s", err, w.Body)
			}

			if got.Totals.Deleted == nil {
				return unknown
			}
			return math.Round(*got.Totals.Deleted)
		}

		again := func() *api { return newAPI(newGate(""), Config{}, s.store, s.db, slog.New(slog.DiscardHandler)) }
		old := again()
		s.sample(1, 23*time.Hour, 100)
		s.sample(2, 23*time.Hour, 20)
		s.sample(1, 2*time.Hour, 3)

		if got := deleted(old, 1); got != unknown {
			s.Errorf("the last hour, of which nobody has recorded anything: got %v rows", got)
		}

		for what, a := range map[string]*api{"that has run on": old, "that has just started": again()} {
			if got := deleted(a, 24); got != 123 {
				s.Errorf("the last day, from a proxy %s: got %v rows, want 123", what, got)
			}
			if got := deleted(a, 3); got != 3 {
				s.Errorf("the last three hours, from a proxy %s: got %v rows, want 3", what, got)
			}
		}

		s.sample(2, 0, 4)
		old.archive.at = time.Time{} // as if it were long ago
		if got := deleted(old, 24); got != 127 {
			s.Errorf("with a new sample: got %v rows, want 127", got)
		}
	})
}

func TestTriggerAnswersAsTiDBDoes(t *testing.T) {
	t.Parallel()
	onCatalog(t, func(s *scene) {
		const path = "/test/ttl/trigger/{table}"
		if code, body := s.ask("POST", path, "", ""); code != http.StatusForbidden ||
			!strings.Contains(body, "ttl_http_trigger") {
			s.Errorf("without token and setting: got %d %s", code, body)
		}

		s.want("GET", path, "", http.StatusBadRequest, "only supports POST")
		s.want("POST", "/test/ttl/trigger/no/such", "", http.StatusBadRequest, "table no.such not exists")

		if err := s.store.Set(s.Context(), "test", map[string]string{setting.HTTPTrigger: "ON"}); err != nil {
			s.Fatal(err)
		}

		var wg sync.WaitGroup
		jobs := make(chan catalog.Job, 1)
		wg.Go(func() { jobs <- s.engine() })
		code, body := s.ask("POST", path, "", "")
		wg.Wait()

		var got triggered
		if err := json.Unmarshal([]byte(body), &got); err != nil || code != 200 || len(got.TableResult) != 1 {
			s.Fatalf("got %d %s", code, body)
		}

		want := triggeredTable{
			TableID: s.policy.ID, DBName: s.policy.Table.Schema, TableName: "session",
			JobID: fmt.Sprint((<-jobs).ID),
		}
		if got.TableResult[0] != want {
			s.Errorf("got %+v, want %+v", got.TableResult[0], want)
		}

		if err := s.store.Set(s.Context(), "test", map[string]string{setting.JobEnable: "OFF"}); err != nil {
			s.Fatal(err)
		}

		s.want("POST", path, "", http.StatusBadRequest, "tidb_ttl_job_enable is disabled")
	})
}

// engine starts a job as soon as somebody asks for one.
func (s *scene) engine() catalog.Job {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()

	for {
		pasts, err := s.store.PastAgain(s.Context())
		if err != nil {
			s.Error(err)
			return catalog.Job{}
		}

		for _, past := range pasts {
			if c := past.Schedule(""); c != nil && !c.RequestedAt.IsZero() {
				return s.job()
			}
		}

		select {
		case <-tick.C:
		case <-s.Context().Done():
			return catalog.Job{}
		}
	}
}

// TestNamesInAddressesAreFolded: where the server does not tell Shop from shop, nor does the API.
func TestNamesInAddressesAreFolded(t *testing.T) {
	t.Parallel()
	for _, flavour := range mysqltest.Flavours {
		t.Run(string(flavour), func(t *testing.T) {
			t.Parallel()
			s := newScene(t, mysqltest.Start(t, flavour, "--lower-case-table-names=1"))
			job := s.job()
			if err := s.store.FinishJob(t.Context(), job.ID, job.Fence, catalog.JobFinished, ""); err != nil {
				t.Fatal(err)
			}
			s.rowError("7")
			node, err := s.store.Join(t.Context(), catalog.Node{Name: "n"})
			if err != nil {
				t.Fatal(err)
			}
			s.sample(node, 2*time.Minute, 600)

			shouted := strings.ToUpper(s.policy.Table.Schema)
			of := "?schema=" + shouted + "&table=Session"
			s.want("GET", "/api/v1/history"+of, "", 200, `"state":"finished"`)
			s.want("GET", "/api/v1/history?schema="+shouted, "", 200, `"state":"finished"`)
			s.want("GET", "/api/v1/events"+of, "", 200, `"kind":"declared"`)
			s.want("GET", "/api/v1/errors"+of, "", 200, `"attempts":1`)
			s.want("GET", "/api/v1/tables/"+shouted+"/SESSION", "", 200, `"table":"session"`)

			_, answer := s.ask("GET", "/api/v1/series"+of, testToken, "")
			var charts series
			err = json.Unmarshal([]byte(answer), &charts)
			if d := charts.Totals.Deleted; err != nil || d == nil || math.Round(*d) != 600 {
				t.Errorf("the charts of the table: %v, %s", err, answer)
			}
		})
	}
}

// TestSettingsAreShownAsTheyAreStored, also one that this version does not understand.
func TestSettingsAreShownAsTheyAreStored(t *testing.T) {
	t.Parallel()
	onCatalog(t, func(s *scene) {
		if err := s.store.Set(t.Context(), "dba", map[string]string{setting.BrakePercent: "most"}); err != nil {
			t.Fatal(err)
		}
		s.want("GET", "/api/v1/settings", "", 200, `"name":"ttl_brake_percent","alias":"","value":"most"`)
	})
}
