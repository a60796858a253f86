package report

import "github.com/ttlproxy/ttlproxy/catalog"

var historyColumns = []Column{
	{Name: "Job_id", Type: Unsigned},
	{Name: "Table_schema", Type: Name},
	{Name: "Table_name", Type: Name},
	{Name: "Partition_name", Type: Name},
	{Name: "State", Type: Name},
	{Name: "Reason", Type: LongText},
	{Name: "Started", Type: Time},
	{Name: "Finished", Type: Time},
	{Name: "Seconds", Type: Decimal},
	{Name: "Cutoff", Type: Time},
	{Name: "Rows_due", Type: Unsigned},
	{Name: "Rows_deleted", Type: Unsigned},
	{Name: "Rows_refreshed", Type: Unsigned},
	{Name: "Rows_failed", Type: Unsigned},
	{Name: "Rows_skipped", Type: Unsigned},
	{Name: "Rows_examined", Type: Unsigned},
	{Name: "Rows_per_second", Type: Decimal},
	{Name: "Inflow", Type: Unsigned},
	{Name: "Oldest_expired", Type: Time, Secret: true},
	{Name: "Plan", Type: Name},
	{Name: "Plan_reason", Type: LongText},
	{Name: "Tasks", Type: Name},
	{Name: "Started_by", Type: Text},
	{Name: "Note", Type: LongText},
}

// History is SHOW TTL HISTORY: the jobs that have ended, the latest first.
func History(ended []catalog.EndedJob) List {
	l := List{Name: "ttl_history", Columns: historyColumns, Like: "Table_name"}
	for i := range ended {
		l.add(ended[i].Table, historyRow(&ended[i])...)
	}
	return l
}

func historyRow(j *catalog.EndedJob) []any {
	c := j.Counts
	return []any{
		j.ID, j.Table.Schema, j.Table.Name, orNull(j.Partition), string(j.State), j.Reason,
		j.CreatedAt, j.FinishedAt, j.FinishedAt.Sub(j.CreatedAt).Seconds(), j.Cutoff, number(j.EstimatedRows),
		c.Deleted, c.Refreshed, c.Failed, c.Skipped, c.Examined, EndedProgress(j).RowsPerSecond,
		number(j.Inflow), moment(j.OldestExpiry), j.Plan, j.PlanReason, tasks(&j.Job), startedBy(&j.Job), orNull(j.Note),
	}
}
