package report

import "github.com/ttlproxy/ttlproxy/catalog"

var historyColumns = jobColumns(
	"Job_id", "Table_schema", "Table_name", "Partition_name", "State", "Reason", "Started", "Finished", "Seconds",
	"Cutoff",
	"Rows_due", "Never_expire", "Rows_deleted", "Rows_refreshed", "Rows_failed", "Rows_skipped", "Rows_examined",
	"Rows_per_second", "Inflow", "Oldest_expired", "Plan", "Plan_reason", "Tasks", "Started_by", "Note", "Runs",
	"First_started",
)

// listHistory is SHOW TTL HISTORY: the jobs that have ended, the latest first. Successive ones that
// found nothing, or began soon one after the other, are one line.
func listHistory(ended []catalog.EndedJob) List {
	l := List{Name: "ttl_history", Columns: historyColumns, Like: "Table_name"}
	l.addJobs(endedLines(ended)...)
	return l
}

var runColumns = jobColumns(
	"Job_id", "Table_schema", "Table_name", "Partition_name", "State", "Reason", "Cutoff",
	"Rows_due", "Rows_deleted", "Rows_refreshed", "Rows_failed", "Rows_skipped", "Seconds", "Plan", "Note",
)

// Runs is what RUN TTL JOB for a table answers: the jobs it started or joined, open (without a time of
// ending) or ended, and the partitions that have none because they are held.
func Runs(table catalog.Table, jobs []catalog.EndedJob, held []catalog.HeldPlace) List {
	l := List{Name: "ttl_jobs", Columns: runColumns, Like: "Table_name"}
	lines := endedLines(jobs)
	for _, h := range held {
		lines = append(lines, jobLine{table: table, partition: h.Partition, held: h.Why})
	}
	l.addJobs(lines...)
	return l
}

func endedLines(jobs []catalog.EndedJob) []jobLine {
	lines := make([]jobLine, len(jobs))
	for i := range jobs {
		lines[i] = endedLine(&jobs[i])
	}
	return lines
}
