package report

import (
	"strconv"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
)

// jobLine is a line of the lists of jobs: SHOW TTL JOBS, SHOW TTL HISTORY and RUN TTL JOB.
type jobLine struct {
	table     catalog.Table
	partition string
	job       *catalog.Job // nil for a table that never had one
	work      *Work        // nil if the job is shown by itself
	ended     time.Time    // zero while it is open
	runs      uint64       // jobs that the line stands for
	first     time.Time    // when the first of them began
	owner     string
	held      string // why a partition can have no job
	Progress
}

// endedLine is a job of the history.
func endedLine(j *catalog.EndedJob) jobLine {
	return jobLine{
		table: j.Table, partition: j.Partition, job: &j.Job, ended: j.FinishedAt, runs: j.Runs, first: j.FirstAt,
		Progress: EndedProgress(j),
	}
}

// jobField is a column of these lists and its value in a line.
type jobField struct {
	Type   Type
	Secret bool
	value  func(x *jobLine) any
	bare   bool // has a value without a job, too; of other fields that is NULL
}

// jobFields are all columns by their names.
var jobFields = map[string]jobField{
	"Table_schema":   {Type: Name, bare: true, value: func(x *jobLine) any { return x.table.Schema }},
	"Table_name":     {Type: Name, bare: true, value: func(x *jobLine) any { return x.table.Name }},
	"Partition_name": {Type: Name, bare: true, value: func(x *jobLine) any { return orNull(x.partition) }},
	"Verdict":        {Type: LongText, bare: true, value: func(x *jobLine) any { return Judge(x.work).String() }},
	"State":          {Type: Name, bare: true, value: stateOf},

	"Job_id":      {Type: Unsigned, value: func(x *jobLine) any { return x.job.ID }},
	"Reason":      {Type: LongText, bare: true, value: reasonOf},
	"Cutoff":      {Type: Time, value: func(x *jobLine) any { return x.job.Cutoff }},
	"Plan":        {Type: Name, value: func(x *jobLine) any { return x.job.Plan }},
	"Plan_reason": {Type: LongText, value: func(x *jobLine) any { return x.job.PlanReason }},
	"Tasks":       {Type: Name, value: func(x *jobLine) any { return tasks(x.job) }},
	"Owner":       {Type: Text, value: func(x *jobLine) any { return orNull(x.owner) }},
	"Started_by":  {Type: Text, value: func(x *jobLine) any { return x.job.StartedBy() }},
	"Note":        {Type: LongText, value: func(x *jobLine) any { return orNull(x.job.Note) }},

	"Runs":          {Type: Unsigned, value: func(x *jobLine) any { return x.runs }},
	"First_started": {Type: Time, value: func(x *jobLine) any { return moment(x.first) }},

	"Started":  {Type: Time, value: func(x *jobLine) any { return x.job.CreatedAt }},
	"Finished": {Type: Time, value: func(x *jobLine) any { return moment(x.ended) }},
	"Seconds": {
		Type:  Decimal,
		value: func(x *jobLine) any { return when(!x.ended.IsZero(), x.ended.Sub(x.job.CreatedAt).Seconds()) },
	},
	"Expected_end": {Type: Time, value: func(x *jobLine) any { return when(x.LeftKnown, x.work.Now.Add(x.Left)) }},

	"Rows_due":        {Type: Unsigned, value: func(x *jobLine) any { return number(x.job.EstimatedRows) }},
	"Rows_usual":      {Type: Unsigned, value: func(x *jobLine) any { return number(x.job.UsualRows) }},
	"Rows_allowed":    {Type: Unsigned, value: allowed},
	"Version":         {Type: Unsigned, value: func(x *jobLine) any { return x.job.Version }},
	"Rows_deleted":    {Type: Unsigned, value: func(x *jobLine) any { return x.job.Counts.Deleted }},
	"Rows_refreshed":  {Type: Unsigned, value: func(x *jobLine) any { return x.job.Counts.Refreshed }},
	"Never_expire":    {Type: Unsigned, value: func(x *jobLine) any { return number(x.job.NeverExpire()) }},
	"Rows_failed":     {Type: Unsigned, value: func(x *jobLine) any { return x.job.Counts.Failed }},
	"Rows_skipped":    {Type: Unsigned, value: func(x *jobLine) any { return x.job.Counts.Skipped }},
	"Rows_examined":   {Type: Unsigned, value: func(x *jobLine) any { return x.job.Counts.Examined }},
	"Rows_per_second": {Type: Decimal, value: func(x *jobLine) any { return x.RowsPerSecond }},
	"Percent":         {Type: Decimal, value: func(x *jobLine) any { return when(x.Known, x.Percent) }},

	"Inflow":         {Type: Unsigned, value: func(x *jobLine) any { return number(x.job.Inflow) }},
	"Oldest_expired": {Type: Time, Secret: true, value: func(x *jobLine) any { return moment(x.job.OldestExpiry) }},
	"Seconds_behind": {Type: Unsigned, value: func(x *jobLine) any { return behind(x.work) }},
	"Inflow_per_second": {
		Type:  Decimal,
		value: func(x *jobLine) any { f := FlowOf(x.work); return when(f.InflowKnown, f.Inflow) },
	},
	"Outflow_per_second": {
		Type:  Decimal,
		value: func(x *jobLine) any { f := FlowOf(x.work); return when(f.OutflowKnown, f.Outflow) },
	},
}

// jobColumns picks columns, in the order of the names.
func jobColumns(names ...string) []Column {
	columns := make([]Column, len(names))
	for i, n := range names {
		columns[i] = Column{Name: n, Type: jobFields[n].Type, Secret: jobFields[n].Secret}
	}
	return columns
}

// addJobs appends lines with what the list has columns for.
func (l *List) addJobs(lines ...jobLine) {
	fields := make([]jobField, len(l.Columns))
	for i, c := range l.Columns {
		fields[i] = jobFields[c.Name]
	}

	l.fill(len(lines), func(row *Row, n int) {
		x := &lines[n]
		row.Table = x.table
		for i := range fields {
			if f := &fields[i]; f.bare || x.job != nil {
				row.Values[i] = f.value(x)
			}
		}
	})
}

func stateOf(x *jobLine) any {
	switch {
	case x.job != nil:
		return string(x.job.State)
	case x.held != "":
		return "held"
	default:
		return "none"
	}
}

func reasonOf(x *jobLine) any {
	if x.job == nil {
		return orNull(x.held)
	}
	return x.job.Reason
}

// allowed is how many rows the job's run may delete. What the brake would have let go is no bound of a job that waits:
// it may delete no more than it has.
func allowed(x *jobLine) any {
	if x.job.State == catalog.JobNeedsApproval {
		return x.job.Counts.Deleted
	}
	return number(x.job.Bound)
}

// tasks is "finished/all".
func tasks(j *catalog.Job) string { return strconv.Itoa(j.TasksFinished) + "/" + strconv.Itoa(j.Tasks) }

func behind(w *Work) any {
	d, known := w.Behind()
	return when(known, uint64(d.Seconds()))
}
