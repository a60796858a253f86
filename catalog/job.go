package catalog

import (
	"slices"
	"time"
)

// JobState is where a job stands. The words are what people see in SQL and on the page.
type JobState string

// The states of a job: four while it is open, five ways to end.
const (
	JobRunning       JobState = "running"
	JobPaused        JobState = "paused"
	JobWaitingWindow JobState = "waiting for window"
	JobNeedsApproval JobState = "needs approval"

	JobFinished  JobState = "finished"
	JobCancelled JobState = "cancelled"
	JobTimedOut  JobState = "timed out"
	JobFailed    JobState = "failed"
	JobDisarmed  JobState = "disarmed"
)

// OpenJobStates and EndJobStates are all there are; the CHECK constraints of job and job_history
// say the same.
func OpenJobStates() []JobState {
	return []JobState{JobRunning, JobPaused, JobWaitingWindow, JobNeedsApproval}
}

// EndJobStates are the states of job_history.
func EndJobStates() []JobState {
	return []JobState{JobFinished, JobCancelled, JobTimedOut, JobFailed, JobDisarmed}
}

// Open reports whether a job in this state still has work to do.
func (s JobState) Open() bool { return slices.Contains(OpenJobStates(), s) }

// Can reports whether a job may go from s to next. An open job may move to every other open state
// and may end in every way, except that only a running one finishes. An ended job stays what it is.
func (s JobState) Can(next JobState) bool {
	switch {
	case !s.Open() || s == next:
		return false
	case next == JobFinished:
		return s == JobRunning
	default:
		return next.Open() || slices.Contains(EndJobStates(), next)
	}
}

// Trigger says what started a job.
type Trigger string

// The triggers of a job.
const (
	TriggerSchedule Trigger = "schedule"
	TriggerManual   Trigger = "manual" // RUN TTL JOB, or the HTTP endpoint
)

// Replanner signs the request for a job in place of one whose plan no longer fits. It is not the
// name of an account: those have an @.
const Replanner = "replan"

// AskedFor reports whether a person has asked for the job, and may be waiting for it.
func (j *Job) AskedFor() bool { return j.Trigger == TriggerManual && j.TriggeredBy != Replanner }

// StartedBy is who started the job, for people.
func (j *Job) StartedBy() string {
	switch {
	case j.TriggeredBy == Replanner:
		return "engine, to plan anew"
	case j.Trigger == TriggerManual && j.TriggeredBy != "":
		return j.TriggeredBy
	default:
		return string(j.Trigger)
	}
}

// Job is one pass over a table or partition with one cutoff.
type Job struct {
	ID            uint64
	PolicyID      uint64
	Version       uint64 // of the policy
	Table         Table
	Partition     string
	State         JobState
	Reason        string
	WaitsFor      WaitsFor // while it is paused
	StateAt       time.Time
	Waited        time.Duration // in which it did not run, up to StateAt
	Owner         uint64        // node; 0 for none
	Fence         uint64
	Cutoff        time.Time // rows that expired before this instant are deleted
	CutoffLiteral string    // what the column is compared with
	FloorLiteral  string    // dates before this one never expire
	Trigger       Trigger
	TriggeredBy   string
	Bound         *uint64 // rows that the run may delete, of all partitions together; nil for any number
	JobFacts
	CreatedAt time.Time

	Tasks         int // all of them
	TasksFinished int
	Counts        Counts // of all tasks
}

// Waits is why a job stands still: in words, and for whom, where something goes by that.
type Waits struct {
	Why string // empty if it need not wait
	For WaitsFor
}

// WaitsFor is for whom a job waits.
type WaitsFor string

const (
	// ForPerson is one who has paused it or holds the server. Who, and for how long, is said by the pause: that may be
	// over before the engine has looked at the job.
	ForPerson WaitsFor = "person"
	// ForPolicy is that of another table, of which rows would go along. As soon as it changes the job looks again.
	ForPolicy WaitsFor = "policy"
)

// PausedByPerson reports whether the job stands still until a person lets it go on.
func (j *Job) PausedByPerson() bool { return j.State == JobPaused && j.WaitsFor == ForPerson }

// Worked is how long the job has run until now, or until it ended, not how long it has existed.
func (j *Job) Worked(now time.Time) time.Duration {
	if j.State.Open() && j.State != JobRunning {
		now = j.StateAt // it has stood still since then
	}
	return max(0, now.Sub(j.CreatedAt)-j.Waited)
}

// DueSince is a moment since when rows have been due that the job has yet to delete, as far as it
// knows: all of them were when it began.
func (j *Job) DueSince() time.Time {
	if !j.OldestExpiry.IsZero() && j.OldestExpiry.Before(j.CreatedAt) {
		return j.OldestExpiry
	}
	return j.CreatedAt
}

// JobFacts is what the engine finds out about a job. Nil and zero mean not known.
type JobFacts struct {
	Plan          string // how rows are found: index, range, limit, …
	PlanReason    string
	EstimatedRows *uint64 // due
	TableRows     *uint64
	UsualRows     *uint64   // of the whole table, due by then
	Inflow        *uint64   // rows whose expiry fell between the last two cutoffs
	OldestExpiry  time.Time // of the rows still present
	NullRows      *uint64   // never expire: no date
	OddRows       *uint64   // never expire: zero dates, and dates before the floor
	Note          string    // for the summary, one line each
}

// NeverExpire is how many rows have no date, or one that counts as none; nil if that is not known.
func (f *JobFacts) NeverExpire() *uint64 {
	if f.NullRows == nil || f.OddRows == nil {
		return nil
	}
	sum := *f.NullRows + *f.OddRows
	return &sum
}

// Counts are rows, each counted once.
type Counts struct {
	Examined  uint64
	Deleted   uint64
	Refreshed uint64 // expired when found, not any more when deleted
	Failed    uint64
	Skipped   uint64 // left for a later job: locked by somebody, or resting after an error
}
