package clients

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/ddl"
	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
	"github.com/ttlproxy/ttlproxy/proxy"
	"github.com/ttlproxy/ttlproxy/proxy/statement"
	"github.com/ttlproxy/ttlproxy/ttl"
)

// talk is one statement about TTL, and what a client must print of its answer.
type talk struct{ statement, answer string }

// talks are all statements that the proxy answers itself. What is printed comes in this order.
var talks = []talk{
	{"DROP TABLE IF EXISTS orders", ""},
	{"CREATE TABLE orders (id INT PRIMARY KEY, at DATETIME) TTL = at + INTERVAL 1 DAY TTL_TIME_ZONE = 'UTC'", ""},
	{"INSERT INTO orders VALUES (1, '2001-01-01'), (2, '2999-01-01')", ""},
	{"RUN TTL JOB FOR orders WAIT", "finished"},
	{"SELECT GROUP_CONCAT('order ', id) FROM orders", "order 2"},
	{"SHOW TTL TABLES LIKE 'orders'", "armed"},
	{"SHOW TTL JOBS FOR orders", "KEEPING UP"},
	{"SHOW TTL TASKS FOR orders", ""},
	{"SHOW TTL HISTORY FOR orders WHERE Rows_deleted = 1 LIMIT 1", "finished"},
	{"SHOW TTL ERRORS", ""},
	{"SHOW TTL NODES WHERE Engine = 'ON'", "live"},
	{"SHOW TTL STATUS LIKE 'Deleting'", "Deleting"},
	{"SHOW TTL EVENTS FOR orders", "declared"},
	{"SHOW TTL SESSIONS", "127.0.0.1"},
	{"SHOW TTL PARTITIONS FOR orders", "has no partitions"},
	{"RESTORE TTL PARTITION p1 FOR orders", "No partition of"},
	{"SHOW TTL THROTTLE", ""},
	{"SHOW TTL VARIABLES LIKE 'ttl_restore'", "hold, arm"},
	{"EXPLAIN TTL orders", "rows due now"},
	{"EXPLAIN FORMAT=JSON TTL orders", "percent_due"},
	{"EXPLAIN TTL ALTER TABLE orders TTL = at + INTERVAL 2 DAY", "INTERVAL 2 DAY"},
	{"PAUSE TTL FOR orders UNTIL '2999-01-01'", ""},
	{"SHOW TTL JOBS FOR orders", "PAUSED (PAUSE TTL by"},
	{"RUN TTL JOB FOR orders", "cannot run now: PAUSED"},
	{"RESUME TTL FOR orders", ""},
	{"RUN TTL JOB FOR orders", "orders"},
	{"PAUSE TTL", ""},
	{"SHOW TTL STATUS LIKE 'Halted_by'", "everything, PAUSE TTL by"},
	{"RESUME TTL", ""},
	{"TRUST TTL SERVER", "Last seen at work"},
	{"TRUST TTL SERVER 'another'", "Nothing was trusted"},
	{"CANCEL TTL JOB FOR orders", ""},
	{"APPROVE TTL JOB FOR orders", ""},
	{"SHOW TTL EVENTS FOR orders WHERE Kind = 'approved'", "approved"},
	{"SET GLOBAL ttl_brake_rows = 12345, SESSION sort_buffer_size = 65536", ""},
	{"SELECT @@ttl_brake_rows, @@global.tidb_ttl_job_enable", "12345"},
	{"SHOW VARIABLES LIKE 'ttl_brake_rows'", "12345"},
	{"SET GLOBAL ttl_brake_rows = DEFAULT", ""},
	{"SET GLOBAL tidb_ttl_delete_batch_size = @@tidb_ttl_scan_batch_size + 1", ""},
	{"SHOW GLOBAL VARIABLES WHERE Variable_name LIKE '%delete\\_batch%'", "501"},
	{"SET GLOBAL tidb_ttl_delete_batch_size = DEFAULT", ""},
	{"SET SESSION ttl_brake_rows = 1", "should be set with SET GLOBAL"},
	{
		"SELECT CONCAT('rows: ', MAX(deleted_rows)) FROM mysql.tidb_ttl_job_history WHERE table_name = 'orders'",
		"rows: 1",
	},
	// not CONCAT with COUNT: some versions of MariaDB give it as bytes
	{"SELECT IF(COUNT(s.table_id) = 1, 'one table', 'others') FROM mysql.tidb_ttl_table_status s", "one table"},
	{"SELECT CONCAT('tasks: ', COUNT(*) >= 0) FROM mysql.tidb_ttl_task", "tasks: 1"},
	{"DESC mysql.tidb_ttl_task", "scan_range_start"},
	{"SHOW FULL COLUMNS FROM mysql.tidb_ttl_table_status LIKE 'current_job_id'", "current_job_id"},
	{"SHOW CREATE TABLE mysql.tidb_ttl_job_history", "summary_text"},
	{"ALTER TABLE orders TTL = at + INTERVAL 3 DAY", ""},
	{"SHOW CREATE TABLE orders", "INTERVAL 3 DAY"},
	{"PAUSE TTL FRO orders", "PAUSE TTL [FOR table] [UNTIL 'time']"},
	{"SHOW TTL JOBS FOR nowhere", "1146"},
	{"DROP TABLE orders", ""},
}

