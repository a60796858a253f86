package chaos

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
	"github.com/ttlproxy/ttlproxy/integration/program"
	"github.com/ttlproxy/ttlproxy/sandbox"
)

func TestMain(m *testing.M) { os.Exit(program.Main(m)) }

// TestOnlyExpiredRowsAreDeleted is the property test that doc.go describes.
func TestOnlyExpiredRowsAreDeleted(t *testing.T) {
	if testing.Short() {
		t.Skip("needs servers: left out under -short")
	}
	length := lengthOf(t) // or why not, which is to be the first that is said
	seed := seedOf(t)
	for _, flavour := range mysqltest.Flavours {
		t.Run(string(flavour), func(t *testing.T) {
			run(t, flavour, seed, length)
		})
	}
}

// seedOf decides what happens in a run; it is logged, so that a run can be repeated.
func seedOf(t *testing.T) uint64 {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	if s := os.Getenv("TTLPROXY_CHAOS_SEED"); s != "" {
		var err error
		if seed, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("TTLPROXY_CHAOS_SEED=%d", seed)
	return seed
}

// lengthOf is how long the workload runs. A run that says nothing of it is not meant to take
// minutes.
func lengthOf(t *testing.T) time.Duration {
	t.Helper()
	s := os.Getenv("TTLPROXY_CHAOS_TIME")
	if s == "" {
		t.Skip("takes minutes: part of make chaos and make check-all")
	}
	length, err := time.ParseDuration(s)
	if err != nil {
		t.Fatal(err)
	}
	return length
}

func run(t *testing.T, flavour sandbox.Flavour, seed uint64, length time.Duration) {
	t.Helper()
	args := []string{"--binlog-row-metadata=FULL", "--binlog-row-image=FULL", "--default-time-zone=+00:00"}
	if flavour == sandbox.MySQL {
		args = append(args, "--binlog-rows-query-log-events=ON")
	}
	s := mysqltest.Start(t, flavour, args...)
	prove(t, seed, length, []*mysqltest.Server{s}, func(ctx context.Context, proxies []*node, random *rand.Rand) {
		faults(ctx, t, s, proxies, random)
	})
}

// prove lets the workload and the faults loose on proxies in front of the servers, one after the
// other, and has the judge read the log of the first.
func prove(t *testing.T, seed uint64, length time.Duration, servers []*mysqltest.Server,
	faults func(context.Context, []*node, *rand.Rand),
) {
	t.Helper()
	s := servers[0]
	direct := s.Open(t, "")
	begin := binlogEnd(t, s)
	exec1(t, direct, "CREATE DATABASE app")
	engine := s.Account(t, "engine", "ALL ON *.*")
	var proxies []*node
	w := &workload{direct: s.Open(t, "app"), seed: seed, done: map[string]int{}, refused: map[string]int{}}

	for i := range 3 {
		p := newNode(t, servers[i%len(servers)].Addr(), engine.User, engine.Passwd)
		p.start(t)
		proxies = append(proxies, p)
		c := s.Config("app")
		c.Addr = p.addr
		c.Timeout = time.Second
		w.through = append(w.through, mysqltest.Open(t, c))
	}

	t.Cleanup(func() {
		if t.Failed() {
			w.report(t)
			describe(t, s)
		}
	})

	await(t, "the proxies serve", 30*time.Second, func() error {
		for _, db := range w.through {
			if err := db.PingContext(t.Context()); err != nil {
				return err
			}
		}
		return nil
	})

	// No brake: a person who approves is not part of this story.
	for name, value := range map[string]string{"ttl_brake_percent": "100", "ttl_delete_batch_size": "7"} {
		exec1(t, w.through[0], fmt.Sprintf("SET GLOBAL %s = %s", name, value))
	}

	for _, table := range slices.Concat(policied, plain) {
		exec1(t, w.direct, fmt.Sprintf(createTable, table))
	}

	for _, table := range policied {
		exec1(t, w.through[0], fmt.Sprintf("ALTER TABLE %s TTL = at + INTERVAL 2 SECOND TTL_JOB_INTERVAL = '1s'",
			table))
	}

	ctx, cancel := context.WithTimeout(t.Context(), length)
	defer cancel()

	worked := make(chan struct{})
	go func() { defer close(worked); w.run(ctx) }()
	faults(ctx, proxies, rand.New(rand.NewPCG(seed, 300)))
	<-worked

	settle(t, w)

	for _, p := range proxies {
		p.Kill() // or they go on deleting between the judge's count and the catalog's
	}

	j := judgeBinlog(t, s, "app", begin)
	for _, wrong := range j.wrong {
		t.Error(wrong)
	}

	if len(j.wrong) > 0 {
		t.Logf("renames: %q", j.history)
	}

	total := 0
	for id, n := range j.deleted {
		total += n
		if counted := countedByEngine(t, direct, id); counted != n && j.policies[id].table != "" {
			t.Errorf("policy %s: %d rows were deleted, the catalog counts %d", id, n, counted)
		}
	}

	if total == 0 {
		t.Error("the engine deleted nothing, so nothing was tested")
	}

	t.Logf("the engine deleted %d rows", total)
}

// describe logs what the catalog says, for whoever reads a failed run.
func describe(t *testing.T, s *mysqltest.Server) {
	t.Helper()
	c := s.Config("ttlproxy")
	connector, err := mysql.NewConnector(c)
	if err != nil {
		t.Fatal(err)
	}

	db := sql.OpenDB(connector)
	defer db.Close()

	for _, table := range []string{"policy", "pause", "schedule", "job", "task", "lease", "node"} {
		rows, err := db.QueryContext(context.Background(), "SELECT * FROM "+table) // the test's own context has ended
		if err != nil {
			t.Log(table, err)
			continue
		}
		defer rows.Close()

		names, err := rows.Columns()
		if err != nil {
			t.Log(table, err)
			continue
		}

		for rows.Next() {
			values, into := make([]sql.NullString, len(names)), make([]any, len(names))
			for i := range values {
				into[i] = &values[i]
			}

			if err := rows.Scan(into...); err != nil {
				t.Log(table, err)
			}

			var line strings.Builder
			for i, v := range values {
				fmt.Fprintf(&line, " %s=%s", names[i], head(v.String, 60))
			}

			t.Logf("%s:%s", table, line.String())
		}

		if err := rows.Err(); err != nil {
			t.Log(table, err)
		}
	}
}

// faults kills and freezes until ctx ends, and leaves everything running.
func faults(ctx context.Context, t *testing.T, s *mysqltest.Server, proxies []*node, random *rand.Rand) {
	t.Helper()
	for ctx.Err() == nil {
		pause(ctx, time.Duration(300+random.IntN(2000))*time.Millisecond)
		p := proxies[random.IntN(len(proxies))]
		switch random.IntN(6) {
		case 0, 1, 2:
			p.Kill()
			pause(ctx, time.Duration(random.IntN(500))*time.Millisecond)
			p.start(t)
		case 3, 4:
			p.freeze(ctx, t, time.Duration(random.IntN(4000))*time.Millisecond)
		case 5:
			s.Sandbox.Kill()
			if err := s.Sandbox.Restart(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// settle switches everything on again and waits until all that is due has gone: what survives must
// be a matter of time, not of luck.
func settle(t *testing.T, w *workload) {
	t.Helper()
	for _, table := range policied {
		await(t, "all that is due in "+table+" has gone", 2*time.Minute, func() error {
			// Again and again: a proxy that was frozen may send a PAUSE or the first of two renames
			// only now, and a policy whose ALTER was cut off by a kill is disarmed when the engine
			// sees what became of its table.
			for _, q := range []string{
				"ALTER TABLE " + table + " TTL = at + INTERVAL 1 SECOND TTL_ENABLE = 'ON' TTL_JOB_INTERVAL = '1s'",
				"RESUME TTL FOR " + table,
			} {
				if _, err := w.through[0].ExecContext(t.Context(), mark+q); err != nil {
					comeBack(t, w, table)
					return fmt.Errorf("%s: %w", q, err)
				}
			}

			pause(t.Context(), time.Second)
			var n int
			if err := w.direct.QueryRowContext(t.Context(),
				"SELECT COUNT(*) FROM "+table+" WHERE at < UTC_TIMESTAMP() - INTERVAL 2 SECOND").Scan(&n); err != nil {
				return err
			}
			if n > 0 {
				return fmt.Errorf("%d rows are still there", n)
			}

			return nil
		})
	}
}

// comeBack ends a rename whose second half was lost.
func comeBack(t *testing.T, w *workload, table string) {
	t.Helper()
	w.exec(t.Context(), w.through[0], fmt.Sprintf("RENAME TABLE %s_away TO %s", table, table))
}

// countedByEngine is how many rows of a policy the catalog says were deleted.
func countedByEngine(t *testing.T, db *sql.DB, id string) int {
	t.Helper()
	var n int
	err := db.QueryRowContext(t.Context(), `SELECT (SELECT COALESCE(SUM(deleted), 0) FROM ttlproxy.job_history
 WHERE policy_id = ?)
		+ (SELECT COALESCE(SUM(deleted), 0) FROM ttlproxy.task WHERE policy_id = ?)`, id, id).Scan(&n)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func exec1(t *testing.T, db *sql.DB, statement string) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), mark+statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

func await(t *testing.T, what string, within time.Duration, try func() error) {
	t.Helper()
	deadline := time.Now().Add(within)
	for {
		err := try()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %s: %v", what, within, err)
		}
		pause(t.Context(), 100*time.Millisecond)
	}
}
