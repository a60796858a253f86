package ddl

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAdminStatements(t *testing.T) {
	t.Parallel()
	table := func(spelling string) Name {
		schema, name, qualified := strings.Cut(strings.ReplaceAll(spelling, "`", ""), ".")
		if !qualified {
			schema, name = "", schema
		}
		return Name{Schema: schema, Table: name}
	}

	pointer := func(spelling string) *Name { n := table(spelling); return &n }
	for sql, want := range map[string]Action{
		"RUN TTL JOB FOR t":                &RunJob{Table: table("t")},
		"run ttl job for `a`.`b` wait":     &RunJob{Table: table("`a`.`b`"), Wait: true},
		"/* now */ CANCEL TTL JOB FOR a.b": &CancelJob{Table: table("a.b")},
		"APPROVE TTL JOB FOR t":            &ApproveJob{Table: table("t")},
		"APPROVE TTL JOB FOR t VERSION 3 UP TO 8000 ROWS REASON 'old orders'": &ApproveJob{
			Table: table("t"), Version: 3, UpTo: new(uint64(8000)), Reason: "old orders",
		},
		"APPROVE TTL JOB FOR t VERSION 3 SEEN 8000 ROWS": &ApproveJob{
			Table: table("t"), Version: 3, Seen: new(uint64(8000)),
		},
		"approve ttl job for a.b reason '' up to 1 rows version 18446744073709551615": &ApproveJob{
			Table: table("a.b"), Version: 1<<64 - 1, UpTo: new(uint64(1)),
		},
		"APPROVE TTL JOB FOR t UP TO 1 ROW":   &ApproveJob{Table: table("t"), UpTo: new(uint64(1))},
		"APPROVE TTL JOB FOR t SEEN 1 row":    &ApproveJob{Table: table("t"), Seen: new(uint64(1))},
		"PAUSE TTL":                           &PauseTTL{},
		"PAUSE TTL FOR t":                     &PauseTTL{Table: pointer("t")},
		"PAUSE TTL UNTIL '2026-01-01 00:00'":  &PauseTTL{Until: new("2026-01-01 00:00")},
		"PAUSE TTL FOR t UNTIL '18:00'":       &PauseTTL{Table: pointer("t"), Until: new("18:00")},
		"PAUSE TTL UNTIL ''":                  &PauseTTL{Until: new("")},
		"RESUME TTL":                          &ResumeTTL{},
		"RESUME TTL FOR t":                    &ResumeTTL{Table: pointer("t")},
		"RESTORE TTL PARTITION p1 FOR t":      &RestorePartition{Partition: "p1", Table: table("t")},
		"restore ttl partition `P 1` for a.b": &RestorePartition{Partition: "P 1", Table: table("a.b")},
		"TRUST TTL SERVER":                    &TrustServer{},
		"TRUST TTL SERVER 'a@b:1'":            &TrustServer{Server: "a@b:1"},
		"SHOW TTL JOBS":                       &ShowTTL{List: ListJobs},
		"show ttl tables from `shop` like 's%'": &ShowTTL{
			List: ListTables, Schema: "shop",
			Filter: Filter{Like: "'s%'"},
		},
		"SHOW TTL JOBS FOR t FROM shop": &ShowTTL{List: ListJobs, Schema: "shop", Table: pointer("shop.t")},
		"SHOW TTL JOBS FOR `shop`.t IN shop": &ShowTTL{
			List: ListJobs, Schema: "shop", Table: pointer("shop.t"),
		},
		"SHOW TTL HISTORY FOR t WHERE a > (1) LIMIT 5": &ShowTTL{
			List: ListHistory, Table: pointer("t"),
			Filter: Filter{Where: "a > (1)"}, Limit: new(uint64(5)),
		},
		"SHOW TTL THROTTLE WHERE signal = 'signal' AND `window` > Window /* window */ OR throttle.WINDOW LIMIT 5": &ShowTTL{
			List:   ListThrottle,
			Filter: Filter{Where: "`signal` = 'signal' AND `window` > `Window` /* window */ OR throttle.`WINDOW`"},
			Limit:  new(uint64(5)),
		},
		"SHOW TTL JOBS LIMIT 0": &ShowTTL{List: ListJobs, Limit: new(uint64(0))},
		"SHOW TTL PARTITIONS FOR a.b LIKE 'p%' LIMIT 3": &ShowTTL{
			List: ListPartitions, Table: pointer("a.b"), Filter: Filter{Like: "'p%'"}, Limit: new(uint64(3)),
		},
		"EXPLAIN TTL t":                      &ExplainTTL{Table: table("t"), Word: "TTL"},
		"EXPLAIN FORMAT=JSON TTL a.b":        &ExplainTTL{Table: table("a.b"), JSON: true, Word: "TTL"},
		"SHOW GLOBAL VARIABLES LIKE '%ttl%'": &ShowVariables{Filter{Like: "'%ttl%'"}},
		"SHOW VARIABLES":                     &ShowVariables{},
		"SHOW WARNINGS":                      &ShowWarnings{},
		"show errors":                        &ShowWarnings{Errors: true},
		"SHOW ERRORS LIMIT 1":                nil,
		"PAUSE":                              nil,
		"RUN away":                           nil,
		"EXPLAIN ttl":                        nil,
		"SHOW TABLES":                        nil,
	} {
		st := parseOne(t, sql)
		if st.Err != nil {
			t.Errorf("%s: %v", sql, st.Err)
		}
		if diff := cmp.Diff(want, st.Action); diff != "" {
			t.Errorf("%s (-want +got):\n%s", sql, diff)
		}
	}
}