// TestTTLThroughEveryClient: each statement about TTL through each driver, as text and prepared.
func TestTTLThroughEveryClient(t *testing.T) {
	mysqltest.Both(t, func(t *testing.T, s *mysqltest.Server) {
		name := s.Database(t)
		config := s.Account(t, "clients", "ALL ON *.*")
		config.DBName = name

		// MySQL remembers the password from here on: not every client can give it over a plain leg
		// for the first time.
		if err := mysqltest.Open(t, config).PingContext(t.Context()); err != nil {
			t.Fatal(err)
		}

		through := startEngine(t, s, config, name+"_catalog")
		statements := make([]request, len(talks))
		for i, talk := range talks {
			statements[i] = request{talk.statement}
		}

		config.Addr = net.JoinHostPort(through.host, through.port)
		t.Run("go-text", func(t *testing.T) { follow(t, speakGo(t, config, false)) })
		t.Run("go-prepared", func(t *testing.T) { follow(t, speakGo(t, config, true)) })

		for _, c := range clients {
			if c.refuses != nil && c.refuses(s) != "" {
				continue
			}

			for _, mode := range c.modes {
				if mode == "features" {
					continue
				}
				t.Run(strings.ReplaceAll(c.name+" "+mode, " ", "-"), func(t *testing.T) {
					follow(t, c.run(t, through, mode, statements...))
				})
			}

			if slices.Contains(c.modes, "text") && !slices.Contains(c.modes, "prepared") {
				t.Run(strings.ReplaceAll(c.name+" prepared by SQL", " ", "-"), func(t *testing.T) {
					follow(t, c.run(t, through, "text", preparedBySQL(statements)...))
				})
			}
		}
	})
}

