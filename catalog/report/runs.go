package report

import "github.com/ttlproxy/ttlproxy/catalog"

var runColumns = []Column{
	{Name: "Job_id", Type: Unsigned},
	{Name: "Table_schema", Type: Name},
	{Name: "Table_name", Type: Name},
	{Name: "Partition_name", Type: Name},
	{Name: "State", Type: Name},
	{Name: "Reason", Type: LongText},
	{Name: "Cutoff", Type: Time},
	{Name: "Rows_due", Type: Unsigned},
	{Name: "Rows_deleted", Type: Unsigned},
	{Name: "Rows_refreshed", Type: Unsigned},
	{Name: "Rows_failed", Type: Unsigned},
	{Name: "Rows_skipped", Type: Unsigned},
	{Name: "Seconds", Type: Decimal},
	{Name: "Plan", Type: Name},
	{Name: "Note", Type: LongText},
}

// Runs is what RUN TTL JOB answers: the jobs it started, or joined.
func Runs(jobs []catalog.EndedJob) List {
	l := List{Name: "ttl_jobs", Columns: runColumns, Like: "Table_name"}
	for i := range jobs {
		j := &jobs[i]
		ended := !j.FinishedAt.IsZero()
		l.add(j.Table, j.ID, j.Table.Schema, j.Table.Name, orNull(j.Partition), string(j.State), j.Reason, j.Cutoff, number(j.EstimatedRows),
			j.Counts.Deleted, j.Counts.Refreshed, j.Counts.Failed, j.Counts.Skipped,
			when(ended, j.FinishedAt.Sub(j.CreatedAt).Seconds()), j.Plan, orNull(j.Note))
	}
	return l
}
