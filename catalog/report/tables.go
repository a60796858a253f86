package report

import (
	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/ddl"
)

var tableColumns = []Column{
	{Name: "Table_schema", Type: Name},
	{Name: "Table_name", Type: Name},
	{Name: "Partition_name", Type: Name},
	{Name: "Ttl", Type: LongText},
	{Name: "Ttl_enable", Type: Name},
	{Name: "Ttl_job_interval", Type: Text},
	{Name: "Schedule", Type: LongText},
	{Name: "Window", Type: LongText},
	{Name: "Max_lag", Type: LongText},
	{Name: "Delete_rate", Type: LongText},
	{Name: "Batch_size", Type: LongText},
	{Name: "Other_options", Type: LongText},
	{Name: "State", Type: Name},
	{Name: "Reason", Type: LongText},
	{Name: "Verdict", Type: LongText},
	{Name: "Time_zone", Type: Name},
	{Name: "Time_zone_from", Type: Name},
	{Name: "Next_run", Type: Time},
	{Name: "Last_state", Type: Name},
	{Name: "Last_started", Type: Time},
	{Name: "Last_finished", Type: Time},
	{Name: "Last_deleted", Type: Unsigned},
	{Name: "Oldest_expired", Type: Time, Secret: true},
	{Name: "Seconds_behind", Type: Unsigned},
	{Name: "Processed_watermark", Type: Time},
	{Name: "Undeletable_rows", Type: Unsigned},
	{Name: "Oldest_undeletable", Type: Time, Secret: true},
	{Name: "Never_expire", Type: Unsigned},
	{Name: "Plan", Type: Name},
	{Name: "Plan_reason", Type: LongText},
	{Name: "Declared_by", Type: Text},
	{Name: "Changed", Type: Time},
	{Name: "Version", Type: Unsigned},
}

// listTables is SHOW TTL TABLES: the policies, and what became of them.
func listTables(s *Snapshot) List {
	l := List{Name: "ttl_tables", Columns: tableColumns, Like: "Table_name"}
	work := s.Work()
	l.fill(len(work), func(row *Row, n int) {
		row.Table = work[n].Policy.Table
		row.Values = appendTable(row.Values[:0], work[n])
	})
	return l
}

// appendTable appends the values of a row.
func appendTable(values []any, w *Work) []any {
	p := w.Policy
	plan, why := lastPlan(w)
	last := lastResult(w)
	option := func(name string) any { return orNull(p.Rule.Options[name]) }

	return append(values,
		p.Table.Schema, p.Table.Name, orNull(w.Partition),
		p.Rule.Expiry(), onOff(p.Rule.Enabled), p.Rule.JobInterval,
		p.Rule.Schedule(p.Terms.Timing), option(ddl.OptionWindow), option(ddl.OptionMaxLag),
		option(ddl.OptionDeleteRate), option(ddl.OptionBatchSize), orNull(p.Rule.OtherOptions()),
		string(p.State), Reason(p), Judge(w).String(),
		orNull(p.Rule.TimeZone), zoneSource(p.Rule),
		moment(w.NextRun()), last.state, last.started, last.finished, last.deleted,
		moment(w.Oldest()), behind(w), moment(w.Watermark()), number(w.Undeletable()),
		moment(w.OldestUndeletable()), number(w.NeverExpire()), plan, why,
		p.Owner, p.ChangedAt, p.Version,
	)
}

// Reason says why a policy is in its state, why its rule is not carried out in any, or why it waits
// for approval whatever the brake says.
func Reason(p *catalog.Policy) string {
	switch {
	case p.Reason != "":
		return p.Reason
	case p.Unread != "":
		return p.Unread
	case p.Approval.Required && !p.Approved():
		return p.Approval.Reason
	default:
		return ""
	}
}

func zoneSource(r catalog.Rule) any {
	return when(r.TimeZone != "", string(r.ZoneSource))
}

func lastPlan(w *Work) (name, reason any) {
	if j := w.latest(); j != nil && j.Plan != "" {
		return j.Plan, j.PlanReason
	}
	return nil, nil
}

// lastJob is what is shown of the job that ended last; all of it is NULL if there was none.
type lastJob struct{ state, started, finished, deleted any }

func lastResult(w *Work) lastJob {
	if w.Last == nil {
		return lastJob{}
	}
	return lastJob{string(w.Last.State), w.Last.CreatedAt, w.Last.FinishedAt, w.Last.Counts.Deleted}
}