func TestAdminStatementsShowTheirGrammar(t *testing.T) {
	t.Parallel()
	for sql, usage := range map[string]string{
		"SHOW TTL":                                   usageShow + ", or " + usageWhole + ", or " + usagePartitions,
		"SHOW TTL JOB":                               usageShow + ", or " + usageWhole + ", or " + usagePartitions,
		"SHOW TTL PARTITION FOR t":                   usageShow + ", or " + usageWhole + ", or " + usagePartitions,
		"SHOW TTL JOBS FOR":                          usageShow,
		"SHOW TTL JOBS LIMIT -1":                     usageShow,
		"SHOW TTL JOBS LIKE":                         usageShow,
		"SHOW TTL JOBS WHERE":                        usageShow,
		"SHOW TTL JOBS WHERE 1) UNION SELECT (1":     "near ') UNION SELECT (1' at line 1; the right syntax is: " + usageShow,
		"SHOW TTL STATUS WHERE (1)) OR ((2) LIMIT 1": usageWhole,
		"SHOW TTL JOBS WHERE )":                      usageShow,
		"SHOW TTL JOBS FOR a.t FROM b":               "near 'b' at line 1; the right syntax is: " + usageShow,
		"SHOW TTL JOBS FOR a.t FROM b LIKE 'x'":      usageShow,
		"SHOW TTL JOBS WHERE LIMIT 1":                usageShow,
		"SHOW TTL STATUS FOR t":                      "near 'FOR t' at line 1; the right syntax is: " + usageWhole,
		"SHOW TTL VARIABLES FROM shop":               usageWhole,
		"SHOW TTL NODES FOR t":                       usageWhole,
		"SHOW TTL THROTTLE FOR t LIKE 'x'":           usageWhole,
		"SHOW TTL SESSIONS IN shop":                  usageWhole,
		"SHOW TTL NODES LIMIT x":                     usageWhole,
		"SHOW TTL PARTITIONS":                        usagePartitions,
		"SHOW TTL PARTITIONS FROM shop":              usagePartitions,
		"SHOW TTL PARTITIONS FOR t FROM shop":        usagePartitions,
		"EXPLAIN FORMAT=XML TTL t":                   usageExplain,
		"EXPLAIN TTL t u":                            usageExplain,
		"RUN TTL JOBS FOR t":                         usageRun,
		"RUN TTL JOB FOR t NOW":                      usageRun,
		"CANCEL TTL JOB":                             usageCancel,
		"PAUSE TTL FOR":                              usagePause,
		"PAUSE TTL UNTIL tomorrow":                   usagePause,
		"RESUME TTL t":                               usageResume,
		"APPROVE TTL FOR t":                          usageApprove,
		"APPROVE TTL JOB FOR t VERSION":              usageApprove,
		"APPROVE TTL JOB FOR t VERSION 0":            usageApprove,
		"APPROVE TTL JOB FOR t UP TO 5":              usageApprove,
		"APPROVE TTL JOB FOR t UP TO x ROWS":         usageApprove,
		"APPROVE TTL JOB FOR t VERSION 1 VERSION 2":  usageApprove,
		"APPROVE TTL JOB FOR t REASON because":       usageApprove,
		"RESTORE TTL PARTITION":                      usageRestore,
		"RESTORE TTL PARTITION p1":                   usageRestore,
		"RESTORE TTL PARTITION FOR t":                usageRestore,
		"RESTORE TTL PARTITION 'p1' FOR t":           usageRestore,
		"RESTORE TTL PARTITION p1, p2 FOR t":         usageRestore,
		"TRUST TTL":                                  usageTrust,
		"TRUST TTL SERVER a":                         usageTrust,
		"EXPLAIN TTL ALTER VIEW v AS TABLE":          usageExplain,
	} {
		st := parseOne(t, sql)
		if st.Err == nil || st.Err.Code != CodeSyntax || !strings.Contains(st.Err.Message, usage) {
			t.Errorf("%s: got %v, want error %d with %q", sql, st.Err, CodeSyntax, usage)
		}
	}
}