// preparedBySQL prepares and executes each statement in SQL, for clients that prepare in no other
// way.
func preparedBySQL(statements []request) []request {
	var all []request
	for _, s := range statements {
		text := strings.NewReplacer(`\`, `\\`, `'`, `''`).Replace(s[0])
		all = append(all, request{"PREPARE talk FROM '" + text + "'"}, request{"EXECUTE talk"})
	}
	return all
}

// speakGo runs the statements through the driver that this program has, and prints what they
// return.
func speakGo(t *testing.T, config *mysql.Config, prepared bool) string {
	t.Helper()
	db := mysqltest.Open(t, config)
	db.SetMaxOpenConns(1)
	var b strings.Builder
	for _, talk := range talks {
		if err := printRows(t, &b, db, talk.statement, prepared); err != nil {
			fmt.Fprintln(&b, err)
		}
	}
	return b.String()
}

func printRows(t *testing.T, w io.Writer, db *sql.DB, query string, prepared bool) (err error) {
	t.Helper()
	ask := func() (*sql.Rows, error) { return db.QueryContext(t.Context(), query) }
	if prepared {
		st, err := db.PrepareContext(t.Context(), query)
		if err != nil {
			return err
		}
		defer st.Close()
		ask = func() (*sql.Rows, error) { return st.QueryContext(t.Context()) }
	}

	rows, err := ask()
	if err != nil {
		return err
	}
	defer rows.Close()

	names, err := rows.Columns()
	if err != nil {
		return err
	}

	for rows.Next() {
		values, into := make([]sql.NullString, len(names)), make([]any, len(names))
		for i := range values {
			into[i] = &values[i]
		}

		if err := rows.Scan(into...); err != nil {
			return err
		}

		for i, v := range values {
			fmt.Fprintf(w, "%s: %s\n", names[i], v.String)
		}
	}

	return rows.Err()
}

// follow looks for the answers in what a client printed.
func follow(t *testing.T, printed string) {
	t.Helper()
	plain := strings.NewReplacer(`\"`, `"`, `\'`, `'`, `\u0027`, `'`).Replace(printed)
	rest := plain
	for _, talk := range talks {
		if talk.answer == "" {
			continue
		}

		_, after, found := strings.Cut(rest, talk.answer)
		if !found {
			t.Fatalf("%s: no %q in the rest of\n%s", talk.statement, talk.answer, plain)
		}

		rest = after
	}
}

// startEngine runs a proxy that knows TTL, with its engine, and returns the account as it logs in
// there.
func startEngine(t *testing.T, s *mysqltest.Server, c *mysql.Config, schema string) account {
	t.Helper()
	log := slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	connector, err := catalog.Connector(s.Config(""))
	if err != nil {
		t.Fatal(err)
	}

	db := sql.OpenDB(connector)
	store, err := catalog.Open(t.Context(), db, catalog.Config{Schema: schema})
	if err != nil {
		t.Fatal(err)
	}

	mysqltest.Unhurried(t, db, schema)
	engine, err := ttl.New(ttl.Config{
		Backend: s.Config(""), Node: catalog.Node{Name: "clients"},
		Tick: 100 * time.Millisecond,
	}, store, log, ttl.NewMetrics(nil))
	if err != nil {
		t.Fatal(err)
	}

	backends, err := proxy.NewBackends(proxy.BackendsConfig{Addresses: []string{c.Addr}, CheckTimeout: time.Minute}, log)
	if err != nil {
		t.Fatal(err)
	}

	p, err := proxy.New(t.Context(), proxy.Config{
		Listen:  []string{"127.0.0.1:0"},
		Handler: statement.New(statement.Config{Catalog: func() *catalog.Store { return store }, DB: db}, log),
	}, backends, log, proxy.NewMetrics(prometheus.NewRegistry()))
	if err != nil {
		t.Fatal(err)
	}

	ctx, stop := context.WithCancel(context.Background())
	var g errgroup.Group
	g.Go(func() error { return p.Run(ctx) })
	g.Go(func() error { return engine.Run(ctx) })
	t.Cleanup(func() {
		stop()
		if err := g.Wait(); err != nil {
			t.Error(err)
		}
		db.ExecContext(context.Background(), "DROP DATABASE "+schema)
		db.Close()
	})

	awaitEngine(t, store)
	c = c.Clone()
	c.Addr = p.Addr().String()
	return accountOf(t, c)
}

// awaitEngine waits until the engine is known: until then no job may be asked for.
func awaitEngine(t *testing.T, store *catalog.Store) {
	t.Helper()
	for patient := time.Now().Add(mysqltest.Patience); ; {
		nodes, err := store.Nodes(t.Context())
		if slices.ContainsFunc(nodes, func(n catalog.Node) bool { return n.Engine && n.Live }) {
			return
		}
		if err != nil || time.Now().After(patient) {
			t.Fatalf("no engine has come: %v", err)
		}
		<-time.After(20 * time.Millisecond)
	}
}

// TestTalksLeaveNothingOut: no statement of the proxy's grammar is missing above, no list, and none
// of TiDB's tables.
func TestTalksLeaveNothingOut(t *testing.T) {
	t.Parallel()
	var all strings.Builder
	for _, talk := range talks {
		all.WriteString(talk.statement + "\n")
	}

	var wanted []string
	for _, usage := range ddl.Grammar() {
		words, _, _ := strings.Cut(usage, "TTL")
		verb, _, _ := strings.Cut(words, " ")
		wanted = append(wanted, verb)
	}

	for _, list := range append(ddl.Lists(), ddl.ListPartitions) {
		wanted = append(wanted, "SHOW TTL "+string(list))
	}

	for _, table := range ddl.TiDBTables() {
		wanted = append(wanted, "mysql."+table)
	}

	for _, w := range wanted {
		if !strings.Contains(all.String(), w) {
			t.Errorf("no client says %s", w)
		}
	}
}
