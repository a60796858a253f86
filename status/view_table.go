package status

import (
	"maps"
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/report"
)

// tableView is a table with a policy, or one partition of it.
type tableView struct {
	Schema       string              `json:"schema"`
	Table        string              `json:"table"`
	Partition    string              `json:"partition"`
	TTL          string              `json:"ttl"` // the clause
	Column       string              `json:"column"`
	Interval     string              `json:"interval"`
	JobInterval  string              `json:"job_interval"`
	Schedule     string              `json:"schedule"` // when jobs start, in words
	Options      map[string]string   `json:"options"`  // everything in the clause besides the interval
	Enabled      bool                `json:"enabled"`
	State        catalog.PolicyState `json:"state"`
	Reason       string              `json:"reason"` // for the state, or why it waits for approval
	Verdict      verdictView         `json:"verdict"`
	TimeZone     string              `json:"time_zone"`
	TimeZoneFrom string              `json:"time_zone_from"`
	Behind       *float64            `json:"behind_seconds"`      // how long the oldest row still there has been due
	Watermark    *time.Time          `json:"processed_watermark"` // all rows that had expired by then are gone
	Undeletable  *uint64             `json:"undeletable_rows"`    // expired, and something objects or needs them
	OldestStuck  *time.Time          `json:"oldest_undeletable"`  // when the first of them expired; secret
	Never        *uint64             `json:"never_expire"`        // without a date, or with an implausible one
	Goal         float64             `json:"goal_seconds"`        // how long ago rows may have been processed
	Inflow       *float64            `json:"inflow"`              // rows per second that become due
	Outflow      *float64            `json:"outflow"`             // rows per second that are deleted while a job runs
	Plan         string              `json:"plan"`
	PlanReason   string              `json:"plan_reason"`
	Job          *uint64             `json:"job"` // the open one
	Last         *lastView           `json:"last"`
	NextRun      *time.Time          `json:"next_run"`
	Paused       *pauseView          `json:"paused"`
	Owner        string              `json:"owner"`
	Changed      time.Time           `json:"changed"`
	Version      uint64              `json:"version"`
	ApprovedBy   string              `json:"approved_by"` // of this version
}

// verdictView is the answer to "is it healthy?".
type verdictView struct {
	Word   report.Word `json:"word"`
	Detail string      `json:"detail"`
}

// lastView is the job that ended last, in short.
type lastView struct {
	ID       uint64           `json:"id"`
	State    catalog.JobState `json:"state"`
	Finished time.Time        `json:"finished"`
	Deleted  uint64           `json:"deleted"`
}

func viewTable(w *report.Work, who reader) tableView {
	p := w.Policy
	v, flow := report.Judge(w), report.FlowOf(w)
	t := tableView{
		Schema: p.Table.Schema, Table: p.Table.Name, Partition: w.Partition,
		TTL: p.Rule.Expiry(), Column: p.Rule.Column, Interval: p.Rule.Literal + " " + p.Rule.Unit,
		JobInterval: p.Rule.JobInterval, Schedule: p.Rule.Schedule(p.Terms.Timing), Options: map[string]string{},
		Enabled: p.Rule.Enabled, State: p.State, Reason: report.Reason(p), Verdict: verdictView{v.Word, v.Detail},
		TimeZone: p.Rule.TimeZone,
		Inflow:   known(flow.InflowKnown, flow.Inflow), Outflow: known(flow.OutflowKnown, flow.Outflow),
		Watermark: moment(w.Watermark()), Undeletable: w.Undeletable(),
		OldestStuck: moment(secret(who, w.OldestUndeletable())),
		Never:       w.NeverExpire(), Goal: w.Goal().Seconds(),
		NextRun: moment(w.NextRun()), Paused: viewPause(p.Paused), Owner: p.Owner, Changed: p.ChangedAt,
		Version: p.Version,
	}

	maps.Copy(t.Options, p.Rule.Said())
	if p.Rule.TimeZone != "" {
		t.TimeZoneFrom = string(p.Rule.ZoneSource)
	}
	if p.Approved() {
		t.ApprovedBy = p.Approval.By
	}
	if behind, ok := w.Behind(); ok {
		t.Behind = known(true, behind.Seconds())
	}

	t.addJobs(w)
	return t
}

// addJobs adds the open job and the one before it. The plan is that of the later one.
func (t *tableView) addJobs(w *report.Work) {
	if l := w.Last; l != nil {
		t.Last = &lastView{l.ID, l.State, l.FinishedAt, l.Counts.Deleted}
		t.Plan, t.PlanReason = l.Plan, l.PlanReason
	}
	if j := w.Job; j != nil {
		t.Job = &j.ID
		if j.Plan != "" {
			t.Plan, t.PlanReason = j.Plan, j.PlanReason
		}
	}
}
