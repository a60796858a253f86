package browser

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
	"github.com/ttlproxy/ttlproxy/integration/program"
)

var update = flag.Bool("update", false, "retake the pictures in docs/images")

func TestMain(m *testing.M) { os.Exit(program.Main(m)) }

// Rows of the tables there are to see.
const (
	sessionDue, sessionKept = 5000, 3000
	auditRows               = 300_000
	cartDue, cartKept       = 20_000, 5000
)

// longName is as long as a name may be.
const longName = "raw_events_of_the_payment_gateway_before_they_are_aggregated_v2_"

// plan is what page.mjs is told.
type plan struct {
	Checks   []string          `json:"checks"`
	Page     string            `json:"page"`  // of the proxy with a token
	Other    string            `json:"other"` // of the one without
	Token    string            `json:"token"`
	Schema   string            `json:"schema"`
	Tables   int               `json:"tables"`
	Deleted  int               `json:"deleted"`  // from table session
	Verdicts map[string]string `json:"verdicts"` // by table
	Held     int               `json:"held"`     // rows due in table cart
	Pictures string            `json:"pictures"`
	StopFile string            `json:"stopFile"`
}

func TestStatusPage(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a database server and a browser")
	}
	if os.Getenv("TTLPROXY_TEST_BROWSER") == "" {
		t.Skip("takes minutes: part of make browser and make check-all")
	}

	chromium, node := find(t, "chromium", "chromium-browser", "google-chrome"), find(t, "node")
	mysqltest.Both(t, func(t *testing.T, s *mysqltest.Server) {
		b := newBench(t, s, chromium, node)
		b.check("empty")

		b.fill()
		b.restart()
		b.p.Deleted, b.p.Held, b.p.Tables = sessionDue, cartDue, 6
		b.p.Verdicts = map[string]string{
			"session": "keeping up", "cart": "needs approval", "outbox": "off", "replaced": "disarmed",
			longName: "paused",
		}
		b.sameCharts()
		b.check("charts", "live", "states", "layout", "accessibility", "keyboard", "outages", "readonly", "signals",
			"schedule", "values", "history")

		if *update && s.MariaDB() {
			b.check("pictures")
		}

		b.check("pause")
		b.await("audit_log is paused",
			`SELECT p.paused AND p.reason = 'the browser wants it' FROM {pause} p JOIN {policy} o ON o.id = p.policy_id
 WHERE o.table_name = 'audit_log'`)
		before := b.count("audit_log")
		b.check("cancel")
		b.await("its job is cancelled",
			`SELECT COUNT(*) FROM {job_history} WHERE table_name = 'audit_log' AND state = 'cancelled'`)

		if after := b.count("audit_log"); after != before {
			t.Errorf("got %d rows after the pause, want the %d from when it was answered", after, before)
		}

		b.check("approve")
		b.exec(`SET GLOBAL ttl_delete_rows_limit = 0`)
		b.await("cart is clean", fmt.Sprintf(`SELECT COUNT(*) = %d FROM %s.cart`, cartKept, b.p.Schema))
		b.refusals()
		b.halts()
	})
}

// halts has everything stopped, and then one engine of two.
func (b *bench) halts() {
	b.Helper()
	b.exec(`SET GLOBAL ttl_job_enable = OFF`)
	b.check("halted")
	b.exec(`SET GLOBAL ttl_job_enable = ON`)
	b.check("resumed")

	b.p.StopFile = filepath.Join(b.TempDir(), "stop")
	if err := os.WriteFile(b.p.StopFile, nil, 0o600); err != nil {
		b.Fatal(err)
	}
	b.start("TTLPROXY_STOP_FILE=" + b.p.StopFile)
	b.check("stopped")
}

// find returns the first of these programs.
func find(t *testing.T, names ...string) string {
	t.Helper()
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Fatalf("there is no %s: `make browser` gets it", names[0])
	return ""
}

// bench is a server, the proxies in front of it, and the tools to look at their pages.
type bench struct {
	*testing.T
	server         *mysqltest.Server
	chromium, node string
	proxy          *program.Process
	catalog        string
	p              plan
}

func newBench(t *testing.T, s *mysqltest.Server, chromium, node string) *bench {
	b := &bench{T: t, server: s, chromium: chromium, node: node, catalog: s.Database(t) + "_catalog"}
	b.p.Schema, b.p.Token = "ttlproxy_shop", "a token for the browser"
	b.direct("CREATE DATABASE " + b.p.Schema)
	b.p.Pictures = t.TempDir()

	if *update {
		b.p.Pictures, _ = filepath.Abs("../../docs/images")
	}

	if _, err := os.Stat("node_modules"); err != nil {
		if out, err := exec.CommandContext(t.Context(), "npm", "ci", "--no-audit",
			"--no-fund").CombinedOutput(); err != nil {
			t.Fatalf("npm ci: %v\n%s", err, out)
		}
	}

	t.Cleanup(func() {
		b.direct("DROP DATABASE IF EXISTS " + b.catalog)
		b.direct("DROP DATABASE " + b.p.Schema)
	})
	b.proxy = b.start("TTLPROXY_STATUS_TOKEN=" + b.p.Token)
	b.p.Page = statusOf(t, b.proxy)
	b.p.Other = statusOf(t, b.start("TTLPROXY_ENGINE=off"))

	return b
}

