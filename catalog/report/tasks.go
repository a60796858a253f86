package report

import "github.com/ttlproxy/ttlproxy/catalog"

var taskColumns = []Column{
	{Name: "Job_id", Type: Unsigned},
	{Name: "Task", Type: Integer},
	{Name: "Table_schema", Type: Name},
	{Name: "Table_name", Type: Name},
	{Name: "Partition_name", Type: Name},
	{Name: "State", Type: Name},
	{Name: "Since", Type: Time},
	{Name: "Owner", Type: Text},
	{Name: "Connection", Type: Unsigned},
	{Name: "Range_start", Type: LongText, Secret: true, Raw: true},
	{Name: "Range_end", Type: LongText, Secret: true, Raw: true},
	{Name: "Position", Type: LongText, Secret: true, Raw: true},
	{Name: "Rows_deleted", Type: Unsigned},
	{Name: "Rows_refreshed", Type: Unsigned},
	{Name: "Rows_failed", Type: Unsigned},
	{Name: "Rows_skipped", Type: Unsigned},
	{Name: "Rows_examined", Type: Unsigned},
	{Name: "Error", Type: LongText},
}

// listTasks is SHOW TTL TASKS: the key ranges of the open jobs.
func listTasks(s *Snapshot, tasks []catalog.Task) List {
	l := List{Name: "ttl_tasks", Columns: taskColumns, Like: "Table_name"}
	jobs := make(map[uint64]*catalog.Job, len(s.Jobs))
	for i := range s.Jobs {
		jobs[s.Jobs[i].ID] = &s.Jobs[i]
	}
	for i := range tasks {
		if j := jobs[tasks[i].JobID]; j != nil {
			l.add(j.Table, taskRow(s, j, &tasks[i])...)
		}
	}
	return l
}

func taskRow(s *Snapshot, j *catalog.Job, t *catalog.Task) []any {
	c := t.Counts
	return []any{
		t.JobID, int64(t.Seq), j.Table.Schema, j.Table.Name, orNull(j.Partition), string(t.State), t.StateAt,
		orNull(s.NodeName(t.Owner)), when(t.Connection != 0, t.Connection),
		orNull(t.RangeStart), orNull(t.RangeEnd), orNull(t.Cursor),
		c.Deleted, c.Refreshed, c.Failed, c.Skipped, c.Examined, orNull(t.Error),
	}
}