func TestExplainOfAnAlter(t *testing.T) {
	t.Parallel()
	st := parseOne(t, "EXPLAIN TTL ALTER TABLE s.t TTL = c + INTERVAL 1 DAY TTL_ENABLE = 'OFF'")
	a, ok := st.Action.(*ExplainTTL)
	if !ok || a.Alter == nil || a.Alter.Clause == nil || a.Table != (Name{Schema: "s", Table: "t"}) {
		t.Fatalf("got %+v, error %v", st.Action, st.Err)
	}
}

func TestSetTellsOurVariablesFromTheServers(t *testing.T) {
	t.Parallel()
	for sql, want := range map[string]string{
		"SET GLOBAL ttl_job_enable = OFF":             "GLOBAL ttl_job_enable=OFF word",
		"SET @@global.tidb_ttl_running_tasks = 1 + 1": "GLOBAL tidb_ttl_running_tasks=1 + 1",
		"SET ttl_job_enable = 'ON'":                   " ttl_job_enable='ON'",
		"SET SESSION TTL_JOB_ENABLE := 1":             "SESSION ttl_job_enable=1",
		"SET GLOBAL ttl_brake_rows = 1, sort_buffer_size = f(1, 2), max_x=2": "GLOBAL ttl_brake_rows=1 | SET " +
			"GLOBAL sort_buffer_size = f(1, 2), GLOBAL max_x=2",
		"SET @a = 1, @@x.y = 2, PERSIST z = 3, ttl_a = 4, SESSION ttl_b = '5'": "GLOBAL ttl_a=4 | SESSION " +
			"ttl_b='5' | SET @a = 1, @@x.y = 2, PERSIST z = 3",
		"SET GLOBAL ttl_a = TRUE, NAMES utf8mb4 COLLATE x, @@persist_only.ttl_b=2": "GLOBAL ttl_a=TRUE | GLOBAL " +
			"ttl_b=2 | SET NAMES utf8mb4 COLLATE x",
		"SET GLOBAL sort_buffer_size = 4": "",
		"SET NAMES utf8mb4":               "",
		"SET @ttl_x = 1":                  "",
	} {
		var got []string
		if a, ok := parseOne(t, sql).Action.(*SetVariables); ok {
			for _, v := range a.Ours {
				s := fmt.Sprintf("%s %s=%s", v.Scope, v.Name, v.Value)
				if v.Word {
					s += " word"
				}
				got = append(got, s)
			}
			if a.Rest != "" {
				got = append(got, a.Rest)
			}
		}

		if got := strings.Join(got, " | "); got != want {
			t.Errorf("%s:\n got %s\nwant %s", sql, got, want)
		}
	}
}