// start runs a proxy with a status page.
func (b *bench) start(env ...string) *program.Process {
	account := b.server.Config("")
	return program.Start(b.T, program.Config{
		Args: []string{
			"--backend=" + b.server.Addr(), "--engine-user=" + account.User, "--catalog-schema=" + b.catalog,
			"--status=127.0.0.1:0",
		},
		Env: append(env, "TTLPROXY_ENGINE_PASSWORD="+account.Passwd),
	})
}

// restart ends the proxy and starts it again: what is on the page then comes from the catalog.
func (b *bench) restart() {
	b.Helper()
	if err := b.proxy.Stop(); err != nil {
		b.Fatal(err)
	}
	b.proxy = b.start("TTLPROXY_STATUS_TOKEN=" + b.p.Token)
	b.p.Page = statusOf(b.T, b.proxy)
}

// sameCharts asks both proxies for the last day: they show the same, although one of them has just
// started and the other runs no engine.
func (b *bench) sameCharts() {
	b.Helper()
	deleted := func(page string) float64 {
		var got struct {
			Totals struct{ Deleted float64 }
		}
		r, err := http.NewRequestWithContext(b.Context(), http.MethodGet,
			page+"api/v1/series?hours=24&schema="+b.p.Schema+"&table=session", nil)
		if err != nil {
			b.Fatal(err)
		}

		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			b.Fatal(err)
		}
		defer answer.Body.Close()

		if err := json.NewDecoder(answer.Body).Decode(&got); err != nil {
			b.Fatal(err)
		}

		return math.Round(got.Totals.Deleted)
	}
	if one, other := deleted(b.p.Page), deleted(b.p.Other); one != sessionDue || other != sessionDue {
		b.Errorf("deleted from session in the last day: got %v and %v, want %d from either proxy",
			one, other, sessionDue)
	}
}

// statusOf reads the address of the page from the log.
func statusOf(t *testing.T, p *program.Process) string {
	t.Helper()
	for line := range strings.Lines(p.Log()) {
		var entry struct{ Msg, Address string }
		if json.Unmarshal([]byte(line), &entry) == nil && entry.Msg == "status listening" {
			return "http://" + entry.Address + "/"
		}
	}
	t.Fatal("the proxy has no status page")
	return ""
}

// fill makes tables in all the states that the page should show, and waits until the first one is
// clean.
func (b *bench) fill() {
	b.Helper()
	b.exec(`SET GLOBAL ttl_delete_rows_limit = 0`)
	b.table("session", sessionDue, sessionKept)
	b.exec(`ALTER TABLE session TTL = at + INTERVAL 1 DAY TTL_JOB_INTERVAL = '1h'`)
	b.await("session is clean",
		`SELECT COUNT(*) FROM {job_history} WHERE table_name = 'session' AND state = 'finished'`)
	b.direct(fmt.Sprintf(`UPDATE %s.job_history SET runs = 5, first_at = created_at - INTERVAL 40 SECOND`, b.catalog))
	b.exec(`SET GLOBAL ttl_delete_rows_limit = 100`)
	b.table("cart", cartDue, cartKept)
	b.exec(`ALTER TABLE cart TTL = at + INTERVAL 1 DAY`)
	b.table("outbox", 10, 10)
	b.exec(`ALTER TABLE outbox TTL = at + INTERVAL 1 DAY TTL_ENABLE = 'OFF'`)
	b.table("audit_log", auditRows/3, auditRows*2/3)
	b.exec(`ALTER TABLE audit_log TTL = at + INTERVAL 1 DAY TTL_JOB_INTERVAL = '1h'`)
	b.table(longName, 10, 10)
	b.exec(`ALTER TABLE ` + longName + ` TTL = at + INTERVAL 1 DAY`)
	b.exec(`PAUSE TTL FOR ` + longName)
	b.table("replaced", 10, 10)
	b.exec(`ALTER TABLE replaced TTL = at + INTERVAL 1 DAY TTL_JOB_INTERVAL = '1h'`)
	b.await("replaced is clean",
		`SELECT COUNT(*) FROM {job_history} WHERE table_name = 'replaced' AND state = 'finished'`)
	b.direct(fmt.Sprintf(`DROP TABLE %s.replaced`, b.p.Schema))
	b.direct(fmt.Sprintf(`CREATE TABLE %s.replaced (id BIGINT PRIMARY KEY, at DATETIME NOT NULL)`, b.p.Schema))

	if code := b.post(b.p.Page, b.p.Token, "tables/"+b.p.Schema+"/replaced/run"); code != http.StatusOK {
		b.Fatalf("run a job for replaced: got %d", code)
	}

	b.await("replaced is disarmed",
		`SELECT COUNT(*) FROM {policy} WHERE table_name = 'replaced' AND state = 'disarmed'`)
	b.await("cart waits", `SELECT COUNT(*) FROM {job} WHERE table_name = 'cart' AND state = 'needs approval'`)
	b.exec(`APPROVE TTL JOB FOR audit_log`)
	b.await("audit_log runs",
		`SELECT SUM(deleted) FROM {task} JOIN {job} ON job.id = task.job_id WHERE table_name = 'audit_log'`)
}

