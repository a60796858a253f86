package statement

import (
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/google/go-cmp/cmp"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/integration/mysqltest"
	"github.com/ttlproxy/ttlproxy/sandbox"
)

// ended writes jobs of a table into the history, a microsecond apart.
func (b *adminBed) ended(t *testing.T, p catalog.Policy, n int, reason string, at time.Time) {
	t.Helper()
	for i := range n {
		if _, err := b.db.ExecContext(t.Context(), "INSERT INTO "+b.store.Schema()+`.job_history (job_id, policy_id, policy_version, schema_name, table_name,
 partition_name, state, reason, cutoff, trigger_kind, plan, plan_reason, tasks, tasks_finished, estimated_rows, examined, deleted, refreshed,
 failed, skipped, oldest_expiry, note, created_at, finished_at)
 SELECT 1 + COALESCE(MAX(job_id), 0), ?, 1, ?, ?, 'p', 'failed', ?, ?, 'schedule', 'index', '', 1, 1, NULL, 7, 123456789012, 0, 0, 0, ?, '', ?, ? FROM `+
			b.store.Schema()+".job_history",
			p.ID, p.Table.Schema, p.Table.Name, reason, at, at, at.Add(time.Duration(i)*time.Microsecond),
			at.Add(time.Duration(1+i%5)*time.Second)); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRowsAreAsTheServerWritesThem compares lists as text with those that the server makes for
// EXECUTE, by value and by type, in many sessions.
func TestRowsAreAsTheServerWritesThem(t *testing.T) {
	t.Parallel()
	onBed(t, func(t *testing.T, b *adminBed, db *sql.DB) {
		var times []time.Time
		for _, at := range []string{
			"2026-03-01T12:59:59.999999Z", "1969-12-31T23:59:59Z", "1970-01-01T00:00:01Z", "2038-01-19T03:14:07Z",
			"2038-01-19T03:14:09Z", "1000-01-01T00:00:00Z", "9999-12-31T23:00:00Z",
		} {
			moment, err := time.Parse(time.RFC3339Nano, at)
			if err != nil {
				t.Fatal(err)
			}
			times = append(times, moment)
		}

		for i, at := range times {
			b.ended(t, b.declare(t, fmt.Sprintf("t%d", i)), 3, []string{"plain", "it's \\ \"so\"", ""}[i%3], at)
		}

		compare := func(queries ...string) {
			t.Helper()
			for _, zone := range []string{"+05:45", "-12:59", "SYSTEM"} {
				for _, names := range []string{"utf8mb4", "utf8mb3", "latin1", "binary", "cp1250"} {
					run(t, db, "SET NAMES "+names)
					run(t, db, "SET time_zone = '"+zone+"'")

					for _, query := range queries {
						got, want := b.told(t, db, query), b.toldByServer(t, db, query)
						if diff := cmp.Diff(want, got); diff != "" || len(got) < 2 {
							t.Errorf("%s, %s, %s: %s", query, zone, names, diff)
						}
					}
				}
			}
		}

		lists := []string{
			"SHOW TTL TABLES", "SHOW TTL JOBS", "SHOW TTL HISTORY", "SHOW TTL HISTORY LIMIT 4", "SHOW TTL EVENTS",
			"SHOW TTL VARIABLES",
			"SHOW TTL TABLES LIKE 't_'", "SHOW TTL HISTORY FOR t3 LIMIT 1",
			"SHOW TTL HISTORY WHERE rows_DELETED > 5 AND `Started` < '2030-01-01' LIMIT 7",
			"SHOW TTL HISTORY WHERE @n := 1 /* Reason */ AND table_name LIKE 't2' -- ",
			"SHOW TTL TABLES WHERE Table_name = 'T1'",
			"SHOW TTL TABLES WHERE 'table_name' = 't1' OR Ttl IS NOT NULL", "SHOW TTL TABLES FOR t0",
			"SHOW TTL JOBS FOR t0",
			"SHOW TTL HISTORY FOR t0", "SHOW TTL HISTORY FOR t0 WHERE Seconds > 1",
			"SHOW TTL HISTORY FOR t0 WHERE Started >= '2000-01-01'",
		}

		compare(lists...)

		long := strings.Repeat("ž", 300)
		b.ended(t, b.declare(t, "ž"), 2, long, times[0])
		compare("SHOW TTL HISTORY", "SHOW TTL TABLES", "SHOW TTL HISTORY WHERE Table_name = 'ž'",
			"SHOW TTL HISTORY WHERE Tablé_name LIKE 't1'")
	})
}

// told is an answer with the types of its columns.
func (b *adminBed) told(t *testing.T, db *sql.DB, query string) []string {
	t.Helper()
	r, err := db.QueryContext(t.Context(), query)
	if err != nil {
		return []string{"", "refused"} // in which words is told elsewhere
	}
	return typed(t, r, query)
}

// toldByServer is what the server makes of the same rows.
func (b *adminBed) toldByServer(t *testing.T, db *sql.DB, query string) []string {
	t.Helper()
	s, err := db.PrepareContext(t.Context(), query)
	if err != nil {
		return []string{"", "refused"} // in which words is told elsewhere
	}
	defer s.Close()
	r, err := s.QueryContext(t.Context())
	if err != nil {
		return []string{"", "refused"} // in which words is told elsewhere
	}
	return typed(t, r, query)
}

func typed(t *testing.T, r *sql.Rows, query string) []string {
	t.Helper()
	types, err := r.ColumnTypes()
	if err != nil {
		t.Fatal(err)
	}
	var head []string
	for _, c := range types {
		nullable, _ := c.Nullable()
		precision, scale, _ := c.DecimalSize()
		head = append(head, fmt.Sprint(c.Name(), c.DatabaseTypeName(), nullable, precision, scale))
	}
	return append([]string{strings.Join(head, " ")}, linesOf(t, r, query)...)
}

// TestLongListsAreNotSentToTheServer counts what the server gets to read for an answer.
func TestLongListsAreNotSentToTheServer(t *testing.T) {
	t.Parallel()
	onBed(t, func(t *testing.T, b *adminBed, db *sql.DB) {
		b.ended(t, b.declare(t, "a"), 400, strings.Repeat("because ", 30), time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
		sent := func() (n int) {
			t.Helper()
			if _, err := fmt.Sscan(strings.TrimPrefix(rows(t, db, "SHOW SESSION STATUS LIKE 'Bytes_received'")[0],
				"Bytes_received|"), &n); err != nil {
				t.Fatal(err)
			}
			return n
		}

		for query, want := range map[string]int{
			"SHOW TTL HISTORY": 400, "SHOW TTL HISTORY LIMIT 300": 300, "SHOW TTL HISTORY WHERE Rows_deleted > 5": 400,
			"SHOW TTL HISTORY FOR a WHERE Rows_deleted < 5": 0, "SHOW TTL HISTORY LIKE 'a'": 400,
		} {
			before := sent()
			if got := len(rows(t, db, query)); got != want {
				t.Errorf("%s: got %d rows, want %d", query, got, want)
			}
			if n := sent() - before; n > 60_000 {
				t.Errorf("%s: the server was sent %d bytes", query, n)
			}
		}
	})
}

// TestConditionsOnTheHistory: what the catalog judges by itself leaves the rows that the server
// leaves, which judges everything in brackets.
func TestConditionsOnTheHistory(t *testing.T) {
	t.Parallel()
	onBed(t, func(t *testing.T, b *adminBed, db *sql.DB) {
		p := b.declare(t, "a")
		b.ended(t, p, 12, "", time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
		run(t, b.db, "UPDATE "+b.store.Schema()+`.job_history SET deleted = job_id % 5 * 123456789012345678,
 failed = job_id % 2, runs = 1 + job_id % 3, state = ELT(1 + job_id % 3, 'finished', 'failed', 'timed out'),
 partition_name = ELT(1 + job_id % 3, '', 'p1', 'P1'), estimated_rows = NULLIF(job_id % 4, 0),
 inflow = NULLIF(job_id % 5, 1)`)

		var conditions []string
		for _, column := range []string{
			"Job_id", "RUNS", "`rows_due`", "Rows_deleted", "Rows_refreshed", "Rows_failed", "Rows_skipped",
			"Rows_examined", "Inflow", "Seconds", "Never_expire",
		} {
			for _, than := range []string{"= 0", "<>1", "!= 2", "< 3", "<= 2", "> 123456789012345678", ">= 1", "= '1'"} {
				conditions = append(conditions, column+" "+than)
			}
		}

		for _, column := range []string{"State", "plan", "Partition_name", "Reason", "Table_name"} {
			for _, than := range []string{
				"= 'failed'", "<> 'FAILED '", "= 'p1'", "> 'finished'", "<= 'p1'", "!= ''", "= 'Timed Out'", "= 0",
			} {
				conditions = append(conditions, column+" "+than)
			}
		}

		conditions = append(conditions, "Rows_deleted > 0 AND Rows_failed = 0 and State = 'finished'",
			"Rows_deleted > 5 AND Rows_failed = 1 OR Runs = 1", "Rows_deleted > 5 - 6", "Runs = 1 -- AND Runs = 2",
			"Rows_failed = 1 AND 'a' = 'b'", "State = 'failed' 'x'", "State = 'it\\'s' OR 'x' = 'x'",
			"Rows_failed = 1 || Runs = 2", "Rows_failed = 1 XOR Runs = 2", "Runs = 1e0", "Runs = 1.5")

		// Every condition in one of the modes, in turn, and what is written with quotes or signs that
		// a mode gives another meaning in each of them.
		modes := []string{"", "ANSI_QUOTES", "PIPES_AS_CONCAT,NO_BACKSLASH_ESCAPES"}
		for m, mode := range modes {
			run(t, db, "SET sql_mode = '"+mode+"'")
			for i, condition := range conditions {
				if i%len(modes) != m && !strings.ContainsAny(condition, `\|-x`) {
					continue
				}

				limit := [...]string{"", " LIMIT 2"}[(i+m)%2]
				const list = "SHOW TTL HISTORY FOR a WHERE "
				want := b.told(t, db, list+"("+condition+"\n)"+limit)
				got := b.told(t, db, list+condition+"\n"+limit)
				if !slices.Equal(got, want) {
					t.Errorf("%q, %s%s: got %d lines, want %d", mode, condition, limit, len(got), len(want))
				}
			}
		}

		refused := b.told(t, db, "SHOW TTL HISTORY WHERE Runs = 1 AND ")
		if want := []string{"", "refused"}; !slices.Equal(refused, want) {
			t.Errorf("got %q, want it refused", refused)
		}
	})
}

// readers opens a session of an account each time, as it is by then.
func (b *adminBed) readers(t *testing.T, account *mysql.Config) func() *sql.DB {
	return func() *sql.DB {
		account := account.Clone()
		account.Net, account.Addr = "tcp", b.addr
		db := mysqltest.Open(t, account)
		db.SetMaxOpenConns(1)
		return db
	}
}

// seesAsShown tells whether a session is told of the policies of a schema, which it must be where
// the server shows it their tables.
func (b *adminBed) seesAsShown(t *testing.T, db *sql.DB, when string) bool {
	t.Helper()
	shown := rows(t, db, "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = '"+b.schema+"'")
	sees := rows(t, db, "SHOW TTL TABLES WHERE Table_schema = '"+b.schema+"'")
	if len(sees) != len(shown) {
		t.Errorf("%s: sees %d policies, and the server shows it %d tables", when, len(sees), len(shown))
	}
	return len(sees) > 0
}

// TestWhoMayReadAll: who has SELECT on everything is asked about no table, and nobody else is taken
// for one.
func TestWhoMayReadAll(t *testing.T) {
	t.Parallel()
	mysqltest.Both(t, func(t *testing.T, s *mysqltest.Server) {
		b := newAdminBed(t, s)
		b.declare(t, "a")
		b.declare(t, "b")
		account := s.Account(t, "readsall", "USAGE ON *.*")
		session := b.readers(t, account)

		was := session()
		if b.seesAsShown(t, was, "without rights") {
			t.Error("an account without rights sees a table")
		}

		run(t, b.db, "GRANT SELECT ON *.* TO "+account.User)
		b.seesAsShown(t, was, "since before the GRANT")
		is := session()
		if !b.seesAsShown(t, is, "with the right") {
			t.Error("who may read all sees nothing")
		}

		run(t, b.db, "REVOKE SELECT ON *.* FROM "+account.User)
		b.seesAsShown(t, is, "since before the REVOKE")
		if b.seesAsShown(t, session(), "after the REVOKE") {
			t.Error("the right was taken away, and the tables are still seen")
		}

		run(t, b.db, "GRANT INSERT ON *.* TO "+account.User)
		if !b.seesAsShown(t, session(), "with another right") {
			t.Error("who may write all sees nothing")
		}
	})
}

// TestWhoMayReadAllButOne: MySQL can take a schema out of what an account may read.
func TestWhoMayReadAllButOne(t *testing.T) {
	t.Parallel()
	s := mysqltest.Start(t, sandbox.MySQL, "--partial-revokes=ON")
	b := newAdminBed(t, s)
	b.declare(t, "a")
	account := s.Account(t, "readsmost", "SELECT ON *.*")
	session := b.readers(t, account)
	if !b.seesAsShown(t, session(), "before") {
		t.Error("who may read all sees nothing")
	}
	run(t, b.db, "REVOKE SELECT ON "+b.schema+".* FROM "+account.User)
	if b.seesAsShown(t, session(), "after") {
		t.Error("sees a table of the schema that was taken out")
	}
}