func TestReferences(t *testing.T) {
	t.Parallel()
	for sql, want := range map[string]string{
		"SELECT @@ttl_job_enable":                             "SELECT <var item>",
		"SELECT 1, @@global.tidb_ttl_running_tasks FROM dual": "SELECT 1, <var item> FROM dual",
		"SELECT @@ttl_job_enable x, (SELECT @@ttl_brake_rows)": "SELECT <var> x, (SELECT <var item>) " +
			"<as (SELECT @@ttl_brake_rows)>",
		"SELECT CONCAT(@@ttl_job_enable, 'x') WHERE @@ttl_a = 1": "SELECT CONCAT(<var>, 'x') " +
			"<as CONCAT(@@ttl_job_enable, 'x')> WHERE <var> = 1",
		"SELECT @@TTL_batch_target_ms+1": "SELECT <var>+1 <as @@TTL_batch_target_ms+1>",
		"SELECT DISTINCT 1 + @@ttl_brake_rows, a, 2 FROM t": "SELECT DISTINCT 1 + <var> " +
			"<as 1 + @@ttl_brake_rows>, a, 2 FROM t",
		"SELECT @@ttl_brake_rows + t.a, @@ttl_brake_rows = 'a'": "SELECT <var> + t.a <as @@ttl_brake_rows + t.a>, " +
			"<var> = 'a' <as @@ttl_brake_rows = 'a'>",
		"SELECT @@ttl_brake_rows+1 a, (@@ttl_brake_rows) `b`, @@ttl_brake_rows 'c', 1 AS d": "SELECT <var>+1 a, (<var>) `b`, " +
			"<var> 'c', 1 AS d",
		"SELECT 1 FROM (SELECT (@@ttl_brake_rows)) AS x HAVING @@ttl_brake_rows > 1": "SELECT 1 FROM (SELECT (<var>) " +
			"<as (@@ttl_brake_rows)>) AS x HAVING <var> > 1",
		"SELECT (SELECT COUNT(*) FROM mysql.tidb_ttl_task), 1": "SELECT (SELECT COUNT(*) FROM <mysql table>) " +
			"<as (SELECT COUNT(*) FROM mysql.tidb_ttl_task)>, 1",
		"INSERT INTO t SELECT @@ttl_brake_rows + 1 ON DUPLICATE KEY UPDATE a = 1": "INSERT INTO t SELECT <var> + 1 " +
			"<as @@ttl_brake_rows + 1> ON DUPLICATE KEY UPDATE a = 1",
		"SELECT @@ttl_brake_rows + 1 FETCH FIRST 1 ROW ONLY":                                        "SELECT <var> + 1 <as @@ttl_brake_rows + 1> FETCH FIRST 1 ROW ONLY",
		"SELECT CASE WHEN @@ttl_brake_rows THEN 1 END":                                              "SELECT CASE WHEN <var> THEN 1 END",
		"SET @a = @@ttl_job_enable":                                                                 "SET @a = <var>",
		"SELECT * FROM mysql.tidb_ttl_task":                                                         "SELECT * FROM <mysql table>",
		"SELECT * FROM `mysql`.`tidb_ttl_task` AS t":                                                "SELECT * FROM <mysql table aliased> AS t",
		"SELECT * FROM a, tidb_ttl_task t JOIN tidb_ttl_job_history":                                "SELECT * FROM a, <table aliased> t JOIN <table>",
		"SELECT mysql.tidb_ttl_task.job_id FROM mysql.tidb_ttl_task WHERE tidb_ttl_task.job_id = 1": "SELECT <column>.job_id FROM <mysql table> WHERE tidb_ttl_task.job_id = 1",
		"SELECT tidb_ttl_task FROM other.tidb_ttl_task":                                             "SELECT tidb_ttl_task FROM other.tidb_ttl_task",
		"SELECT 'mysql.tidb_ttl_task'":                                                              "SELECT 'mysql.tidb_ttl_task'",
	} {
		st := parseOne(t, sql)
		got := sql
		if a, ok := st.Action.(*ReadNames); ok {
			got = st.Substitute(a.References, func(ref Reference, _ string) string { return mark(ref) })
		}
		if got != want {
			t.Errorf("%s:\n got %s\nwant %s", sql, got, want)
		}
	}
}

func mark(ref Reference) string {
	switch {
	case ref.Column != "":
		return " <as " + ref.Column + ">"
	case ref.Variable != "" && ref.Item:
		return "<var item>"
	case ref.Variable != "":
		return "<var>"
	case ref.Prefix:
		return "<column>"
	}

	s := "table"
	if ref.Qualified {
		s = "mysql " + s
	}
	if ref.Aliased {
		s += " aliased"
	}

	return "<" + s + ">"
}

// parseOne parses a text that holds one statement.
func parseOne(t *testing.T, sql string) *Statement {
	t.Helper()
	all := Parse(sql, Mode{})
	if len(all) != 1 {
		t.Fatalf("%s: %d statements, want 1", sql, len(all))
	}
	return all[0]
}
