package report

import (
	"strconv"

	"github.com/ttlproxy/ttlproxy/catalog"
)

var jobColumns = []Column{
	{Name: "Job_id", Type: Unsigned},
	{Name: "Table_schema", Type: Name},
	{Name: "Table_name", Type: Name},
	{Name: "Partition_name", Type: Name},
	{Name: "State", Type: Name},
	{Name: "Reason", Type: LongText},
	{Name: "Verdict", Type: LongText},
	{Name: "Percent", Type: Decimal},
	{Name: "Rows_due", Type: Unsigned},
	{Name: "Rows_deleted", Type: Unsigned},
	{Name: "Rows_refreshed", Type: Unsigned},
	{Name: "Rows_failed", Type: Unsigned},
	{Name: "Rows_skipped", Type: Unsigned},
	{Name: "Rows_examined", Type: Unsigned},
	{Name: "Rows_per_second", Type: Decimal},
	{Name: "Started", Type: Time},
	{Name: "Expected_end", Type: Time},
	{Name: "Finished", Type: Time},
	{Name: "Cutoff", Type: Time},
	{Name: "Oldest_expired", Type: Time, Secret: true},
	{Name: "Seconds_behind", Type: Unsigned},
	{Name: "Inflow_per_second", Type: Decimal},
	{Name: "Outflow_per_second", Type: Decimal},
	{Name: "Plan", Type: Name},
	{Name: "Plan_reason", Type: LongText},
	{Name: "Tasks", Type: Name},
	{Name: "Owner", Type: Text},
	{Name: "Started_by", Type: Text},
}

// Jobs is SHOW TTL JOBS: for each table or partition its open job or, when there is none, the one that ended last.
func Jobs(s *Snapshot) List {
	l := List{Name: "ttl_jobs", Columns: jobColumns, Like: "Table_name"}
	for _, w := range s.Work() {
		switch {
		case w.Job != nil:
			l.add(w.Policy.Table, openJob(s, w)...)
		case w.Last != nil:
			l.add(w.Policy.Table, endedJob(s, w)...)
		default:
			l.add(w.Policy.Table, noJob(w)...)
		}
	}
	return l
}

// noJob is the line of a table that never had a job. It is there for its verdict.
func noJob(w *Work) []any {
	row := make([]any, len(jobColumns))
	row[1], row[2], row[3] = w.Policy.Table.Schema, w.Policy.Table.Name, orNull(w.Partition)
	row[4], row[5], row[6] = "none", "", Judge(w).String()
	return row
}

func openJob(s *Snapshot, w *Work) []any {
	p := ProgressOf(w.Job, s.Now)
	row := jobRow(s, w, w.Job, p)
	if p.LeftKnown {
		row[16] = s.Now.Add(p.Left)
	}
	return row
}

func endedJob(s *Snapshot, w *Work) []any {
	row := jobRow(s, w, &w.Last.Job, EndedProgress(w.Last))
	row[17] = w.Last.FinishedAt
	return row
}

func jobRow(s *Snapshot, w *Work, j *catalog.Job, p Progress) []any {
	f, c := FlowOf(w), j.Counts
	return []any{
		j.ID, j.Table.Schema, j.Table.Name, orNull(j.Partition), string(j.State), j.Reason, Judge(w).String(),
		when(p.Known, p.Percent), number(j.EstimatedRows), c.Deleted, c.Refreshed, c.Failed, c.Skipped, c.Examined, p.RowsPerSecond,
		j.CreatedAt, nil, nil, j.Cutoff, moment(w.Oldest()), behind(w),
		when(f.InflowKnown, f.Inflow), when(f.OutflowKnown, f.Outflow),
		j.Plan, j.PlanReason, tasks(j), orNull(s.NodeName(j.Owner)), startedBy(j),
	}
}

// tasks is "finished/all".
func tasks(j *catalog.Job) string { return strconv.Itoa(j.TasksFinished) + "/" + strconv.Itoa(j.Tasks) }

// startedBy is the account that ran the job, or "schedule".
func startedBy(j *catalog.Job) string {
	if j.Trigger == catalog.TriggerManual && j.TriggeredBy != "" {
		return j.TriggeredBy
	}
	return string(j.Trigger)
}

func behind(w *Work) any {
	d, known := w.Behind()
	return when(known, uint64(d.Seconds()))
}