// table makes a table with so many rows that are a week old, and so many that are new.
func (b *bench) table(name string, due, kept int) {
	b.Helper()
	b.exec(`CREATE TABLE ` + name +
		` (id BIGINT PRIMARY KEY AUTO_INCREMENT, at DATETIME NOT NULL, v CHAR(100) NOT NULL DEFAULT '', KEY (at))`)
	b.exec(`INSERT INTO ` + name + ` (at) VALUES (UTC_TIMESTAMP() - INTERVAL 7 DAY)`)
	for n := 1; n < due; n *= 2 {
		b.exec(fmt.Sprintf(`INSERT INTO %s (at) SELECT at FROM %s LIMIT %d`, name, name, due-n))
	}
	for n := 0; n < kept; n += due {
		b.exec(fmt.Sprintf(`INSERT INTO %s (at) SELECT UTC_TIMESTAMP() FROM %s LIMIT %d`, name, name, min(due, kept-n)))
	}
}

// exec runs a statement through the proxy.
func (b *bench) exec(statement string) {
	b.Helper()
	account := b.server.Config(b.p.Schema)
	account.Addr = b.proxy.Addr
	db := mysqltest.Open(b.T, account)
	defer db.Close()
	if _, err := db.ExecContext(b.Context(), statement); err != nil {
		b.Fatalf("%s: %v", statement, err)
	}
}

// await waits until a question to the database, around the proxy, is answered with something but 0.
func (b *bench) await(what, query string) {
	b.Helper()
	query = strings.NewReplacer("{", b.catalog+".", "}", "").Replace(query)
	db := b.server.Open(b.T, b.catalog)
	defer db.Close()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		var n sql.NullInt64
		if err := db.QueryRowContext(b.Context(), query).Scan(&n); err == nil && n.Int64 != 0 {
			return
		}
	}
	b.Fatalf("waited in vain until %s", what)
}

// direct runs a statement around the proxy, also when the test is over.
func (b *bench) direct(statement string) {
	b.Helper()
	db := b.server.Open(b.T, "")
	defer db.Close()
	if _, err := db.ExecContext(context.Background(), statement); err != nil {
		b.Fatalf("%s: %v", statement, err)
	}
}

func (b *bench) count(table string) (n int) {
	b.Helper()
	if err := b.server.Open(b.T, b.p.Schema).QueryRowContext(b.Context(),
		`SELECT COUNT(*) FROM `+table).Scan(&n); err != nil {
		b.Fatal(err)
	}
	return n
}

// check has the browser run checks, each of which becomes a test of its own.
func (b *bench) check(names ...string) {
	b.Helper()
	b.p.Checks = names
	text, err := json.Marshal(b.p)
	if err != nil {
		b.Fatal(err)
	}

	cmd := exec.CommandContext(b.Context(), b.node, "page.mjs")
	cmd.Env = append(os.Environ(), "CHROMIUM="+b.chromium, "PLAN="+string(text))
	var problems bytes.Buffer
	cmd.Stderr = &problems
	out, _ := cmd.Output() // the lines tell which check failed

	ran := 0
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); ran++ {
		var result struct{ Name, Error string }
		if err := json.Unmarshal(lines.Bytes(), &result); err != nil {
			b.Fatalf("%v: %s", err, lines.Text())
		}

		b.Run(result.Name, func(t *testing.T) {
			if result.Error != "" {
				t.Error(result.Error)
			}
		})
	}

	if ran != len(names) {
		b.Fatalf("got %d of %d checks\n%s", ran, len(names), problems.String())
	}
}

// refusals asks for actions without the right token, past the page.
func (b *bench) refusals() {
	b.Helper()
	for _, c := range []struct {
		base, token string
		want        int
	}{
		{b.p.Page, "", http.StatusUnauthorized},
		{b.p.Page, "wrong", http.StatusUnauthorized},
		{b.p.Other, b.p.Token, http.StatusForbidden},
	} {
		for _, path := range []string{
			"pause", "resume", "tables/" + b.p.Schema + "/cart/run",
			"tables/" + b.p.Schema + "/cart/cancel",
		} {
			if got := b.post(c.base, c.token, path); got != c.want {
				b.Errorf("POST %s with token %q: got %d, want %d", path, c.token, got, c.want)
			}
		}
	}
}

// post asks for an action, past the page.
func (b *bench) post(base, token, path string) int {
	b.Helper()
	r, err := http.NewRequestWithContext(b.Context(), http.MethodPost, base+"api/v1/"+path, nil)
	if err != nil {
		b.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		b.Fatal(err)
	}
	answer.Body.Close()
	return answer.StatusCode
}
