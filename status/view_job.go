package status

import (
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
	"github.com/ttlproxy/ttlproxy/catalog/report"
)

// jobView is one job, open or ended.
type jobView struct {
	ID            uint64           `json:"id"`
	Schema        string           `json:"schema"`
	Table         string           `json:"table"`
	Partition     string           `json:"partition"`
	State         catalog.JobState `json:"state"`
	Reason        string           `json:"reason"`
	Verdict       *verdictView     `json:"verdict"` // of an open job: PAUSED also when its policy is, or everything
	Note          string           `json:"note"`
	Percent       *float64         `json:"percent"`
	Rows          rowsView         `json:"rows"`
	RowsPerSecond float64          `json:"rows_per_second"`
	Started       time.Time        `json:"started"`
	StartedBy     string           `json:"started_by"`
	ExpectedEnd   *time.Time       `json:"expected_end"`
	Finished      *time.Time       `json:"finished"`
	Runs          uint64           `json:"runs"` // jobs that it stands for: it, and some just before it
	FirstStarted  time.Time        `json:"first_started"`
	Cutoff        time.Time        `json:"cutoff"` // rows that expired before it are deleted
	Inflow        *uint64          `json:"inflow_rows"`
	Tasks         int              `json:"tasks"`
	TasksFinished int              `json:"tasks_finished"`
	Plan          string           `json:"plan"`
	PlanReason    string           `json:"plan_reason"`
	Owner         string           `json:"owner"`
}

// rowsView are the rows of a job. Due and table are estimates.
type rowsView struct {
	Due       *uint64 `json:"due"`
	Table     *uint64 `json:"table"`
	Deleted   uint64  `json:"deleted"`
	Refreshed uint64  `json:"refreshed"` // expired when found, but no longer when they were to be deleted
	Failed    uint64  `json:"failed"`
	Skipped   uint64  `json:"skipped"` // left for the next job
	Examined  uint64  `json:"examined"`
	Never     *uint64 `json:"never_expire"` // without a date, or with an implausible one
}

func viewJob(s *report.Snapshot, j *catalog.Job, p report.Progress) jobView {
	c := j.Counts
	v := jobView{
		ID: j.ID, Schema: j.Table.Schema, Table: j.Table.Name, Partition: j.Partition, State: j.State, Reason: j.Reason,
		Percent: known(p.Known, p.Percent), RowsPerSecond: p.RowsPerSecond, Started: j.CreatedAt,
		StartedBy: j.StartedBy(),
		Rows: rowsView{
			j.EstimatedRows, j.TableRows, c.Deleted, c.Refreshed, c.Failed, c.Skipped, c.Examined,
			j.NeverExpire(),
		},
		Cutoff: j.Cutoff, Inflow: j.Inflow, Tasks: j.Tasks, TasksFinished: j.TasksFinished,
		Plan: j.Plan, PlanReason: j.PlanReason, Owner: s.NodeName(j.Owner), Note: j.Note, Runs: 1,
		FirstStarted: j.CreatedAt,
	}
	if p.LeftKnown {
		v.ExpectedEnd = moment(s.Now.Add(p.Left))
	}
	return v
}

// viewOpen is the open job of a table.
func viewOpen(s *report.Snapshot, w *report.Work) jobView {
	v := viewJob(s, w.Job, w.Progress())
	verdict := report.Judge(w)
	v.Verdict = &verdictView{verdict.Word, verdict.Detail}
	return v
}

func viewEnded(s *report.Snapshot, j *catalog.EndedJob) jobView {
	v := viewJob(s, &j.Job, report.EndedProgress(j))
	v.Finished, v.Runs, v.FirstStarted = moment(j.FinishedAt), j.Runs, j.FirstAt
	return v
}

// taskView is one key range of a job. Its keys are not shown: they are values of rows.
type taskView struct {
	ID        uint64            `json:"id"`
	Seq       int               `json:"seq"`
	State     catalog.TaskState `json:"state"`
	Since     time.Time         `json:"since"`
	Owner     string            `json:"owner"`
	Deleted   uint64            `json:"deleted"`
	Refreshed uint64            `json:"refreshed"`
	Failed    uint64            `json:"failed"`
	Skipped   uint64            `json:"skipped"`
	Examined  uint64            `json:"examined"`
	Error     string            `json:"error"`
}

func viewTask(s *report.Snapshot, t catalog.Task) taskView {
	c := t.Counts
	return taskView{
		t.ID, t.Seq, t.State, t.StateAt, s.NodeName(t.Owner),
		c.Deleted, c.Refreshed, c.Failed, c.Skipped, c.Examined, t.Error,
	}
}
