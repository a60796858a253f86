package statement

import (
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/report"
	"github.com/ttlproxy/ttlproxy/ddl"
)

func TestEveryListIsShownInBothProtocols(t *testing.T) {
	t.Parallel()
	onBed(t, func(t *testing.T, b *adminBed, db *sql.DB) {
		b.declare(t, "orders")
		run(t, b.db, "ALTER TABLE "+b.schema+".orders PARTITION BY HASH (id) PARTITIONS 3")
		for _, list := range append(ddl.Lists(), ddl.ListPartitions+" FOR orders") {
			query := "SHOW TTL " + string(list)
			text := rows(t, db, query)
			st, err := db.PrepareContext(t.Context(), query)
			if err != nil {
				t.Fatalf("prepare %s: %v", query, err)
			}
			defer st.Close()

			if got := count(t, st); got != len(text) {
				t.Errorf("%s: %d rows prepared, %d as text", query, got, len(text))
			}
		}
	})
}

func count(t *testing.T, st *sql.Stmt) (n int) {
	t.Helper()
	r, err := st.QueryContext(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()

	for r.Next() {
		n++
	}

	if r.Err() != nil {
		t.Fatal(r.Err())
	}

	return n
}

func TestListsAreFiltered(t *testing.T) {
	t.Parallel()
	onBed(t, func(t *testing.T, b *adminBed, db *sql.DB) {
		b.declare(t, "orders")
		b.declare(t, "visits")

		for query, want := range map[string]int{
			"SHOW TTL TABLES":                           2,
			"SHOW TTL TABLES LIKE 'ord%'":               1,
			"SHOW TTL TABLES FROM nowhere":              0,
			"SHOW TTL TABLES FROM " + b.schema:          2,
			"SHOW TTL TABLES WHERE Version > 7":         0,
			"SHOW TTL TABLES WHERE STATE = 'Armed'":     2,
			"SHOW TTL TABLES LIMIT 1":                   1,
			"SHOW TTL JOBS FOR visits":                  1,
			"SHOW TTL EVENTS FOR orders":                1,
			"SHOW TTL VARIABLES LIKE '%batch%'":         3,
			"SET sql_select_limit = 1; SHOW TTL TABLES": 2,
		} {
			all := rows(t, db, query)
			if strings.HasPrefix(query, "SET") {
				continue // the driver returns the first of two results
			}
			if len(all) != want {
				t.Errorf("%s: got %d rows, want %d: %q", query, len(all), want, all)
			}
		}
	})
}

func TestWrongConditionsAreToldAboutAlone(t *testing.T) {
	t.Parallel()
	onBed(t, func(t *testing.T, b *adminBed, db *sql.DB) {
		if code, message := refused(t, db, "SHOW TTL JOBS WHERE (State"); code != ddl.CodeSyntax ||
			!strings.Contains(message, "near '(State' at line 1; the right syntax is: SHOW TTL {TABLES") {
			t.Errorf("error %d (%s)", code, message)
		}
		if code, message := refused(t, db, "SHOW TTL JOBS WHERE no_such = 1"); code != 1054 {
			t.Errorf("error %d (%s), want 1054", code, message)
		}

		run(t, db, "SET @least = 0")
		run(t, db, "PREPARE lists FROM 'SHOW TTL VARIABLES WHERE CHAR_LENGTH(Value) >= ? LIMIT 3'")
		if got := rows(t, db, "EXECUTE lists USING @least"); len(got) != 3 {
			t.Errorf("with a parameter: got %q", got)
		}
	})
}

func TestOnlyVisibleTablesAreListed(t *testing.T) {
	t.Parallel()
	onBed(t, func(t *testing.T, b *adminBed, db *sql.DB) {
		b.declare(t, "mine")
		b.declare(t, "theirs")
		gone := b.declare(t, "gone")
		reader := b.client(t, b.server.Account(t, "reader", "SELECT (note) ON "+b.schema+".mine",
			"SELECT ON "+b.schema+".gone"))
		run(t, b.db, "DROP TABLE "+b.schema+".gone")

		got := rows(t, reader, "SHOW TTL TABLES WHERE Table_schema = '"+b.schema+"'")
		if len(got) != 2 || !strings.Contains(got[0], "|gone|") || !strings.Contains(got[1], "|mine|") {
			t.Errorf("got %q, want the lines of %s and mine", got, gone.Table.Name)
		}
		if n := len(rows(t, reader, "SELECT * FROM mysql.tidb_ttl_table_status")); n != 2 {
			t.Errorf("TiDB's table shows %d lines, want 2", n)
		}
		if n := len(rows(t, reader, "SHOW TTL JOBS FOR mine")); n != 1 {
			t.Errorf("jobs of a table with one column to be seen: %d lines, want 1", n)
		}
		if code, _ := refused(t, reader, "SHOW TTL JOBS FOR theirs"); code != 1142 {
			t.Errorf("jobs of a table that is not visible: error %d, want 1142", code)
		}
		if code, _ := refused(t, reader, "SHOW TTL JOBS FOR nothing"); code != 1142 && code != 1146 {
			t.Errorf("jobs of no table: error %d, want 1142 or 1146", code)
		}
	})
}

func TestKeysAreHiddenFromThoseWhoMayNotReadThem(t *testing.T) {
	t.Parallel()
	onBed(t, func(t *testing.T, b *adminBed, _ *sql.DB) {
		p := b.declare(t, "mine")
		if err := b.store.RecordRowError(t.Context(),
			catalog.RowError{PolicyID: p.ID, Key: `["7"]`, Number: 1451, Reason: "a child"}); err != nil {
			t.Fatal(err)
		}

		const query = "SHOW TTL ERRORS"
		if got := rows(t, b.client(t, nil), query); len(got) != 1 || !strings.Contains(got[0], `["7"]`) {
			t.Errorf("with all rights: got %q, want the key", got)
		}

		half := b.client(t, b.server.Account(t, "half", "SELECT (at) ON "+b.schema+".mine"))
		if got := rows(t, half, query); len(got) != 1 || !strings.Contains(got[0], "|NULL|NULL|1451") {
			t.Errorf("without the key column: got %q, want the line without its key", got)
		}

		whole := b.client(t, b.server.Account(t, "whole", "SELECT (id, at) ON "+b.schema+".mine"))
		if got := rows(t, whole, query); len(got) != 1 || !strings.Contains(got[0], `["7"]`) {
			t.Errorf("with the key column: got %q, want the key", got)
		}
	})
}

// TestLimitCountsWhatIsLeft: LIMIT comes after WHERE and FOR, whatever is newer.
func TestLimitCountsWhatIsLeft(t *testing.T) {
	t.Parallel()
	onBed(t, func(t *testing.T, b *adminBed, db *sql.DB) {
		older, newer := b.declare(t, "older"), b.declare(t, "newer")
		for _, x := range []struct {
			policy catalog.Policy
			end    catalog.JobState
		}{{older, catalog.JobFinished}, {newer, catalog.JobFailed}} {
			job, err := b.store.CreateJob(t.Context(),
				catalog.NewJob{Policy: x.policy, Cutoff: time.Now(), Tasks: []catalog.TaskRange{{}}})
			if err != nil {
				t.Fatal(err)
			}
			if err := b.store.FinishJob(t.Context(), job.ID, job.Fence, x.end, "because"); err != nil {
				t.Fatal(err)
			}
			if err := b.store.RecordRowError(t.Context(),
				catalog.RowError{PolicyID: x.policy.ID, Key: `["7"]`, Reason: "a child"}); err != nil {
				t.Fatal(err)
			}
		}

		for _, query := range []string{
			"SHOW TTL HISTORY WHERE State = 'finished' LIMIT 1", "SHOW TTL HISTORY LIKE 'older' LIMIT 1",
			"SHOW TTL HISTORY FOR older LIMIT 1",
			"SHOW TTL ERRORS FOR older LIMIT 1", "SHOW TTL EVENTS WHERE Table_name = 'older' LIMIT 1",
		} {
			if got := rows(t, db, query); len(got) != 1 || !strings.Contains(got[0], "|older|") {
				t.Errorf("%s: got %q, want the line about older", query, got)
			}
		}
	})
}

// TestLimitCountsWhatMayBeSeen: nothing that an account may not see takes the place of what it may.
func TestLimitCountsWhatMayBeSeen(t *testing.T) {
	t.Parallel()
	onBed(t, func(t *testing.T, b *adminBed, _ *sql.DB) {
		mine, theirs := b.declare(t, "mine"), b.declare(t, "theirs")
		b.ended(t, mine, 3, "mine", time.Now().Add(-time.Hour))
		b.ended(t, theirs, longList+1, "theirs", time.Now())
		for i := range longList + 3 {
			p := &theirs
			if i < 3 {
				p = &mine
			}
			if err := b.store.RecordRowError(t.Context(),
				catalog.RowError{PolicyID: p.ID, Key: fmt.Sprintf(`["%d"]`, i), Reason: "a child"}); err != nil {
				t.Fatal(err)
			}
		}
		run(t, b.db, "INSERT INTO "+b.store.Schema()+".event (at, kind, schema_name, table_name, text)"+
			" SELECT UTC_TIMESTAMP(6), 'finished', schema_name, table_name, 'so' FROM "+b.store.Schema()+".job_history ORDER BY job_id")

		ann := b.client(t, b.server.Account(t, "ann", "SELECT ON "+b.schema+".mine"))
		for query, want := range map[string]int{
			"SHOW TTL HISTORY LIMIT 1": 1, "SHOW TTL HISTORY WHERE Rows_deleted > 0 LIMIT 2": 2, "SHOW TTL HISTORY": 3,
			"SHOW TTL HISTORY FROM " + b.schema + " LIMIT 2": 2,
			"SHOW TTL ERRORS LIMIT 1":                        1, "SHOW TTL ERRORS": 3,
			"SHOW TTL EVENTS LIMIT 1": 1, "SHOW TTL EVENTS LIMIT 3": 3,
		} {
			got := rows(t, ann, query)
			if len(got) != want {
				t.Errorf("%s: got %d lines, want %d: %q", query, len(got), want, got)
			}
			for _, line := range got {
				if !strings.Contains(line, "|mine|") {
					t.Errorf("%s: got %q, want lines about mine", query, line)
				}
			}
		}
	})
}

func TestPauseAndResume(t *testing.T) {
	t.Parallel()
	onBed(t, func(t *testing.T, b *adminBed, db *sql.DB) {
		b.declare(t, "orders")
		b.idleEngine(t)
		verdict := func() string {
			return rows(t, db, "SHOW TTL JOBS FOR orders WHERE Verdict LIKE '%'")[0]
		}
		run(t, db, "PAUSE TTL FOR orders UNTIL '2999-01-01'")
		if got := verdict(); !strings.Contains(got, "PAUSED (PAUSE TTL by ") ||
			!strings.Contains(got, "2999-01-01 00:00:00+00:00") {
			t.Errorf("after PAUSE … UNTIL: %s", got)
		}
		if got := rows(t, db, "SHOW TTL EVENTS FOR orders WHERE Kind = 'paused'")[0]; !strings.Contains(got,
			"until 2999-01-01 00:00:00+00:00") {
			t.Errorf("the event of PAUSE … UNTIL is %s", got)
		}

		run(t, db, "RESUME TTL FOR orders")
		if got := verdict(); !strings.Contains(got, "WAITING") {
			t.Errorf("after RESUME: %s", got)
		}

		run(t, db, "SET time_zone = '+00:00'")
		run(t, db, "PAUSE TTL FOR orders UNTIL '23:59:59'")
		if got := verdict(); !strings.Contains(got, "PAUSED (PAUSE TTL by ") ||
			!strings.Contains(got, "23:59:59+00:00") {
			t.Errorf("after PAUSE … UNTIL a time of day: %s", got)
		}

		run(t, db, "PAUSE TTL")
		if got := verdict(); !strings.Contains(got, "PAUSED (everything") {
			t.Errorf("after PAUSE of everything: %s", got)
		}

		run(t, db, "RESUME TTL")
		for query, want := range map[string]uint16{
			"PAUSE TTL FOR nothing":                   1146,
			"PAUSE TTL FOR orders UNTIL '1999-01-01'": ddl.CodeUnknownError,
			"PAUSE TTL FOR orders UNTIL 'tomorrow'":   ddl.CodeTruncated,
			"PAUSE TTL FOR orders UNTIL '25:00'":      ddl.CodeTruncated,
			"PAUSE TTL FOR orders UNTIL '31:10:01'":   ddl.CodeTruncated,
		} {
			if code, message := refused(t, db, query); code != want {
				t.Errorf("%s: error %d (%s), want %d", query, code, message, want)
			}
		}
	})
}

func TestPauseDoesNotWaitForALockedTable(t *testing.T) {
	t.Parallel()
	onBed(t, func(t *testing.T, b *adminBed, db *sql.DB) {
		b.declare(t, "orders")
		conn, err := b.db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()

		if _, err := conn.ExecContext(t.Context(), "LOCK TABLES "+b.schema+".orders WRITE"); err != nil {
			t.Fatal(err)
		}

		start := time.Now()
		run(t, b.client(t, nil), "PAUSE TTL FOR orders")
		if d := time.Since(start); d > 8*time.Second {
			t.Errorf("PAUSE took %v", d)
		}
		if _, err := conn.ExecContext(t.Context(), "UNLOCK TABLES"); err != nil {
			t.Fatal(err)
		}
	})
}

func TestRightsOfControl(t *testing.T) {
	t.Parallel()
	onBed(t, func(t *testing.T, b *adminBed, db *sql.DB) {
		b.declare(t, "orders")
		reader := b.client(t, b.server.Account(t, "reader", "SELECT ON "+b.schema+".orders"))
		for _, query := range []string{
			"RUN TTL JOB FOR orders", "APPROVE TTL JOB FOR orders", "CANCEL TTL JOB FOR orders",
			"PAUSE TTL FOR orders", "RESUME TTL FOR orders",
		} {
			if code, message := refused(t, reader, query); code != 1142 {
				t.Errorf("%s: error %d (%s), want 1142", query, code, message)
			}
		}

		for _, query := range []string{"PAUSE TTL", "RESUME TTL", "SET GLOBAL ttl_brake_rows = 1"} {
			if code, message := refused(t, reader, query); code != 1227 {
				t.Errorf("%s: error %d (%s), want 1227", query, code, message)
			}
		}

		deleter := b.client(t, b.server.Account(t, "deleter", "SELECT, DELETE ON "+b.schema+".orders"))
		for _, query := range []string{
			"APPROVE TTL JOB FOR orders", "CANCEL TTL JOB FOR orders", "PAUSE TTL FOR orders",
			"RESUME TTL FOR orders",
		} {
			run(t, deleter, query)
		}
	})
}

func TestStatementsDoNotEndATransaction(t *testing.T) {
	t.Parallel()
	onBed(t, func(t *testing.T, b *adminBed, db *sql.DB) {
		b.declare(t, "orders")
		run(t, db, "BEGIN")
		run(t, db, "INSERT INTO orders VALUES (1, NOW(), '')")
		rows(t, db, "SHOW TTL JOBS")
		run(t, db, "PAUSE TTL FOR orders")
		run(t, db, "RESUME TTL FOR orders")
		run(t, db, "APPROVE TTL JOB FOR orders")
		run(t, db, "SET GLOBAL ttl_brake_rows = 5")
		run(t, db, "ROLLBACK")

		if got := rows(t, db, "SELECT COUNT(*) FROM orders"); !slices.Equal(got, []string{"0"}) {
			t.Errorf("the row was committed: %q", got)
		}
	})
}

func TestTemporaryTablesHideNothing(t *testing.T) {
	t.Parallel()
	onBed(t, func(t *testing.T, b *adminBed, db *sql.DB) {
		b.declare(t, "orders")
		run(t, db, "CREATE TEMPORARY TABLE orders (id INT, at DATETIME)")
		if code, _ := refused(t, db, "APPROVE TTL JOB FOR orders"); code != ddl.CodeTemporaryTable {
			t.Errorf("error %d, want %d", code, ddl.CodeTemporaryTable)
		}
	})
}

func TestTrust(t *testing.T) {
	t.Parallel()
	onBed(t, func(t *testing.T, b *adminBed, db *sql.DB) {
		if err := b.store.Hold(t.Context(), "an unknown server"); err != nil {
			t.Fatal(err)
		}
		if got := rows(t, db, "SHOW TTL STATUS LIKE 'Halted_by'"); !slices.Equal(got,
			[]string{"Halted_by|the server is held: an unknown server"}) {
			t.Errorf("before: %q", got)
		}
		if code, _ := refused(t, b.client(t, b.server.Account(t, "nobody", "SELECT ON "+b.schema+".*")),
			"TRUST TTL SERVER"); code != 1227 {
			t.Errorf("without the right: error %d, want 1227", code)
		}

		found := rows(t, db, "TRUST TTL SERVER")
		statement, shown := strings.CutPrefix(found[len(found)-1], "To trust it|")
		if !slices.Contains(found, "Policies held|an unknown server") || !shown {
			t.Fatalf("got %q", found)
		}
		if got := rows(t, db, "SHOW TTL STATUS LIKE 'Deleting'"); !slices.Equal(got, []string{"Deleting|OFF"}) {
			t.Errorf("after looking: %q", got)
		}
		if code, message := refused(t, db, "TRUST TTL SERVER 'another'"); code != ddl.CodeUnknownError ||
			!strings.Contains(message, "not 'another'") {
			t.Errorf("another server: error %d (%s)", code, message)
		}
		if got := rows(t, db, statement); !slices.Contains(got, "Policies held|no") ||
			!slices.Contains(got, "Server trusted|yes") {
			t.Errorf("%s: got %q", statement, got)
		}
		if got := rows(t, db, "SHOW TTL STATUS LIKE 'Halted_by'"); strings.Contains(got[0], "unknown server") {
			t.Errorf("after: %q", got)
		}
	})
}

// TestEveryColumnCanBeAskedFor: by its bare name, whatever the server takes that for.
func TestEveryColumnCanBeAskedFor(t *testing.T) {
	t.Parallel()
	onBed(t, func(t *testing.T, b *adminBed, db *sql.DB) {
		b.declare(t, "orders")
		run(t, b.db, "ALTER TABLE "+b.schema+".orders PARTITION BY HASH (id) PARTITIONS 3")
		for _, list := range append(ddl.Lists(), ddl.ListPartitions) {
			of := " WHERE "
			if list == ddl.ListPartitions {
				of = " FOR orders WHERE "
			}
			for _, c := range report.Empty(list).Columns {
				query := "SHOW TTL " + string(list) + of + c.Name + " IS NULL OR NOT(" + c.Name + "<=>NULL)"
				if _, err := db.ExecContext(t.Context(), query); err != nil {
					t.Errorf("%s: %v", query, err)
				}
			}
		}
	})
}

// TestListsKnowAWindowAtOnce: no engine has looked at the job since the statement has answered.
func TestListsKnowAWindowAtOnce(t *testing.T) {
	t.Parallel()
	onBed(t, func(t *testing.T, b *adminBed, db *sql.DB) {
		b.idleEngine(t)
		job, err := b.store.CreateJob(t.Context(), catalog.NewJob{
			Policy: b.declare(t, "orders"), State: catalog.JobRunning, Cutoff: time.Now(), Tasks: []catalog.TaskRange{{}},
		})
		if err != nil {
			t.Fatal(err)
		}

		demand := func(verdict string) {
			t.Helper()
			query := "SHOW TTL JOBS WHERE Verdict LIKE '" + verdict + "%'"
			if got := rows(t, db, query); len(got) != 1 {
				t.Errorf("%s: got %q", query, rows(t, db, "SHOW TTL JOBS"))
			}
		}
		window := func(from, to int) string {
			now := time.Now().UTC()
			at := func(hours int) string { return now.Add(time.Duration(hours) * time.Hour).Format("15:04 +0000") }
			run(t, db, "SET GLOBAL ttl_job_schedule_window_start_time = '"+at(from)+
				"', ttl_job_schedule_window_end_time = '"+at(to)+"'")
			return now.Add(time.Duration(from) * time.Hour).Format("15:04-")
		}

		demand("KEEPING UP")
		demand("WAITING FOR WINDOW (outside %(" + window(2, 3))
		was := catalog.Waits{Why: "what was"}
		if err := b.store.SetJobState(t.Context(), job.ID, job.Fence, catalog.JobWaitingWindow, was); err != nil {
			t.Fatal(err)
		}
		demand("WAITING FOR WINDOW (outside %(" + window(4, 5))
		window(-1, 1)
		demand("KEEPING UP")
	})
}

// TestApprovalCoversWhatWasSeen: whoever says how many rows he has been shown allows those and a fifth more, whatever is
// due by then.
func TestApprovalCoversWhatWasSeen(t *testing.T) {
	t.Parallel()
	onBed(t, func(t *testing.T, b *adminBed, db *sql.DB) {
		b.declare(t, "orders")
		run(t, db, "INSERT INTO orders VALUES (1, '2001-01-01', ''), (2, '2001-01-01', '')")
		for statement, want := range map[string]string{
			"APPROVE TTL JOB FOR orders":              "up to 3 rows",
			"APPROVE TTL JOB FOR orders SEEN 50 ROWS": "up to 61 rows",
		} {
			run(t, db, statement)
			if got := rows(t, db, "SHOW WARNINGS"); len(got) != 1 || !strings.Contains(got[0], want) {
				t.Errorf("%s: got %q, want %s", statement, got, want)
			}
		}
		if code, message := refused(t, db, "APPROVE TTL JOB FOR orders SEEN 1 ROWS UP TO 2 ROWS"); code != ddl.CodeSyntax {
			t.Errorf("both: error %d (%s), want a syntax error", code, message)
		}
	})
}

// TestLimitOfNone: clients ask for no rows to learn of the columns.
func TestLimitOfNone(t *testing.T) {
	t.Parallel()
	onBed(t, func(t *testing.T, b *adminBed, db *sql.DB) {
		b.declare(t, "orders")
		for _, query := range []string{
			"SHOW TTL JOBS LIMIT 0", "SHOW TTL TABLES LIKE '%' LIMIT 0", "SHOW TTL HISTORY WHERE Rows_deleted >= 0 LIMIT 0",
			"SHOW TTL SESSIONS LIMIT 0", "SHOW TTL EVENTS WHERE Text <> 'x' LIMIT 0",
		} {
			stmt, err := db.PrepareContext(t.Context(), query)
			if err != nil {
				t.Fatalf("%s: %v", query, err)
			}
			for name, ask := range map[string]func() (*sql.Rows, error){
				"text":   func() (*sql.Rows, error) { return db.QueryContext(t.Context(), query) },
				"binary": func() (*sql.Rows, error) { return stmt.QueryContext(t.Context()) },
			} {
				wantNoRows(t, query+", "+name, ask)
			}
			_ = stmt.Close()
		}
	})
}

// wantNoRows fails the test unless an answer has columns, and no rows.
func wantNoRows(t *testing.T, name string, ask func() (*sql.Rows, error)) {
	t.Helper()
	found, err := ask()
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	defer found.Close()
	columns, err := found.Columns()
	if some := found.Next(); some || err != nil || found.Err() != nil || len(columns) < 4 {
		t.Errorf("%s: got rows %v, columns %q, %v, %v", name, some, columns, err, found.Err())
	}
}

// TestRefusalsAreShown: after an error of ours, SHOW WARNINGS has that, and nothing of the statement before.
func TestRefusalsAreShown(t *testing.T) {
	t.Parallel()
	onBed(t, func(t *testing.T, b *adminBed, db *sql.DB) {
		for query, want := range map[string]string{
			"SHOW TTL NOTHING":               "Error|1064|You have an error in your SQL syntax near 'NOTHING'",
			"CANCEL TTL JOB FOR nothing":     "Error|1146|Table '" + b.schema + ".nothing' doesn't exist",
			"SET GLOBAL ttl_no_such = 1":     "Error|1193|Unknown system variable 'ttl_no_such'",
			"SET GLOBAL ttl_stale_hold = ''": "Error|1231|Variable 'ttl_stale_hold' can't be set to the value of ''",
		} {
			for _, before := range []string{"SET GLOBAL ttl_delete_batch_size = 99999", "SELECT 1 + 'x'"} {
				rows(t, db, before)
				refused(t, db, query)
				for _, ask := range []string{"SHOW WARNINGS", "SHOW ERRORS"} {
					if got := rows(t, db, ask); len(got) != 1 || !strings.HasPrefix(got[0], want) {
						t.Errorf("%s after %s: %s is %q, want %q", query, before, ask, got, want)
					}
				}
			}
		}
		rows(t, db, "SELECT 1 + 'x'")
		if got := rows(t, db, "SHOW WARNINGS"); len(got) != 1 || !strings.HasPrefix(got[0], "Warning|1292|") {
			t.Errorf("after a statement of the server's: %q", got)
		}
	})
}
