package report

import (
	"time"

	"github.com/ttlproxy/ttlproxy/catalog"
)

// Progress is how far a job has come.
type Progress struct {
	Percent       float64 // 0 to 100; 100 only when it has ended well
	Known         bool    // Percent is worth showing
	RowsPerSecond float64 // deleted, on average while it ran
	Left          time.Duration
	LeftKnown     bool
}

// nearlyDone is shown for a job that has done all the expected work and is still running: estimates
// are estimates.
const nearlyDone = 99.9

// ProgressOf measures an open job by what it has counted.
func ProgressOf(j *catalog.Job, now time.Time) Progress {
	worked := j.Worked(now)
	p := Progress{RowsPerSecond: perSecond(j.Counts.Deleted, worked)}
	done, whole := extent(j)
	if whole == 0 {
		return p
	}

	share := min(float64(done)/float64(whole), nearlyDone/100)
	p.Percent, p.Known = 100*share, true
	if share > 0 && j.State == catalog.JobRunning {
		p.Left = time.Duration(float64(worked) * (1 - share) / share).Round(time.Second)
		p.LeftKnown = true
	}

	return p
}

// Progress is how far the open job has come. Of one that does not run, whatever its own state says, nobody knows when
// it ends.
func (w *Work) Progress() Progress {
	p := ProgressOf(w.Job, w.Now)
	if p.LeftKnown && Judge(w).Word.Waits() {
		p.Left, p.LeftKnown = 0, false
	}
	return p
}

// EndedProgress measures a job of the history.
func EndedProgress(j *catalog.EndedJob) Progress {
	p := Progress{RowsPerSecond: perSecond(j.Counts.Deleted, j.Worked())}
	if j.State == catalog.JobFinished {
		p.Percent, p.Known = 100, true
		return p
	}
	if done, whole := extent(&j.Job); whole > 0 {
		p.Percent, p.Known = min(100*float64(done)/float64(whole), nearlyDone), true
	}
	return p
}

// extent is how far a job has come. A walk along the key passes every row of the table; the other
// plans touch only the rows that are due.
func extent(j *catalog.Job) (done, whole uint64) {
	if (j.Plan == planRange || j.Plan == planCensus) && j.TableRows != nil {
		return j.Counts.Examined, *j.TableRows
	}
	if j.EstimatedRows != nil {
		return j.Counts.Deleted + j.Counts.Refreshed + j.Counts.Failed, *j.EstimatedRows
	}
	return uint64(j.TasksFinished), uint64(j.Tasks)
}

// These are plan.WalkRange and plan.Census as the catalog keeps them.
const (
	planRange  = "range"
	planCensus = "census"
)

func perSecond(n uint64, d time.Duration) float64 {
	if d < time.Second {
		d = time.Second // shorter measurements say nothing about a second
	}
	return float64(n) / d.Seconds()
}
