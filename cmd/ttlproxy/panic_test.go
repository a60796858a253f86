package main

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
)

// trap is a log that panics when something is first written to it.
type trap struct {
	on []byte

	mu     sync.Mutex
	sprung bool
	all    bytes.Buffer
}

func (w *trap) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.sprung && bytes.Contains(b, w.on) {
		w.sprung = true
		panic("the trap has sprung")
	}
	return w.all.Write(b)
}

// await waits for a line, and returns its first group.
func (w *trap) await(t *testing.T, pattern string) string {
	t.Helper()
	line := regexp.MustCompile(pattern)
	for late := time.Now().Add(mysqltest.Patience); time.Now().Before(late); time.Sleep(20 * time.Millisecond) {
		w.mu.Lock()
		found := line.FindStringSubmatch(w.all.String())
		w.mu.Unlock()
		if found != nil {
			return found[1]
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	t.Fatalf("the log does not show %q:\n%s", pattern, &w.all)
	return ""
}

// TestPanicOfTheEngineEndsNoConnection: a bug in the engine is told, counted, and ends neither the connection of a
// client nor the deletion of rows for long.
func TestPanicOfTheEngineEndsNoConnection(t *testing.T) {
	t.Parallel()
	for name, where := range map[string]string{"ticker": "job starts", "job": "job ends"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mysqltest.Both(t, func(t *testing.T, server *mysqltest.Server) { panicOn(t, server, where) })
		})
	}
}

func panicOn(t *testing.T, server *mysqltest.Server, where string) {
	t.Helper()
	cfg, schema := server.Config(""), server.Database(t)
	defer server.Open(t, "").ExecContext(context.WithoutCancel(t.Context()), "DROP DATABASE IF EXISTS "+schema+"_c")
	env := map[string]string{"TTLPROXY_ENGINE_PASSWORD": cfg.Passwd}
	log := &trap{on: []byte(where)}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- run(ctx, []string{
			"serve", "--backend=" + cfg.Addr, "--engine-user=" + cfg.User, "--listen=127.0.0.1:0",
			"--status=127.0.0.1:0", "--catalog-schema=" + schema + "_c",
		}, world{stdout: io.Discard, stderr: log, getenv: func(name string) (string, bool) {
			value, ok := env[name]
			return value, ok
		}})
	}()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()

	through := cfg.Clone()
	through.Addr = log.await(t, `"msg":"listening","address":"(.*?)"`)
	page := log.await(t, `"msg":"status listening","address":"(.*?)"`)
	log.await(t, `"msg":"(engine runs)"`)
	client := mysqltest.Open(t, through)
	client.SetMaxOpenConns(1)
	before := ask(t, client, "SELECT CONNECTION_ID()")

	for _, statement := range []string{
		"CREATE TABLE %s.t (id INT PRIMARY KEY, made DATETIME NOT NULL)",
		"INSERT INTO %s.t VALUES (1, '2020-01-01'), (2, NOW())",
		"ALTER TABLE %s.t TTL = made + INTERVAL 1 DAY TTL_JOB_INTERVAL = '1h'", // its first job starts by itself
	} {
		if _, err := client.ExecContext(ctx, fmt.Sprintf(statement, schema)); err != nil {
			t.Fatal(err)
		}
	}

	if stack := log.await(t, `"panic in the engine: it begins anew","err":"a bug in ttlproxy: (?:job \d+: )?the trap has `+
		`sprung","in":1000000000,"stack":"(.*)"`); !strings.Contains(stack, "(*trap).Write") {
		t.Errorf("the stack does not say where it was: %s", stack)
	}
	for late := time.Now().Add(mysqltest.Patience); ask(t, client, "SELECT COUNT(*) FROM "+schema+".t") != "1"; {
		if time.Now().After(late) {
			t.Fatal("the row does not go")
		}
		time.Sleep(50 * time.Millisecond)
	}
	if after := ask(t, client, "SELECT CONNECTION_ID()"); after != before {
		t.Errorf("the client has connection %s, and had %s", after, before)
	}
	if got := scrape(ctx, t, page); !strings.Contains(got, "\nttlproxy_engine_panics_total 1\n") {
		t.Errorf("the metrics do not count it:\n%s", got)
	}
}

// ask returns the answer to a question.
func ask(t *testing.T, db *sql.DB, question string) (answer string) {
	t.Helper()
	if err := db.QueryRowContext(t.Context(), question).Scan(&answer); err != nil {
		t.Fatalf("%s: %v", question, err)
	}
	return answer
}

// scrape returns what the metrics say.
func scrape(ctx context.Context, t *testing.T, address string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}
