package report

var jobsColumns = jobColumns(
	"Job_id", "Table_schema", "Table_name", "Partition_name", "State", "Reason", "Verdict", "Percent",
	"Rows_due", "Never_expire", "Rows_deleted", "Rows_refreshed", "Rows_failed", "Rows_skipped", "Rows_examined",
	"Rows_per_second",
	"Started", "Expected_end", "Finished", "Cutoff", "Oldest_expired", "Seconds_behind", "Inflow_per_second",
	"Outflow_per_second",
	"Plan", "Plan_reason", "Tasks", "Owner", "Started_by", "Note", "Version", "Rows_usual", "Rows_allowed",
)

// listJobs is SHOW TTL JOBS: for each table or partition its open job or, when there is none, the one
// that ended last. A table that has never had a job has a line for its verdict.
func listJobs(s *Snapshot) List {
	work := s.Work()
	lines := make([]jobLine, len(work))

	for i, w := range work {
		x := &lines[i]
		switch {
		case w.Job != nil:
			x.job, x.Progress, x.owner = w.Job, w.Progress(), s.NodeName(w.Job.Owner)
		case w.Last != nil:
			*x = endedLine(w.Last)
		}
		x.table, x.partition, x.work, x.held = w.Policy.Table, w.Partition, w, w.Held
	}

	l := List{Name: "ttl_jobs", Columns: jobsColumns, Like: "Table_name"}
	l.addJobs(lines...)
	return l
}
