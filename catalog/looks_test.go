package catalog

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"
)

// effort is what statements of one session have cost the server, as it counts.
func effort(t *testing.T, conn *sql.Conn, query string) map[string]int {
	t.Helper()
	exec := func(statement string) {
		t.Helper()
		rows, err := conn.QueryContext(t.Context(), statement)
		if err != nil {
			t.Fatal(err)
		}

		defer rows.Close()

		for rows.Next() {
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
	}

	exec("FLUSH STATUS")
	exec(query)

	rows, err := conn.QueryContext(t.Context(),
		"SHOW SESSION STATUS WHERE Variable_name IN ('Handler_read_key', 'Handler_read_next', "+
			"'Handler_read_rnd', 'Handler_read_rnd_next', 'Handler_read_first', 'Created_tmp_tables', 'Sort_rows')")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()

	cost := map[string]int{}
	for rows.Next() {
		var name string
		var n int
		if err := rows.Scan(&name, &n); err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(name, "Handler") {
			name = "reads"
		}

		cost[name] += n
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}

	return cost
}

// TestLooksDoNotGrowWithTheHistory counts what the server reads for those who look: nothing more
// when the history is long, and nothing that has to be sorted on the way.
func TestLooksDoNotGrowWithTheHistory(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, b *bench) {
		var ids []string
		for _, name := range []string{"a", "b", "c"} {
			p := b.declare(t, b.table(t, name))
			ids = append(ids, fmt.Sprint(p.ID))
			b.run(t, p, time.Date(2026, 5, 10, 12, 0, 0, 0, time.UTC),
				map[string]ended{"": {JobFinished, 3, TriggerSchedule}})
		}

		conn, err := b.db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()

		looks := map[string]string{
			"last jobs": fmt.Sprintf(selectLastJobs, strings.Join(ids, ", ")), "schedules": selectSchedules,
			"stamps of policies": selectPolicyStamps, "stamps of schedules": selectScheduleStamps, "pauses": selectPauses,
			"policies": selectPolicies,
			"jobs":     selectJobs, "history": strings.Replace(fmt.Sprintf(selectTableHistory, ""), "?", "'"+b.user+"'", 1),
		}
		looks["history"] = strings.Replace(strings.Replace(looks["history"], "?", "'a'", 1), "?", "1", 1)
		before := map[string]map[string]int{}
		for what, query := range looks {
			before[what] = effort(t, conn, b.sql(query))
			if what != "jobs" && (before[what]["Sort_rows"] > 0 && what != "history" ||
				before[what]["Created_tmp_tables"] > 0 && what == "policies") {
				t.Errorf("%s: the server sorts: %v", what, before[what])
			}
		}

		b.exec(t, `INSERT INTO {job_history} (job_id, policy_id, policy_version, schema_name, table_name, state, reason, cutoff, trigger_kind, plan,
 plan_reason, tasks, tasks_finished, examined, deleted, refreshed, failed, skipped, note, created_at, finished_at)
 WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 500)
 SELECT job_id + 1000 * n, policy_id, policy_version, schema_name, table_name, state, reason, cutoff, trigger_kind, plan, plan_reason, tasks,
 tasks_finished, examined, deleted, refreshed, failed, skipped, note, created_at - INTERVAL n HOUR, finished_at - INTERVAL n HOUR
 FROM {job_history}, n`)

		for what, query := range looks {
			after := effort(t, conn, b.sql(query))
			if after["reads"] > before[what]["reads"]+3 {
				t.Errorf("%s: the server reads %d rows for 1,500 lines of the history, and %d for 3",
					what, after["reads"], before[what]["reads"])
			}
		}
	})
}
